-- Busy time of a run as hardware instrumentation saw it, one row per run.
-- Which lines count is decided as for _run_throughput.
CREATE OR REPLACE VIEW _run_hardware (
  -- Run.
  run_id,
  -- Elapsed seconds that the figures cover.
  seconds,
  -- Seconds busy, summed over the processors.
  busy_seconds,
  -- Seconds in emulation, summed over the processors.
  emulation_seconds
) AS
WITH line AS (
  SELECT run_id,
         interval_end,
         LAG(interval_end) OVER (
           PARTITION BY run_id ORDER BY interval_end
         ) AS previous_end,
         CAST(seconds AS DOUBLE) AS seconds,
         CAST(busy_s AS DOUBLE) AS busy_s,
         CAST(emulation_s AS DOUBLE) AS emulation_s
  FROM meta.hardware
)
SELECT r.run_id,
       SUM(l.seconds) AS seconds,
       SUM(l.busy_s) AS busy_seconds,
       SUM(l.emulation_s) AS emulation_seconds
FROM meta.run AS r
JOIN line AS l
  ON l.run_id = r.run_id
  AND l.interval_end > r.since
  AND (l.previous_end IS NULL OR l.previous_end < r.until)
GROUP BY r.run_id;
