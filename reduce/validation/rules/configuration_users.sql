-- Every user in the samples is in the configuration
-- Each user of USEACT has a configuration record (MTRUSR) or a logon (USELON)
-- in some dump of the system. Share, storage and class of a user come from it.
-- severity: warning
-- needs: useact
-- remedy: Land the dump that begins with the configuration records; enable
-- MONITOR EVENT for domain USER, so that logons are recorded.
WITH known AS (
  SELECT system, vmduser FROM monitor.mtrusr
  UNION
  SELECT system, vmduser FROM monitor.uselon
),
seen AS (
  SELECT system, vmduser, MAX(interval_end) AS interval_end
  FROM monitor.useact
  GROUP BY system, vmduser
)
SELECT s.system,
       s.interval_end,
       s.vmduser AS object,
       CAST(k.vmduser IS NOT NULL AS INTEGER) AS value,
       1 AS least,
       1 AS most
FROM seen AS s
LEFT JOIN known AS k
  ON k.system = s.system
  AND k.vmduser = s.vmduser;
