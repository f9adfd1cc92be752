-- Times of which records of events are lost, in gaps and where CP suspended
-- their recording (D1R3, D1R12), and how many there are up to each interval,
-- one row per system and interval. What was told before the last one may be
-- another by now.
CREATE OR REPLACE VIEW _event_stretch AS
WITH resumed AS (
  SELECT s.system,
         s.tod AS since_tod,
         MIN(r.tod) AS until_tod
  FROM monitor.mtrsos AS s
  LEFT JOIN monitor.mtrsus AS r
    ON r.system = s.system AND r.tod >= s.tod
  GROUP BY s.system, s.tod
  UNION ALL
  SELECT system, tod AS since_tod, tod AS until_tod
  FROM monitor.mtrsus
),
ends AS (
  SELECT system,
         interval_end,
         MAX(previous_end) AS previous_end,
         MAX(CASE WHEN gap THEN 1 ELSE 0 END) AS is_behind,
         MAX(interval_end_us - CAST(usual_s * 1e6 AS BIGINT)) AS due_us
  FROM meta.interval
  GROUP BY system, interval_end
),
suspended AS (
  SELECT e.system,
         e.interval_end,
         MAX(COALESCE(r.until_tod, e.interval_end)) AS until_tod
  FROM ends AS e
  JOIN resumed AS r
    ON r.system = e.system
    AND r.since_tod <= e.interval_end
    AND (r.until_tod IS NULL OR r.until_tod > e.previous_end)
  GROUP BY e.system, e.interval_end
)
SELECT e.system,
       -- End of the interval, UTC.
       e.interval_end,
       -- Number of such times up to there, 0 or more.
       TRY_CAST(SUM(
         CASE WHEN s.system IS NOT NULL THEN 1 ELSE e.is_behind END
       ) OVER (PARTITION BY e.system ORDER BY e.interval_end) AS BIGINT)
         AS stretch,
       -- Whether CP suspended the recording of events in the interval.
       s.system IS NOT NULL AS is_suspended,
       -- Of an interval with lost events: from when on their records are
       -- complete again, microseconds since 1970 UTC; a second behind the time
       -- at which the last missing sample was due, or recording went on. NULL
       -- in others.
       CASE WHEN s.system IS NOT NULL
            THEN date_diff(
              'microsecond', TIMESTAMP '1970-01-01', s.until_tod
            ) + 1000000
            WHEN e.is_behind = 1 THEN e.due_us + 1000000 END AS complete_us
FROM ends AS e
LEFT JOIN suspended AS s
  ON s.system = e.system AND s.interval_end = e.interval_end;
