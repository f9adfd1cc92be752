-- Busy time of the steady state of a run as hardware instrumentation saw it,
-- one row per run. Which lines count is decided as for _run_throughput.
CREATE OR REPLACE VIEW _run_hardware AS
WITH line AS (
  SELECT r.run_id,
         date_diff('microsecond', TIMESTAMP '1970-01-01', r.steady_since)
           / 1e6 AS steady_starts,
         date_diff('microsecond', TIMESTAMP '1970-01-01', r.steady_until)
           / 1e6 AS steady_ends,
         date_diff('microsecond', TIMESTAMP '1970-01-01', l.interval_end)
           / 1e6 AS line_ends,
         CAST(l.seconds AS DOUBLE) AS seconds,
         CAST(l.busy_s AS DOUBLE) AS busy_s,
         CAST(l.emulation_s AS DOUBLE) AS emulation_s
  FROM meta.run AS r
  JOIN meta.hardware AS l ON l.run_id = r.run_id
)
SELECT run_id,
       -- Elapsed seconds that the figures cover.
       SUM(seconds) AS seconds,
       -- Seconds busy, summed over the processors.
       SUM(busy_s) AS busy_seconds,
       -- Seconds in emulation, summed over the processors.
       SUM(emulation_s) AS emulation_seconds
FROM line
WHERE LEAST(line_ends, steady_ends)
  - GREATEST(line_ends - seconds, steady_starts)
  > LEAST(seconds, steady_ends - steady_starts) / 2
GROUP BY run_id;
