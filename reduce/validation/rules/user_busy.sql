-- No virtual processor of a user is busy for more than 100 %
-- Total processor time of a virtual processor (VMDTTIME of USEACT), as a share
-- of the time between two samples of it. One virtual processor runs on one real
-- one at a time. 1 % and 10 ms are left to the time that sampling takes.
-- severity: warning
-- remedy: Compare the layout of USEACT with your release, and look whether the
-- user has a virtual processor twice.
WITH steady AS (
  SELECT DISTINCT system, interval_end, previous_end
  FROM meta.interval
  WHERE previous_end IS NOT NULL
),
later AS (
  SELECT r.system,
         r.interval_end,
         r.vmduser,
         r.vmdcpuad,
         r.tod_us,
         r.vmdttime,
         hash(r.system, s.previous_end, r.vmduser, r.vmdcpuad) AS place
  FROM monitor.useact AS r
  JOIN steady AS s USING (system, interval_end)
),
earlier AS (
  SELECT tod_us,
         vmdttime,
         hash(system, interval_end, vmduser, vmdcpuad) AS place
  FROM monitor.useact
)
SELECT l.system,
       l.interval_end,
       l.vmduser || ' ' || l.vmdcpuad AS object,
       (l.vmdttime - e.vmdttime) / nullif((l.tod_us - e.tod_us) * 4096e0, 0)
         AS value,
       NULL AS least,
       1.01 + 1e4 / nullif(l.tod_us - e.tod_us, 0) AS most
FROM later AS l
JOIN earlier AS e USING (place);
