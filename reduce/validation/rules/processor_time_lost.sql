-- Running and waiting of a processor are most of the elapsed time
-- Time charged to users and to nobody, and waiting (PFXUTIME, PFXTMSYS and
-- PFXTOTWT of SYTPRP), as a share of the time between two samples of the
-- processor. Where processors are parked, or shared by a partition that is held
-- back, less than half of it may be in these; elsewhere time is missing.
-- severity: info
-- remedy: Look at the weight and the caps of the partition (cpmon report
-- LPAR); if the processors are dedicated, compare the layout of SYTPRP with
-- your release.
SELECT system,
       interval_end,
       'processor ' || pfxcpuad AS object,
       (pfxutime + pfxtmsys + pfxtotwt) / nullif(seconds * 4096e6, 0) AS value,
       0.5 AS least,
       NULL AS most
FROM interval.sytprp;
