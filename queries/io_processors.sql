-- I/O processors
-- What the I/O processors of the machine did: percent of the times that they
-- were found busy, functions started and interrupts a second, and of a hundred
-- starts how many met a busy channel path, switch, control unit or device. What
-- the fields of PRCIOP (5.12) mean is believed.
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH processor AS (
  SELECT p.system,
         p.csciopid,
         sum(p.seconds) AS seconds,
         sum(p.cscmdbc) AS busy,
         sum(p.cscmdbc + p.cscmdic) AS looks,
         sum(p.cscmdsc) AS starts,
         sum(p.cscmdpi) AS interrupts,
         sum(p.cscmdcb) AS path_busy,
         sum(p.cscmdsb) AS switch_busy,
         sum(p.cscmdub) AS unit_busy,
         sum(p.cscmddb) AS device_busy
  FROM interval.prciop AS p
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = p.system
  WHERE ($run = '' OR ends_within(p.interval_end, r.since, r.until))
    AND p.system GLOB $system
    AND ends_within(
      p.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
    AND p.cscmdbc + p.cscmdic + p.cscmdsc + p.cscmdpi + p.cscmdcb + p.cscmdsb
      + p.cscmdub + p.cscmddb IS NOT NULL
  GROUP BY ALL
)
SELECT system,
       csciopid AS io_processor,
       round(100 * busy / nullif(looks, 0), 1) AS busy_percent,
       round(starts / nullif(seconds, 0), 1) AS starts_per_s,
       round(interrupts / nullif(seconds, 0), 1) AS interrupts_per_s,
       round(100 * path_busy / nullif(starts, 0), 1) AS path_busy_percent,
       round(100 * switch_busy / nullif(starts, 0), 1) AS switch_busy_percent,
       round(100 * unit_busy / nullif(starts, 0), 1) AS unit_busy_percent,
       round(100 * device_busy / nullif(starts, 0), 1) AS device_busy_percent,
       round(seconds, 1) AS measured_s
FROM processor
ORDER BY system, io_processor;
