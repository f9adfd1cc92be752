-- Whether all users that are logged on were sampled, and what they used fits
-- what the processors did for users, one row per system and interval (D0R2,
-- D0R8, D4R3): MONITOR SAMPLE can leave users out, and then no sum over those
-- that were sampled is that of all (schemas/members.csv).
CREATE OR REPLACE VIEW _user_membership AS
WITH sampled AS (
  SELECT system,
         dump,
         interval_end,
         COUNT(DISTINCT vmduser) AS users,
         COUNT(*) AS virtual_processors,
         SUM(CAST(vmdttime AS DOUBLE)) AS cpu_tod
  FROM monitor.useact
  WHERE interval_end IS NOT NULL
  GROUP BY system, dump, interval_end
),
-- While as many are sampled as before, what they have used in all grows by no
-- more than what they use, also if some begin anew at 0.
followed AS (
  SELECT system,
         interval_end,
         users,
         LAG(interval_end) OVER w AS previous_end,
         CASE WHEN virtual_processors = LAG(virtual_processors) OVER w
              AND users = LAG(users) OVER w
              THEN cpu_tod - LAG(cpu_tod) OVER w END AS cpu_tod
  FROM sampled
  WINDOW w AS (PARTITION BY system, dump ORDER BY interval_end)
),
closed AS (
  SELECT DISTINCT system, interval_end, previous_end
  FROM meta.interval
  WHERE previous_end IS NOT NULL
),
charged AS (
  SELECT system,
         interval_end,
         CAST(complete_sum(pfxutime) AS DOUBLE) AS cpu_tod
  FROM interval.sytprp
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
compared AS (
  SELECT f.system,
         f.interval_end,
         MAX(f.users) AS users,
         MAX(CASE WHEN c.previous_end = f.previous_end
             THEN f.cpu_tod END) AS cpu_tod,
         MAX(p.cpu_tod) AS charged_tod
  FROM followed AS f
  LEFT JOIN closed AS c
    ON c.system = f.system AND c.interval_end = f.interval_end
  LEFT JOIN charged AS p
    ON p.system = f.system AND p.interval_end = f.interval_end
  GROUP BY f.system, f.interval_end
)
SELECT s.system,
       s.interval_end,
       -- Whether no more users are logged on (SYSUSRS) than were sampled.
       t.users <= s.users AS is_whole,
       nullif(
         concat_ws(
           ', ',
           CASE WHEN t.users > s.users THEN 'users were not sampled' END,
           -- As the rules users-counted and users-time-charged of validation.
           CASE WHEN s.users > t.users * 1.01e0 + 1
                THEN 'SYTUSR contradicts USEACT' END,
           CASE WHEN s.charged_tod > 4096e6
                AND s.cpu_tod > 1.02e0 * s.charged_tod
                THEN 'SYTPRP contradicts USEACT' END
         ), ''
       ) AS doubts
FROM compared AS s
LEFT JOIN _stated_users AS t
  ON t.system = s.system AND t.interval_end = s.interval_end;
