-- Page volumes by busy time
-- Volumes with page slots, the busiest first: percent of time busy (pending,
-- disconnected and connected), mean service time of an I/O, pages moved and
-- slots in use. Above 40 percent busy a page volume makes users wait.
-- param: top = 20 -- how many volumes
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH chosen AS (
  SELECT DISTINCT i.system, i.interval_end
  FROM meta.interval AS i
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = i.system
  WHERE i.interval_end IS NOT NULL
    AND ($run = '' OR ends_within(i.interval_end, r.since, r.until))
    AND i.system GLOB $system
    AND ends_within(
      i.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
),
space AS (
  SELECT system,
         a.device,
         arg_max(a.volser, a.interval_end) AS volume,
         sum(a.page_reads)
           / nullif(sum(a.seconds) FILTER (a.page_reads IS NOT NULL), 0)
           AS read_rate,
         sum(a.page_writes)
           / nullif(sum(a.seconds) FILTER (a.page_writes IS NOT NULL), 0)
           AS write_rate,
         sum(a.used_slots * a.seconds)
           / nullif(sum(a.slots * a.seconds)
                      FILTER (a.used_slots IS NOT NULL), 0) AS slots_used
  FROM dasd_system_areas_by_type AS a
  JOIN chosen USING (system, interval_end)
  WHERE a.area_type LIKE 'PAGE%'
  GROUP BY system, a.device
),
disk AS (
  SELECT system,
         d.device,
         sum(d.busy_seconds) AS busy_s,
         sum(d.seconds) AS seconds,
         sum(d.starts) AS ios
  FROM dasd_by_activity AS d
  JOIN chosen USING (system, interval_end)
  WHERE d.busy_seconds IS NOT NULL
  GROUP BY system, d.device
)
SELECT system,
       format('{:04X}', CAST(device AS INTEGER)) AS device,
       volume,
       round(100 * busy_s / nullif(disk.seconds, 0), 1) AS busy_percent,
       round(1000 * busy_s / nullif(ios, 0), 1) AS service_ms,
       round(read_rate, 1) AS pages_read_per_s,
       round(write_rate, 1) AS pages_written_per_s,
       round(100 * slots_used, 0) AS slots_used_percent
FROM space
LEFT JOIN disk USING (system, device)
ORDER BY busy_percent DESC NULLS LAST, system, device
LIMIT $top;
