-- Transactions of a run as its load generator counted them, one row per run.
-- A line of the companion counts when it overlaps the run's window: it ends
-- behind the start, and the line before it ended ahead of the end.
CREATE OR REPLACE VIEW _run_throughput (
  -- Run.
  run_id,
  -- Seconds that the counts cover.
  seconds,
  -- Transactions completed.
  transactions
) AS
WITH line AS (
  SELECT run_id,
         interval_end,
         LAG(interval_end) OVER (
           PARTITION BY run_id ORDER BY interval_end
         ) AS previous_end,
         CAST(seconds AS DOUBLE) AS seconds,
         CAST(transactions AS DOUBLE) AS transactions
  FROM meta.throughput
)
SELECT r.run_id,
       SUM(l.seconds) AS seconds,
       SUM(l.transactions) AS transactions
FROM meta.run AS r
JOIN line AS l
  ON l.run_id = r.run_id
  AND l.interval_end > r.since
  AND (l.previous_end IS NULL OR l.previous_end < r.until)
GROUP BY r.run_id;
