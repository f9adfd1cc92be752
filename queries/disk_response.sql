-- Response of all disks by time
-- Milliseconds of an I/O, mean over the disks of a system that are sampled:
-- service, and with the time in CP's queue, beside I/Os a second. NULL where
-- those of one disk are not known; an idle disk adds nothing.
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH disk AS (
  SELECT d.system,
         d.interval_end,
         d.seconds,
         d.starts,
         CASE WHEN d.starts = 0 THEN 0 ELSE d.busy_seconds END AS service,
         CASE WHEN d.starts = 0 THEN 0 ELSE d.response_seconds END AS response
  FROM dasd_by_activity AS d
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = d.system
  WHERE ($run = '' OR ends_within(d.interval_end, r.since, r.until))
    AND d.system GLOB $system
    AND ends_within(
      d.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
)
SELECT system,
       interval_end,
       count(*) AS disks,
       CASE WHEN count(starts) = count(*)
            THEN round(sum(starts / nullif(seconds, 0)), 1) END AS io_per_s,
       CASE WHEN count(service) = count(*)
            THEN round(1000 * sum(service) / nullif(sum(starts), 0), 2)
       END AS service_ms,
       CASE WHEN count(response) = count(*)
            THEN round(1000 * sum(response) / nullif(sum(starts), 0), 2)
       END AS response_ms
FROM disk
GROUP BY system, interval_end
HAVING count(seconds) > 0
ORDER BY system, interval_end;
