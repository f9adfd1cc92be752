-- meta.interval: the intervals of all dumps, each with the end of the previous
-- interval of its system if deltas exist between the two. $rows are the landed
-- intervals.
--
-- A setting of MONITOR holds until it is changed: a dump without configuration
-- depends on earlier dumps, not on later ones.
--
-- A clock that is set back begins a new stretch of time in its dump. Intervals
-- are ordered within a stretch; the previous interval of one is in the same
-- stretch or in another dump. Two stretches may cover the same times. The step
-- from one interval end to the next in one stretch then passes over an end of
-- the other, and neither has a delta there. Dumps that complement each other
-- are different: the step that passes over ends of the other dump is a gap.
WITH distinct_ends AS (
  SELECT system, dump, interval_end,
         coalesce(stretch, 0) AS stretch,
         max(interval_end_us) AS end_us,
         max(nominal_s) AS nominal_s,
         max(commanded_us) AS commanded_us,
         max(ipl_us) AS ipl_us,
         bool_or(coalesce(restated, false)) AS restated
  FROM $rows
  GROUP BY ALL
),
-- `own_us`, `following_us` and `later_us`: the previous end in the stretch, the
-- next, and the one after that; `dump_us`: the previous end in the dump, in any
-- stretch.
placed AS (
  SELECT *,
         lag(end_us) OVER stretch_order AS own_us,
         lead(end_us) OVER stretch_order AS following_us,
         lead(end_us, 2) OVER stretch_order AS later_us,
         lag(end_us) OVER dump_order AS dump_us
  FROM distinct_ends
  WINDOW stretch_order AS (
           PARTITION BY system, dump, stretch ORDER BY interval_end),
         dump_order AS (
           PARTITION BY system, dump ORDER BY interval_end, stretch)
),
-- The interval ends of a system, deduplicated over dumps. `continued`: in
-- some dump the previous end is in the same stretch. `first_us`: not NULL if some dump
-- begins here; the previous end in a later stretch of that dump, if any.
-- `doubled`: two stretches of a dump have this end.
ends AS (
  SELECT system, interval_end,
         max(end_us) AS end_us,
         max(nominal_s) AS nominal_s,
         max(commanded_us) AS commanded_us,
         max(ipl_us) AS ipl_us,
         bool_or(restated) AS restated,
         min(following_us) AS following_us,
         min(later_us) AS later_us,
         min(own_us) AS farthest_us,
         max(own_us) AS nearest_us,
         coalesce(bool_or(own_us >= dump_us), false) AS continued,
         min(CASE WHEN own_us IS NULL AND stretch = 0
                  THEN coalesce(dump_us, -4611686018427387904)
             END) AS first_us,
         coalesce(bool_or(dump_us = end_us), false) AS doubled
  FROM placed
  GROUP BY ALL
),
ordered AS (
  SELECT *,
         lag(interval_end) OVER in_time AS before,
         lag(end_us) OVER in_time AS before_us,
         $seconds AS seconds,
         (lag(end_us) OVER in_time - lag(end_us, 2) OVER in_time) / 1e6
           AS was_seconds,
         (lag(end_us, 2) OVER in_time - lag(end_us, 3) OVER in_time) / 1e6
           AS earlier_seconds,
         coalesce(ipl_us <> lag(ipl_us) OVER in_time, false) AS restart,
         last_value(nominal_s IGNORE NULLS) OVER in_time AS set_s
  FROM ends
  WINDOW in_time AS (PARTITION BY system ORDER BY interval_end)
),
compared AS (
  SELECT *,
         lag(set_s) OVER in_time AS was_s,
         median(seconds) OVER (PARTITION BY system) AS median_s
  FROM ordered
  WINDOW in_time AS (PARTITION BY system ORDER BY interval_end)
),
-- The interval in which MONITOR was set to another length lasts up to the sum
-- of both lengths, and the command comes within the earlier one; the one in
-- which monitoring started, up to the usual length.
usual AS (
  SELECT *,
         coalesce(set_s <> was_s, false) AS changed,
         CASE WHEN set_s <> was_s
              THEN least(seconds, greatest(
                     set_s, was_s, (set_s + was_s + $slack_s) / $gap))
              WHEN restated THEN least(seconds, coalesce(set_s, median_s))
              ELSE coalesce(set_s, median_s)
         END AS stated_s
  FROM compared
),
-- `shifted`: its length differs from the setting, and it is neither a late
-- sample, which the next interval compensates, nor the interval after one; nor
-- do successive intervals have that length, regardless of the setting.
-- `usual_s`: as stated, but of three or more that follow each other and are as
-- long as each other, but longer than that: the record of it is lost.
-- `lost`: it is longer than was set, and those after it are alike, but of
-- neither length. MONITOR was set to theirs in it, and the record of that is
-- missing, so that samples may be.
judged AS (
  SELECT *,
         lost OR coalesce(seconds > $gap * usual_s, false)
           OR changed AND coalesce(commanded_us <= end_us, false)
           AND coalesce(commanded_us - before_us > 1e6 * (was_s + $slack_s), false)
           AS gap,
         coalesce(
           set_s IS NOT NULL AND NOT changed AND NOT restated AND NOT lost
           AND seconds <= $gap * usual_s AND abs(seconds - usual_s) > slack_s
           AND NOT coalesce(abs(following_s + seconds - 2 * usual_s) <= slack_s, false)
           AND NOT coalesce(abs(was_seconds + seconds - 2 * usual_s) <= slack_s, false)
           AND NOT coalesce(abs(following_s - seconds) <= slack_s, false)
           AND NOT coalesce(abs(was_seconds - seconds) <= slack_s, false),
           false) AS shifted,
         -- Begin of the step that ends here without a gap.
         CASE WHEN end_us - farthest_us <= 1000000 * $gap * usual_s
              THEN farthest_us
              WHEN end_us - nearest_us <= 1000000 * $gap * usual_s
              THEN nearest_us
         END AS joined_us
  FROM (
    SELECT *,
           coalesce(
             set_s IS NOT NULL AND NOT changed AND NOT restated
             AND seconds > usual_s + slack_s
             AND abs(following_s - usual_s) > slack_s
             AND abs(following_s - seconds) > slack_s
             AND abs((later_us - following_us) / 1e6 - following_s) <= slack_s,
             false) AS lost
    FROM (
      SELECT *,
             CASE WHEN seconds > $gap * stated_s
                    AND (abs(was_seconds - seconds) <= slack_s
                           AND abs(following_s - seconds) <= slack_s
                         OR abs(following_s - seconds) <= slack_s
                           AND abs((later_us - following_us) / 1e6 - seconds)
                             <= slack_s
                         OR abs(was_seconds - seconds) <= slack_s
                           AND abs(earlier_seconds - seconds) <= slack_s)
                  THEN seconds ELSE stated_s END AS usual_s
      FROM (
        SELECT *,
               least($slack_s, $slack_share * stated_s) AS slack_s,
               (following_us - end_us) / 1e6 AS following_s
        FROM usual)))
),
-- `beside`: a step of another stretch passes over this end.
covered AS (
  SELECT *,
         doubled OR coalesce(
           min(joined_us) OVER (
             PARTITION BY system ORDER BY interval_end
             ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) < end_us,
           false) AS beside
  FROM judged
),
flagged AS (
  SELECT *,
         shifted OR beside OR coalesce(lag(beside) OVER in_time, false)
           OR NOT (continued
                   OR coalesce(first_us < before_us, first_us IS NOT NULL))
           AS clock_set
  FROM covered
  WINDOW in_time AS (PARTITION BY system ORDER BY interval_end)
)
SELECT i.system, i.dump, i.interval_end, i.interval_end_us, i.samples, i.bytes,
       i.nominal_s, i.commanded_us, i.ipl_us, i.restated, i.stretch,
       t.seconds, t.usual_s, t.gap, t.restart, t.clock_set,
       CASE WHEN NOT t.gap AND NOT t.restart AND NOT t.clock_set
            THEN t.before
       END AS previous_end
FROM $rows AS i
JOIN flagged AS t USING (system, interval_end)
