-- Logical processors of each partition and what they were dispatched for, one
-- row per system, interval and logical processor (D0R16). Where the partition
-- runs multithreaded these are cores. T is the difference of the record's own
-- clock (LCUTCTOD). A partition of many processors is continued in further
-- records (7.3).
CREATE OR REPLACE VIEW _logical_processor_interval AS
WITH recorded AS (
  SELECT system,
         dump,
         interval_end,
         lcupname,
         lcuppnum,
         MAX(seconds) AS seconds,
         MAX(CAST(lcutctod AS DOUBLE)) / 4096e6 AS clock_seconds
  FROM interval.sytcup
  WHERE interval_end IS NOT NULL
  GROUP BY system, dump, interval_end, lcupname, lcuppnum
),
clock AS (
  SELECT system,
         dump,
         interval_end,
         lcupname,
         lcuppnum,
         CASE WHEN seconds IS NOT NULL
              THEN clock_seconds - LAG(clock_seconds) OVER (
                PARTITION BY system, lcupname, lcuppnum
                ORDER BY interval_end, dump
              )
         END AS seconds
  FROM recorded
)
SELECT l.system,
       l.interval_end,
       -- Name of the partition.
       l.lcupname AS partition_name,
       -- Number of the partition.
       CAST(l.lcuppnum AS BIGINT) AS partition_number,
       -- Address of the logical processor, or number of the core.
       CAST(l.lcucpuid AS BIGINT) AS logical_processor,
       -- Processing weight.
       MAX(CAST(l.lcucwght AS BIGINT)) AS weight,
       -- Whether it is dedicated: bit X'80' of LCUCFLGS, which is inferred.
       MAX(CAST(l.lcucflgs AS BIGINT) & 128) > 0 AS is_dedicated,
       -- Whether it is capped: bit X'20' of LCUCFLGS, which is inferred.
       MAX(CAST(l.lcucflgs AS BIGINT) & 32) > 0 AS is_capped,
       -- Elapsed seconds T. NULL at a first sample.
       MAX(CASE WHEN l.lcucactm IS NOT NULL THEN c.seconds END) AS seconds,
       -- Dispatched time, microseconds. NULL at a first sample.
       TRY_CAST(SUM(l.lcucactm) AS BIGINT) AS active_us,
       -- The part of that which the machine needed for dispatching,
       -- microseconds. NULL at a first sample.
       TRY_CAST(SUM(l.lcucactm - l.lcuclptm) AS BIGINT) AS overhead_us
FROM interval.sytcup_cpu AS l
JOIN clock AS c
  ON c.system = l.system
  AND c.dump = l.dump
  AND c.interval_end = l.interval_end
  AND c.lcupname = l.lcupname
  AND c.lcuppnum = l.lcuppnum
GROUP BY l.system, l.interval_end, l.lcupname, l.lcuppnum, l.lcucpuid;
