-- No device is busy for more than 100 %
-- Pending, disconnect and connect time of a device (SCMFPTIM, SCMDDTIM and
-- SCMCNTIM of IODDEV, in units of 128 microseconds) as a share of the time
-- between two samples of it: a device serves one I/O after another. 2 % are
-- left to rounding. The layout of IODDEV is inferred.
-- severity: warning
-- remedy: Compare the layout of IODDEV with your release. A base device whose
-- aliases are counted with it is busy with several I/Os at once; switch the
-- rule off then.
SELECT system,
       interval_end,
       'device ' || upper(lpad(to_hex(rdevdev), 4, '0')) AS object,
       (scmfptim + scmddtim + scmcntim) * 128e-6 / nullif(seconds, 0) AS value,
       0 AS least,
       1.02 AS most
FROM interval.ioddev;
