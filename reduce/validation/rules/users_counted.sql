-- There are no more users in the sample than CP says are logged on
-- Users with a record USEACT in an interval, against SYSUSRS of SYTUSR. A user
-- has a record for each of his virtual processors; where there are more records
-- than users, each user is counted once. One more and 1 % are left to those who
-- log on while the sample is taken.
-- severity: warning
-- remedy: Look for frames that are in the dump twice, or intervals whose end is
-- missing, so that two samples stand in one (cpmon check).
WITH said AS (
  SELECT system,
         interval_end,
         MAX(sysusrs) * 1.01 + 1 AS most
  FROM monitor.sytusr
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
sampled AS (
  SELECT system,
         interval_end,
         COUNT(*) AS records
  FROM monitor.useact
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
judged AS (
  SELECT s.system,
         s.interval_end,
         s.records,
         l.most
  FROM sampled AS s
  JOIN said AS l USING (system, interval_end)
),
exact AS (
  SELECT u.system,
         u.interval_end,
         COUNT(DISTINCT u.vmduser) AS users
  FROM monitor.useact AS u
  JOIN judged AS j USING (system, interval_end)
  WHERE j.records > j.most
  GROUP BY u.system, u.interval_end
)
SELECT j.system,
       j.interval_end,
       'all users' AS object,
       coalesce(e.users, j.records) AS value,
       NULL AS least,
       j.most
FROM judged AS j
LEFT JOIN exact AS e USING (system, interval_end);
