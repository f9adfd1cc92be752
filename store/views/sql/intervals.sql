-- meta.interval: what is directly before each interval of a system, if there is
-- a delta from there; over all dumps. $rows are the intervals as they landed.
--
-- What MONITOR was set to holds until something else is said, so that a dump
-- without configuration rests on those before it, and not on all that will ever
-- come.
--
-- A clock that was set back begins a new stretch of time in its dump: intervals
-- are in order within a stretch, and directly before one of them is one of its
-- stretch, or of another dump. Two stretches may have the same times. Then the
-- step from one end to the next of a stretch passes over an end of the other,
-- and neither has a delta there. Dumps that complete one another are no such
-- case: the step that passes over what the other one has is a gap.
WITH distinct_ends AS (
  SELECT system, dump, interval_end,
         coalesce(stretch, 0) AS stretch,
         max(interval_end_us) AS end_us,
         max(nominal_s) AS nominal_s,
         max(ipl_us) AS ipl_us,
         bool_or(coalesce(restated, false)) AS restated
  FROM $rows
  GROUP BY ALL
),
placed AS (
  SELECT *,
         lag(end_us) OVER stretch_order AS own_us,
         lead(end_us) OVER stretch_order AS following_us
  FROM distinct_ends
  WINDOW stretch_order AS (
    PARTITION BY system, dump, stretch ORDER BY interval_end)
),
-- The ends of a system, one row each, however many dumps have them.
ends AS (
  SELECT system, interval_end,
         max(end_us) AS end_us,
         max(nominal_s) AS nominal_s,
         max(ipl_us) AS ipl_us,
         bool_or(restated) AS restated,
         min(following_us) AS following_us
  FROM placed
  GROUP BY ALL
),
ordered AS (
  SELECT *,
         lag(interval_end) OVER in_time AS before,
         lag(end_us) OVER in_time AS before_us,
         $seconds AS seconds,
         coalesce(ipl_us <> lag(ipl_us) OVER in_time, false) AS restart,
         last_value(nominal_s IGNORE NULLS) OVER in_time AS set_s
  FROM ends
  WINDOW in_time AS (PARTITION BY system ORDER BY interval_end)
),
compared AS (
  SELECT *,
         lag(set_s) OVER in_time AS was_s,
         lag(seconds) OVER in_time AS was_seconds,
         median(seconds) OVER (PARTITION BY system) AS median_s
  FROM ordered
  WINDOW in_time AS (PARTITION BY system ORDER BY interval_end)
),
-- The interval in which MONITOR was set to another length lasts up to both
-- together, the one in which monitoring started up to the usual length.
usual AS (
  SELECT *,
         coalesce(set_s <> was_s, false) AS changed,
         CASE WHEN set_s <> was_s
              THEN least(seconds, greatest(
                     set_s, was_s, (set_s + was_s + $slack_s) / $gap))
              WHEN restated THEN least(seconds, coalesce(set_s, median_s))
              ELSE coalesce(set_s, median_s)
         END AS usual_s
  FROM compared
),
-- `shifted`: it has another length than was set, and it is neither a late
-- sample, which the next interval makes up for, nor the one behind such; nor are
-- intervals of that length in a row, whatever the profile says.
judged AS (
  SELECT *,
         coalesce(seconds > $gap * usual_s, false) AS gap,
         coalesce(
           set_s IS NOT NULL AND NOT changed AND NOT restated
           AND seconds <= $gap * usual_s AND abs(seconds - usual_s) > slack_s
           AND NOT coalesce(abs(following_s + seconds - 2 * usual_s) <= slack_s, false)
           AND NOT coalesce(abs(was_seconds + seconds - 2 * usual_s) <= slack_s, false)
           AND NOT coalesce(abs(following_s - seconds) <= slack_s, false)
           AND NOT coalesce(abs(was_seconds - seconds) <= slack_s, false),
           false) AS shifted
  FROM (
    SELECT *,
           least($slack_s, $slack_share * usual_s) AS slack_s,
           (following_us - end_us) / 1e6 AS following_s
    FROM usual)
),
-- `linked`: in its own dump, its stretch has an end directly before it, or it is
-- the first of all. `doubled`: two stretches of a dump end at the same time.
steps AS (
  SELECT p.*,
         p.end_us - p.own_us <= 1000000 * $gap * j.usual_s AS joined,
         coalesce(
           CASE WHEN p.own_us IS NOT NULL
                THEN p.own_us >= lag(p.end_us) OVER dump_order
                WHEN p.stretch = 0
                THEN j.before_us > lag(p.end_us) OVER dump_order
                ELSE false
           END, true) AS linked,
         count(*) OVER (PARTITION BY system, dump, interval_end) > 1 AS doubled
  FROM placed AS p
  JOIN judged AS j USING (system, interval_end)
  WINDOW dump_order AS (
    PARTITION BY system, dump ORDER BY p.interval_end, p.stretch)
),
passed AS (
  SELECT system, interval_end,
         bool_or(linked) AS linked,
         bool_or(doubled) AS doubled,
         sum(CASE WHEN joined THEN 1 ELSE 0 END) AS closes,
         sum(CASE WHEN opens THEN 1 ELSE 0 END) AS opens
  FROM (
    SELECT *, lead(joined) OVER stretch_order AS opens
    FROM steps
    WINDOW stretch_order AS (
      PARTITION BY system, dump, stretch ORDER BY interval_end))
  GROUP BY ALL
),
-- `beside`: a step of another stretch passes over this end.
covered AS (
  SELECT system, interval_end, linked,
         doubled OR sum(opens - closes) OVER in_time - opens > 0 AS beside
  FROM passed
  WINDOW in_time AS (PARTITION BY system ORDER BY interval_end)
),
told AS (
  SELECT j.*,
         j.shifted OR NOT c.linked OR c.beside
           OR coalesce(lag(c.beside) OVER in_time, false) AS clock_set
  FROM judged AS j
  JOIN covered AS c USING (system, interval_end)
  WINDOW in_time AS (PARTITION BY system ORDER BY interval_end)
)
SELECT i.system, i.dump, i.interval_end, i.interval_end_us, i.samples, i.bytes,
       i.nominal_s, i.ipl_us, i.restated, i.stretch,
       t.seconds, t.usual_s, t.gap, t.restart, t.clock_set,
       CASE WHEN NOT t.gap AND NOT t.restart AND NOT t.clock_set
            THEN t.before
       END AS previous_end
FROM $rows AS i
JOIN told AS t USING (system, interval_end)
