-- Guest time of a processor is part of the time charged to users
-- PFXPRBTM over PFXUTIME of SYTPRP: what CP does for users comes on top of what
-- they run themselves, so the T/V ratio is never below 1.
-- severity: warning
-- remedy: Compare the layout of SYTPRP with your release: PFXPRBTM is a timer
-- that runs down, PFXUTIME one that runs up.
SELECT system,
       interval_end,
       'processor ' || pfxcpuad AS object,
       pfxprbtm / nullif(pfxutime, 0) AS value,
       0 AS least,
       1.01 + 4096e3 / nullif(pfxutime, 0) AS most
FROM interval.sytprp;
