-- Transactions of a run as its load generator counted them, one row per run.
-- A line of the companion counts when more than half of it lies in the run's
-- window, or when it covers more than half of the window: clocks that differ
-- by milliseconds, or a line of the next measurement, change nothing. The same
-- holds for the window of the steady state.
CREATE OR REPLACE VIEW _run_throughput AS
WITH line AS (
  SELECT r.run_id,
         date_diff('microsecond', TIMESTAMP '1970-01-01', r.since)
           / 1e6 AS run_starts,
         date_diff('microsecond', TIMESTAMP '1970-01-01', r.until)
           / 1e6 AS run_ends,
         date_diff('microsecond', TIMESTAMP '1970-01-01', r.steady_since)
           / 1e6 AS steady_starts,
         date_diff('microsecond', TIMESTAMP '1970-01-01', r.steady_until)
           / 1e6 AS steady_ends,
         date_diff('microsecond', TIMESTAMP '1970-01-01', l.interval_end)
           / 1e6 AS line_ends,
         CAST(l.seconds AS DOUBLE) AS seconds,
         CAST(l.transactions AS DOUBLE) AS transactions
  FROM meta.run AS r
  JOIN meta.throughput AS l ON l.run_id = r.run_id
),
placed AS (
  SELECT run_id,
         seconds,
         transactions,
         LEAST(line_ends, run_ends) - GREATEST(line_ends - seconds, run_starts)
           > LEAST(seconds, run_ends - run_starts) / 2 AS in_run,
         LEAST(line_ends, steady_ends)
           - GREATEST(line_ends - seconds, steady_starts)
           > LEAST(seconds, steady_ends - steady_starts) / 2 AS in_steady
  FROM line
)
SELECT run_id,
       -- Seconds that the counts of the whole run cover.
       SUM(CASE WHEN in_run THEN seconds END) AS seconds,
       -- Transactions completed in the whole run.
       SUM(CASE WHEN in_run THEN transactions END) AS transactions,
       -- Seconds that the counts of the steady state cover. NULL when no line
       -- does.
       SUM(CASE WHEN in_steady THEN seconds END) AS steady_seconds,
       -- Transactions completed in the steady state. NULL when no line covers
       -- it.
       SUM(CASE WHEN in_steady THEN transactions END) AS steady_transactions
FROM placed
WHERE in_run OR in_steady
GROUP BY run_id;
