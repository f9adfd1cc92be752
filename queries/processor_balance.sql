-- Balance of the processors
-- How evenly the work lay on the processors of a system: percent of each
-- processor's own time, and how far its total lies from the mean of those of
-- its type in the system. A master processor far above the others serialises
-- work that only it may do.
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH processor AS (
  SELECT p.system,
         p.cpu,
         arg_max(p.cpu_type, p.interval_end) AS cpu_type,
         bool_or(p.is_master) AS is_master,
         100 / 4096e6 * sum(p.busy_tod) / nullif(sum(p.seconds), 0) AS total,
         100 / 4096e6 * sum(p.emulation_tod)
           / nullif(sum(p.seconds) FILTER (p.emulation_tod IS NOT NULL), 0)
           AS emulation,
         100 / 4096e6 * sum(p.wait_tod)
           / nullif(sum(p.seconds) FILTER (p.wait_tod IS NOT NULL), 0) AS wait,
         sum(p.seconds) AS measured_s
  FROM processors_by_time AS p
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = p.system
  WHERE ($run = '' OR ends_within(p.interval_end, r.since, r.until))
    AND p.system GLOB $system
    AND ends_within(
      p.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
    AND p.busy_tod IS NOT NULL
  GROUP BY p.system, p.cpu
)
SELECT system,
       cpu,
       is_master,
       round(total, 1) AS total_percent,
       round(emulation, 1) AS emulation_percent,
       round(total - emulation, 1) AS cp_percent,
       round(wait, 1) AS wait_percent,
       round(total - avg(total) OVER (PARTITION BY system, cpu_type), 1)
         AS from_mean_percent,
       round(measured_s, 1) AS measured_s
FROM processor
WHERE measured_s > 0
ORDER BY system, cpu;
