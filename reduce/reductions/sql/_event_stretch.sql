-- Gaps, which lose the records of events in them, too, and how many there are
-- up to each interval, one row per system and interval. What was told before
-- the last one may be another by now.
CREATE OR REPLACE VIEW _event_stretch AS
WITH ends AS (
  SELECT system,
         interval_end,
         MAX(CASE WHEN gap THEN 1 ELSE 0 END) AS is_behind,
         MAX(interval_end_us - CAST(usual_s * 1e6 AS BIGINT)) AS due_us
  FROM meta.interval
  GROUP BY system, interval_end
)
SELECT system,
       -- End of the interval, UTC.
       interval_end,
       -- Number of gaps up to there, 0 or more.
       TRY_CAST(SUM(is_behind) OVER (
         PARTITION BY system ORDER BY interval_end
       ) AS BIGINT) AS stretch,
       -- Of an interval with a gap: from when on records of events are complete
       -- again, microseconds since 1970 UTC; a second behind the time at which
       -- the last missing sample was due. NULL in others.
       CASE WHEN is_behind = 1 THEN due_us + 1000000 END AS complete_us
FROM ends;
