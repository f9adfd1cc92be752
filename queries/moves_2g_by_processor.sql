-- Moves below the 2 GB line by processor
-- Pages moved below the 2 GB line per second, each processor's share of them,
-- and how often the list of available frames below the line was empty, in the
-- intervals in which that is known of all processors. The rate is not in the
-- classic reports; CP keeps it in SYTRSP_PLSMVB2G.
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH sampled AS (
  SELECT s.system,
         s.pfxcpuad AS cpu,
         s.seconds,
         s.plsmvb2g AS moves,
         s.plsstlfr AS steals,
         s.plsalemp AS list_empty
  FROM interval.sytrsp AS s
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = s.system
  WHERE ($run = '' OR ends_within(s.interval_end, r.since, r.until))
    AND s.system GLOB $system
    AND ends_within(
      s.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
  WINDOW of_all AS (PARTITION BY s.system, s.interval_end)
  QUALIFY count(s.plsmvb2g + s.plsstlfr + s.plsalemp) OVER of_all
    = count(*) OVER of_all
),
processor AS (
  SELECT system,
         cpu,
         sum(seconds) AS seconds,
         sum(moves) AS moves,
         sum(steals) AS steals,
         sum(list_empty) AS list_empty
  FROM sampled
  GROUP BY system, cpu
)
SELECT system,
       cpu,
       round(moves / nullif(seconds, 0), 1) AS moves_2g_per_s,
       round(100 * moves / nullif(sum(moves) OVER (PARTITION BY system), 0), 1)
         AS share_percent,
       round(steals / nullif(seconds, 0), 1) AS steals_per_s,
       round(list_empty / nullif(seconds, 0), 3) AS list_empty_per_s,
       round(seconds, 1) AS measured_s
FROM processor
WHERE seconds > 0
ORDER BY system, cpu;
