-- Saved systems and segments
-- Named saved systems and saved segments: who uses them, how large they are,
-- what of them is resident or on DASD as of the last sample, and pages read and
-- stolen a second. What some fields of STOSHR (3.14) mean is believed.
-- param: top = 50 -- how many of them
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH segment AS (
  SELECT s.system,
         s.sntname,
         s.sdfidnum,
         sum(s.seconds) AS seconds,
         arg_max(s.sntusrsh, s.interval_end) AS shared,
         arg_max(s.sntusrex, s.interval_end) AS exclusive,
         arg_max(s.sntstrct, s.interval_end) AS saved,
         arg_max(s.ascctprs, s.interval_end) AS resident_below,
         arg_max(s.ascctprg, s.interval_end) AS resident_above,
         arg_max(s.ascctpgs, s.interval_end) AS on_dasd,
         sum(s.asccspgr)
           / nullif(sum(s.seconds) FILTER (s.asccspgr IS NOT NULL), 0)
           AS read_rate,
         sum(s.asccspst)
           / nullif(sum(s.seconds) FILTER (s.asccspst IS NOT NULL), 0)
           AS steal_rate
  FROM interval.stoshr AS s
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = s.system
  WHERE ($run = '' OR ends_within(s.interval_end, r.since, r.until))
    AND s.system GLOB $system
    AND ends_within(
      s.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
    AND s.seconds IS NOT NULL
  GROUP BY ALL
)
SELECT system,
       trim(sntname) AS segment,
       sdfidnum AS spool_file,
       shared AS shared_users,
       exclusive AS exclusive_users,
       saved AS saved_pages,
       resident_below AS resident_pages_below_2g,
       resident_above AS resident_pages_above_2g,
       on_dasd AS dasd_pages,
       round(read_rate, 2) AS page_reads_per_s,
       round(steal_rate, 2) AS steals_per_s,
       round(seconds, 1) AS measured_s
FROM segment
ORDER BY shared_users + exclusive_users DESC NULLS LAST, system, segment
LIMIT $top;
