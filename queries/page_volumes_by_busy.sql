-- Page volumes by busy time
-- Volumes with page slots, the busiest first: percent of time busy (pending,
-- disconnected and connected), mean service time of an I/O, pages moved and
-- slots in use. Above 40 percent busy a page volume makes users wait.
-- param: top = 20 -- how many volumes
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH chosen AS (
  SELECT DISTINCT i.system, i.interval_end
  FROM meta.interval AS i
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = i.system
  WHERE i.interval_end IS NOT NULL
    AND ($run = '' OR ends_within(i.interval_end, r.since, r.until))
    AND i.system GLOB $system
    AND ends_within(
      i.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
),
space AS (
  SELECT system,
         s.rdevdev,
         max(s.calvser) AS volume,
         sum(s.seconds) AS seconds,
         sum(s.expctprd) AS pages_read,
         sum(s.expctpwr) AS pages_written,
         avg(100 * s.cpvalocd / nullif(s.calpage, 0)) AS slots_used
  FROM interval.stoasp AS s
  JOIN chosen USING (system, interval_end)
  WHERE s.calpage > 0
  GROUP BY ALL
),
device AS (
  SELECT system,
         d.rdevdev,
         sum(d.seconds) AS seconds,
         sum(d.scmfptim + d.scmddtim + d.scmcntim) * 128e-6 AS busy_s,
         sum(d.scgcount) AS ios
  FROM interval.ioddev AS d
  JOIN chosen USING (system, interval_end)
  GROUP BY ALL
)
SELECT system,
       format('{:04X}', CAST(rdevdev AS INTEGER)) AS device,
       volume,
       round(100 * busy_s / nullif(device.seconds, 0), 1) AS busy_percent,
       round(1000 * busy_s / nullif(ios, 0), 1) AS service_ms,
       round(pages_read / nullif(space.seconds, 0), 1) AS pages_read_per_s,
       round(pages_written / nullif(space.seconds, 0), 1)
         AS pages_written_per_s,
       round(slots_used, 0) AS slots_used_percent
FROM space
LEFT JOIN device USING (system, rdevdev)
ORDER BY busy_percent DESC NULLS LAST, system, device
LIMIT $top;
