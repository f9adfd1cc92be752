-- The spans of pages: runs, and systems that have none in the span, each as far as it has measured
-- intervals.
-- Parameters: bounds of interval ends (UTC, NULL is no bound); run, run, system, system (NULL is any); whether
-- to list systems that have runs as well.
WITH asked AS (SELECT CAST(? AS TIMESTAMP) AS since, CAST(? AS TIMESTAMP) AS until),
     named AS (
  SELECT system, run_id, since + INTERVAL 1 SECOND AS since,
         until + INTERVAL 1 SECOND AS until, attributes
  FROM meta.run
  UNION ALL
  SELECT DISTINCT system, NULL, NULL, NULL, NULL FROM meta.interval
),
     span AS (
  SELECT n.system, n.run_id, n.attributes,
         greatest(n.since, a.since) AS since,
         least(n.until, a.until) AS until
  FROM named AS n CROSS JOIN asked AS a
)
SELECT s.system, s.run_id, s.since, s.until,
       count(DISTINCT i.interval_end) AS intervals,
       min(i.previous_end) AS first,
       max(i.interval_end) AS last,
       any_value(s.attributes) AS attributes
FROM span AS s
JOIN meta.interval AS i
  ON i.system = s.system
  AND i.previous_end IS NOT NULL
  AND (s.since IS NULL OR i.interval_end > s.since)
  AND (s.until IS NULL OR i.interval_end <= s.until)
WHERE (CAST(? AS VARCHAR) IS NULL OR s.run_id = ?)
  AND (CAST(? AS VARCHAR) IS NULL OR s.system = ?)
GROUP BY s.system, s.run_id, s.since, s.until
QUALIFY s.run_id IS NOT NULL OR ? OR count(s.run_id) OVER (PARTITION BY s.system) = 0
ORDER BY s.system, first, s.run_id
