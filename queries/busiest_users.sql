-- Busiest users by processor time
-- Users by the processor time they were charged, with their virtual I/O and
-- resident pages. Percent is of one processor. A user with several virtual
-- CPUs is one row. Each figure is of the intervals in which it is known.
-- param: top = 10 -- how many users
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH used AS (
  SELECT u.system, u.userid, u.seconds, u.cpu_tod, u.virtual_tod, u.ios,
         u.resident_pages
  FROM users_by_time AS u
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = u.system
  WHERE ($run = '' OR ends_within(u.interval_end, r.since, r.until))
    AND u.system GLOB $system
    AND ends_within(
      u.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
    AND u.cpu_tod IS NOT NULL
)
SELECT system,
       userid AS user,
       round(100 / 4096e6 * sum(cpu_tod) / nullif(sum(seconds), 0), 2)
         AS cpu_percent,
       round(sum(cpu_tod) / 4096e6, 2) AS total_cpu_s,
       round(sum(virtual_tod) / 4096e6, 2) AS virtual_cpu_s,
       round(sum(cpu_tod) FILTER (virtual_tod IS NOT NULL)
               / nullif(sum(virtual_tod), 0), 2) AS tv_ratio,
       round(sum(ios) / nullif(sum(seconds) FILTER (ios IS NOT NULL), 0), 1)
         AS virtual_io_per_s,
       CAST(round(sum(resident_pages * seconds)
         / nullif(sum(seconds) FILTER (resident_pages IS NOT NULL), 0)
       ) AS BIGINT) AS resident_pages,
       round(sum(seconds), 1) AS measured_s
FROM used
GROUP BY system, userid
HAVING sum(seconds) > 0
ORDER BY total_cpu_s DESC, system, user
LIMIT $top;
