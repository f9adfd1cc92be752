-- No processor is busy for more than 100 %
-- Time charged to users and to nobody (PFXUTIME and PFXTMSYS of SYTPRP), as a
-- share of the time between two samples of the processor. 1 % and 1 ms are left
-- to the time that sampling takes.
-- severity: critical
-- remedy: Compare the layout of SYTPRP with your release. No utilisation can be
-- trusted until then.
SELECT system,
       interval_end,
       'processor ' || pfxcpuad AS object,
       (pfxutime + pfxtmsys) / nullif(seconds * 4096e6, 0) AS value,
       0 AS least,
       1.01 + 1e-3 / nullif(seconds, 0) AS most
FROM interval.sytprp;
