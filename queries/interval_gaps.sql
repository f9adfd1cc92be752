-- Gaps between intervals
-- Where monitor data is missing: two interval ends of a system that lie further
-- apart than MONITOR was set to (or than usual, where no record says it),
-- within a dump or between two dumps. No rate is computed across a gap.
-- param: factor = 1.5 -- a gap is longer than this many usual intervals
WITH ends AS (
  SELECT system, interval_end, max(nominal_s) AS nominal_s
  FROM meta.interval
  WHERE interval_end IS NOT NULL
  GROUP BY ALL
),
measured AS (
  SELECT system,
         interval_end,
         nominal_s,
         lag(interval_end) OVER by_system AS previous_end,
         date_diff('microsecond', previous_end, interval_end) / 1e6 AS seconds
  FROM ends
  WINDOW by_system AS (PARTITION BY system ORDER BY interval_end)
),
compared AS (
  SELECT system,
         previous_end,
         interval_end,
         seconds,
         coalesce(nominal_s, median(seconds) OVER (PARTITION BY system))
           AS usual_s
  FROM measured
)
SELECT system,
       previous_end AS last_before,
       interval_end AS first_after,
       round(seconds, 1) AS gap_s,
       round(usual_s, 1) AS usual_s,
       CAST(round(seconds / nullif(usual_s, 0)) AS BIGINT) - 1
         AS intervals_missing
FROM compared
WHERE seconds > $factor * usual_s
ORDER BY system, previous_end;
