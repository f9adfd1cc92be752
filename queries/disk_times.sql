-- Parts of the response of disks
-- What DASD_BY_ACTIVITY does not print of a disk: milliseconds of an I/O until
-- the first command is accepted, in the queue of the control unit and for a
-- device that was busy, all of I/Os that were timed; and how many I/Os a second
-- used an alias, or could not. NULL where records end before the fields, whose
-- meaning is believed.
-- param: top = 20 -- how many disks
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH disk AS (
  SELECT d.system,
         d.rdevdev,
         arg_max(nullif(trim(d.rdevser), ''), d.interval_end) AS volume,
         sum(d.seconds) AS seconds,
         sum(greatest(d.scgssch, d.scmssch)) AS starts,
         0.128 * sum(d.scmirtim)
           / nullif(sum(greatest(d.scgcount, d.scmcount))
                      FILTER (d.scmirtim IS NOT NULL), 0) AS accepted,
         0.128 * sum(d.scmcqtim)
           / nullif(sum(greatest(d.scgcount, d.scmcount))
                      FILTER (d.scmcqtim IS NOT NULL), 0) AS queued,
         0.128 * sum(d.scmdbtim)
           / nullif(sum(greatest(d.scgcount, d.scmcount))
                      FILTER (d.scmdbtim IS NOT NULL), 0) AS device_busy,
         sum(d.pavuses)
           / nullif(sum(d.seconds) FILTER (d.pavuses IS NOT NULL), 0)
           AS with_alias,
         sum(d.pavinelg)
           / nullif(sum(d.seconds) FILTER (d.pavinelg IS NOT NULL), 0)
           AS without_alias
  FROM interval.ioddev AS d
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = d.system
  WHERE ($run = '' OR ends_within(d.interval_end, r.since, r.until))
    AND d.system GLOB $system
    AND ends_within(
      d.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
    AND greatest(d.scgcount, d.scmcount) IS NOT NULL
    AND greatest(d.scgssch, d.scmssch) IS NOT NULL
  GROUP BY ALL
)
SELECT system,
       format('{:04X}', CAST(rdevdev AS INTEGER)) AS device,
       volume,
       round(starts / nullif(seconds, 0), 1) AS starts_per_s,
       round(accepted, 2) AS initial_response_ms,
       round(queued, 2) AS control_unit_queue_ms,
       round(device_busy, 2) AS device_busy_ms,
       round(with_alias, 1) AS alias_uses_per_s,
       round(without_alias, 1) AS without_alias_per_s,
       round(seconds, 1) AS measured_s
FROM disk
ORDER BY starts_per_s DESC NULLS LAST, system, device
LIMIT $top;
