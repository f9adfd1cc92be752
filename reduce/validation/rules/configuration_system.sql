-- The system's own configuration is known
-- Every interval has a configuration record of the system (MTRSYS) at or before
-- its end, in this dump or an earlier one. It names the system, its level and
-- its IPL; without it restarts are recognised by falling counters only.
-- severity: warning
-- remedy: Start MONWRITE before MONITOR START, or land the dump that begins
-- with the configuration records; --system at ingest names a system that does
-- not.
WITH known AS (
  SELECT system, MIN(tod) AS since
  FROM monitor.mtrsys
  GROUP BY system
)
SELECT DISTINCT i.system,
       i.interval_end,
       'MTRSYS' AS object,
       CAST(coalesce(k.since <= i.interval_end, FALSE) AS INTEGER) AS value,
       1 AS least,
       1 AS most
FROM meta.interval AS i
LEFT JOIN known AS k USING (system);
