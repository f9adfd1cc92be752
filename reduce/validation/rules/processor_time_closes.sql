-- Running and waiting of a processor fit into the elapsed time
-- Time charged to users, time charged to nobody and waiting (PFXUTIME, PFXTMSYS
-- and PFXTOTWT of SYTPRP), as a share of the time between two samples of the
-- processor. On a dedicated processor they close to 1; in a partition that
-- shares its processors they fall short by the time it was not dispatched. More
-- than 1 there never is; 1 % and 1 ms are left to the time that sampling takes.
-- severity: critical
-- remedy: Compare the layout of SYTPRP with your release: a field is at another
-- place, or a timer runs in the other direction. No figure of processor time
-- can be trusted until then.
SELECT system,
       interval_end,
       'processor ' || pfxcpuad AS object,
       (pfxutime + pfxtmsys + pfxtotwt) / nullif(seconds * 4096e6, 0) AS value,
       0 AS least,
       1.01 + 1e-3 / nullif(seconds, 0) AS most
FROM interval.sytprp;
