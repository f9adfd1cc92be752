-- Every device in the samples is in the configuration
-- Each device of IODDEV has a configuration record (MTRDEV), or an event that
-- it was varied on (IODVON), in some dump of the system. Type, control unit and
-- channel paths of a device come from it.
-- severity: warning
-- needs: ioddev
-- remedy: Land the dump that begins with the configuration records; enable
-- MONITOR EVENT for domain I/O, so that devices varied on are recorded.
WITH known AS (
  SELECT system, rdevdev FROM monitor.mtrdev
  UNION
  SELECT system, rdevdev FROM monitor.iodvon
),
seen AS (
  SELECT system, rdevdev, MAX(interval_end) AS interval_end
  FROM monitor.ioddev
  GROUP BY system, rdevdev
)
SELECT s.system,
       s.interval_end,
       'device ' || upper(lpad(to_hex(s.rdevdev), 4, '0')) AS object,
       CAST(k.rdevdev IS NOT NULL AS INTEGER) AS value,
       1 AS least,
       1 AS most
FROM seen AS s
LEFT JOIN known AS k
  ON k.system = s.system
  AND k.rdevdev = s.rdevdev;
