-- The days of a system as far as they have measured intervals.
-- Parameters: days, and their bounds (since, until; UTC), as three lists; system; since, until of
-- all (UTC, NULL is no bound).
WITH asked AS (
  SELECT unnest(CAST(? AS VARCHAR[])) AS day,
         unnest(CAST(? AS TIMESTAMP[])) AS since,
         unnest(CAST(? AS TIMESTAMP[])) AS until,
         CAST(? AS VARCHAR) AS system,
         CAST(? AS TIMESTAMP) AS first_since,
         CAST(? AS TIMESTAMP) AS last_until
),
     span AS (
  SELECT day, system,
         greatest(since, first_since) AS since,
         least(until, last_until) AS until
  FROM asked
)
SELECT s.day, s.since, s.until,
       count(DISTINCT i.interval_end) AS intervals,
       min(i.previous_end) AS first,
       max(i.interval_end) AS last
FROM span AS s
JOIN meta.interval AS i
  ON i.system = s.system
  AND i.previous_end IS NOT NULL
  AND i.interval_end > s.since
  AND i.interval_end <= s.until
GROUP BY s.day, s.since, s.until
ORDER BY s.day
