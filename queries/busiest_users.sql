-- Busiest users by processor time
-- Users by the processor time they were charged, with their virtual I/O and
-- resident pages. Percent is of one processor. A user with several virtual
-- CPUs is one row. Sessions that ended inside the span are counted up to their
-- last sample.
-- param: top = 10 -- how many users
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH sampled AS (
  SELECT u.system, u.vmduser, u.vmdcpuad, u.interval_end, u.seconds,
         u.vmdttime, u.vmdvtime, u.vmdctpvr,
         u.vmdvdsct + u.vmdvusct + u.vmdvtsct + u.vmdvcsct + u.vmdvosct
           AS virtual_ios
  FROM interval.useact AS u
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = u.system
  WHERE ($run = '' OR ends_within(u.interval_end, r.since, r.until))
    AND u.system GLOB $system
    AND ends_within(
      u.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
),
by_virtual_cpu AS (
  SELECT system, vmduser, vmdcpuad,
         sum(seconds) AS seconds,
         sum(vmdttime) / 4096e6 AS total_s,
         sum(vmdvtime) / 4096e6 AS virtual_s,
         sum(virtual_ios) AS virtual_ios,
         avg(vmdctpvr) AS resident_pages
  FROM sampled
  GROUP BY ALL
)
SELECT system,
       vmduser AS user,
       round(100 * sum(total_s) / nullif(max(seconds), 0), 2) AS cpu_percent,
       round(sum(total_s), 2) AS total_cpu_s,
       round(sum(virtual_s), 2) AS virtual_cpu_s,
       round(sum(total_s) / nullif(sum(virtual_s), 0), 2) AS tv_ratio,
       round(sum(virtual_ios) / nullif(max(seconds), 0), 1) AS virtual_io_per_s,
       CAST(round(max(resident_pages)) AS BIGINT) AS resident_pages,
       round(max(seconds), 1) AS measured_s
FROM by_virtual_cpu
GROUP BY ALL
HAVING max(seconds) > 0
ORDER BY total_cpu_s DESC, system, user
LIMIT $top;
