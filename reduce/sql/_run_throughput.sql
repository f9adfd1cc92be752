-- Transactions of a run as its load generator counted them, one row per run.
-- A line of the companion counts when more than half of it lies in the run's
-- window, or when it covers more than half of the window: clocks that differ
-- by milliseconds, or a line of the next measurement, change nothing.
CREATE OR REPLACE VIEW _run_throughput (
  -- Run.
  run_id,
  -- Seconds that the counts cover.
  seconds,
  -- Transactions completed.
  transactions
) AS
WITH line AS (
  SELECT r.run_id,
         date_part('epoch', r.since) AS run_starts,
         date_part('epoch', r.until) AS run_ends,
         date_part('epoch', l.interval_end) AS line_ends,
         CAST(l.seconds AS DOUBLE) AS seconds,
         CAST(l.transactions AS DOUBLE) AS transactions
  FROM meta.run AS r
  JOIN meta.throughput AS l ON l.run_id = r.run_id
)
SELECT run_id,
       SUM(seconds) AS seconds,
       SUM(transactions) AS transactions
FROM line
WHERE LEAST(line_ends, run_ends) - GREATEST(line_ends - seconds, run_starts)
  > LEAST(seconds, run_ends - run_starts) / 2
GROUP BY run_id;
