-- What users used across gaps, by their counters on both sides, one row per
-- system, end of a gap and user. No interval has it: nothing tells when it was
-- used. A user is left out of whom an event tells that a session began or ended
-- there, or a counter of whom fell.
CREATE OR REPLACE VIEW _users_across_gaps AS
WITH stop AS (
  SELECT system,
         interval_end,
         MAX(CASE WHEN gap AND NOT restart AND NOT clock_set
                  THEN 1 ELSE 0 END) AS is_behind
  FROM meta.interval
  GROUP BY system, interval_end
),
step AS (
  SELECT system,
         interval_end,
         is_behind,
         LAG(interval_end) OVER (
           PARTITION BY system ORDER BY interval_end
         ) AS previous_end
  FROM stop
),
side AS (
  SELECT system, interval_end, interval_end AS moment, 1 AS is_end
  FROM step
  WHERE is_behind = 1
  UNION ALL
  SELECT system, interval_end, previous_end AS moment, 0 AS is_end
  FROM step
  WHERE is_behind = 1
),
sample AS (
  SELECT s.system,
         s.interval_end,
         s.moment,
         s.is_end,
         u.vmduser,
         u.vmdcpuad,
         MAX(u.vmdttime) AS cpu_tod,
         MAX(u.vmdvtime) AS virtual_tod,
         MAX(u.vmdvcsct) + MAX(u.vmdvdsct) + MAX(u.vmdvusct) + MAX(u.vmdvtsct)
           + MAX(u.vmdvosct) AS ios
  FROM side AS s
  JOIN monitor.useact AS u
    ON u.system = s.system AND u.interval_end = s.moment
  GROUP BY s.system, s.interval_end, s.moment, s.is_end, u.vmduser, u.vmdcpuad
),
session AS (
  SELECT system, vmduser, tod FROM monitor.uselon
  UNION ALL
  SELECT system, vmduser, tod FROM monitor.uselof
)
SELECT a.system,
       -- End of the gap, UTC.
       a.interval_end,
       -- The user. Never NULL.
       a.vmduser AS userid,
       -- Total processor time, TOD units (4096 per microsecond). Never NULL.
       TRY_CAST(SUM(a.cpu_tod - b.cpu_tod) AS BIGINT) AS cpu_tod,
       -- Virtual I/Os of all kinds. Never NULL.
       TRY_CAST(SUM(a.ios - b.ios) AS BIGINT) AS ios
FROM sample AS a
JOIN sample AS b
  ON b.system = a.system
  AND b.interval_end = a.interval_end
  AND b.vmduser = a.vmduser
  AND b.vmdcpuad = a.vmdcpuad
  AND b.is_end = 0
LEFT JOIN session AS e
  ON e.system = a.system
  AND e.vmduser = a.vmduser
  AND e.tod > b.moment
  AND e.tod <= a.moment
WHERE a.is_end = 1 AND e.system IS NULL
GROUP BY a.system, a.interval_end, a.vmduser
HAVING MIN(a.cpu_tod - b.cpu_tod) >= 0
  AND MIN(a.virtual_tod - b.virtual_tod) >= 0
  AND MIN(a.ios - b.ios) >= 0;
