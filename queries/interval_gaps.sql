-- Gaps between intervals
-- Where monitor data is missing: two interval ends of a system that lie further
-- apart than MONITOR was set to (or than usual, where no record says it),
-- within a dump or between two dumps. No rate is computed across a gap.
-- param: factor = 1.5 -- a gap is longer than this many usual intervals
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH ends AS (
  SELECT DISTINCT system, interval_end, seconds, usual_s
  FROM meta.interval AS i
  WHERE interval_end IS NOT NULL
    AND i.system GLOB $system
    AND ends_within(
      i.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
),
measured AS (
  SELECT *,
         lag(interval_end) OVER (
           PARTITION BY system ORDER BY interval_end
         ) AS previous_end
  FROM ends
)
SELECT system,
       previous_end AS last_before,
       interval_end AS first_after,
       round(seconds, 1) AS gap_s,
       round(usual_s, 1) AS usual_s,
       CAST(round(seconds / nullif(usual_s, 0)) AS BIGINT) - 1
         AS intervals_missing
FROM measured
WHERE seconds > $factor * usual_s
ORDER BY system, previous_end;
