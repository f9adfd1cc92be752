-- Top users by processor time, I/Os, paging and waiting
-- The users with the greatest figures, a list of each kind: processors used,
-- virtual I/Os a second, pages read and written a second, and the share of the
-- samples of a user that found it waiting for a processor, a page, I/O or a
-- place in the dispatch list. Each is over the time in which it is known of the
-- user; nobody is listed for 0.
-- param: top = 5 -- how many users of each kind
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH used AS (
  SELECT u.system, u.userid, u.seconds, u.cpu_tod, u.ios, u.pages_moved
  FROM users_by_time AS u
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = u.system
  WHERE ($run = '' OR ends_within(u.interval_end, r.since, r.until))
    AND u.system GLOB $system
    AND ends_within(
      u.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
),
found AS (
  SELECT s.system, s.userid, s.samples,
         s.cpu_wait_samples + s.page_wait_samples + s.io_wait_samples
           + s.eligible_samples AS waiting
  FROM user_states_by_time AS s
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = s.system
  WHERE ($run = '' OR ends_within(s.interval_end, r.since, r.until))
    AND s.system GLOB $system
    AND ends_within(
      s.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
),
figure AS (
  SELECT 1 AS place, 'processors' AS kind, system, userid,
         sum(cpu_tod) / 4096e6
           / nullif(sum(seconds) FILTER (cpu_tod IS NOT NULL), 0) AS amount
  FROM used
  GROUP BY ALL
  UNION ALL
  SELECT 2, 'I/Os a second', system, userid,
         sum(ios) / nullif(sum(seconds) FILTER (ios IS NOT NULL), 0)
  FROM used
  GROUP BY ALL
  UNION ALL
  SELECT 3, 'pages a second', system, userid,
         sum(pages_moved)
           / nullif(sum(seconds) FILTER (pages_moved IS NOT NULL), 0)
  FROM used
  GROUP BY ALL
  UNION ALL
  SELECT 4, 'share of time waiting', system, userid,
         sum(waiting) / nullif(sum(samples) FILTER (waiting IS NOT NULL), 0)
  FROM found
  GROUP BY ALL
),
ranked AS (
  SELECT place, kind, system, userid, amount,
         row_number() OVER (
           PARTITION BY place ORDER BY amount DESC, system, userid
         ) AS rank
  FROM figure
  WHERE amount > 0
)
SELECT kind, rank, system, userid AS user, round(amount, 3) AS amount
FROM ranked
WHERE rank <= $top
ORDER BY place, rank;
