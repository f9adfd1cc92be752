-- Logical processors of partitions
-- How much of the time the machine dispatched each logical processor of each
-- partition, in percent of one processor, what of that was overhead of the
-- machine, and its weight. What the fields of SYTCUP (0.16) mean is believed.
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH processor AS (
  SELECT l.system,
         trim(l.lcupname) AS partition_name,
         l.lcucpuid AS address,
         trim(l.lcxcptyp) AS type,
         arg_max(l.lcucwght, l.interval_end) AS weight,
         sum(l.seconds) AS seconds,
         sum(l.lcucactm) AS active_us,
         sum(l.lcucactm - l.lcuclptm)
           / nullif(sum(l.seconds) FILTER (l.lcuclptm IS NOT NULL), 0)
           AS overhead
  FROM interval.sytcup_cpu AS l
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = l.system
  WHERE ($run = '' OR ends_within(l.interval_end, r.since, r.until))
    AND l.system GLOB $system
    AND ends_within(
      l.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
    AND l.lcucactm IS NOT NULL
  GROUP BY ALL
)
SELECT system,
       partition_name,
       address,
       type,
       weight,
       round(1e-4 * active_us / nullif(seconds, 0), 1) AS busy_percent,
       round(1e-4 * overhead, 1) AS overhead_percent,
       round(seconds, 1) AS measured_s
FROM processor
ORDER BY system, partition_name, address, type;
