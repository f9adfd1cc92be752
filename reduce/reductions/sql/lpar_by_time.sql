-- Logical partitions of the machine, one row per system that saw them,
-- interval and partition (D0R15 to D0R17). Row *PHYSICAL* is the time that the
-- machine spent on managing partitions and that belongs to none. T is the
-- difference of the record's own clock (LCUTCTOD). The columns from active_us
-- on are the sums behind the others.
CREATE OR REPLACE VIEW lpar_by_time AS
WITH recorded AS (
  -- A partition of many processors is continued in further records (7.3).
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
),
processor AS (
  SELECT l.system,
         l.interval_end,
         l.lcupname,
         l.lcuppnum,
         l.lcucpuid,
         MAX(CAST(l.lcucwght AS BIGINT)) AS weight,
         MAX(CAST(l.lcucflgs AS BIGINT) & 128) AS dedicated_flag,
         MAX(CAST(l.lcucflgs AS BIGINT) & 32) AS capped_flag,
         MAX(CASE WHEN l.lcucactm IS NOT NULL THEN c.seconds END) AS seconds,
         SUM(l.lcucactm) AS active_us,
         SUM(l.lcucactm - l.lcuclptm) AS overhead_us
  FROM interval.sytcup_cpu AS l
  JOIN clock AS c
    ON c.system = l.system
    AND c.dump = l.dump
    AND c.interval_end = l.interval_end
    AND c.lcupname = l.lcupname
    AND c.lcuppnum = l.lcuppnum
  GROUP BY l.system, l.interval_end, l.lcupname, l.lcuppnum, l.lcucpuid
),
physical_clock AS (
  SELECT system,
         dump,
         interval_end,
         record_offset,
         CASE WHEN seconds IS NOT NULL
              THEN CAST(lcutctod AS DOUBLE) / 4096e6 - LAG(
                CAST(lcutctod AS DOUBLE) / 4096e6
              ) OVER (
                PARTITION BY system
                ORDER BY interval_end, dump, record_offset
              )
         END AS seconds
  FROM interval.sytcum
  WHERE interval_end IS NOT NULL
),
every AS (
  SELECT system,
         interval_end,
         lcupname AS partition_name,
         CAST(lcuppnum AS BIGINT) AS partition_number,
         COUNT(*) AS logical_processors,
         MAX(weight) AS weight,
         MAX(dedicated_flag) > 0 AS is_dedicated,
         MAX(capped_flag) > 0 AS is_capped,
         AVG(seconds) AS seconds,
         TRY_CAST(SUM(active_us) AS BIGINT) AS active_us,
         TRY_CAST(SUM(active_us) AS BIGINT) AS dispatched_us,
         TRY_CAST(SUM(overhead_us) AS BIGINT) AS overhead_us,
         SUM(seconds) AS logical_seconds
  FROM processor
  GROUP BY system, interval_end, lcupname, lcuppnum
  UNION ALL
  SELECT m.system,
         m.interval_end,
         '*PHYSICAL*' AS partition_name,
         CAST(NULL AS BIGINT) AS partition_number,
         CAST(NULL AS BIGINT) AS logical_processors,
         CAST(NULL AS BIGINT) AS weight,
         CAST(NULL AS BOOLEAN) AS is_dedicated,
         CAST(NULL AS BOOLEAN) AS is_capped,
         MAX(c.seconds) AS seconds,
         TRY_CAST(SUM(m.lcumgtm) AS BIGINT) AS active_us,
         CAST(NULL AS BIGINT) AS dispatched_us,
         CAST(NULL AS BIGINT) AS overhead_us,
         CAST(NULL AS DOUBLE) AS logical_seconds
  FROM interval.sytcum_cpu AS m
  JOIN physical_clock AS c
    ON c.system = m.system
    AND c.dump = m.dump
    AND c.interval_end = m.interval_end
    AND c.record_offset = m.record_offset
  GROUP BY m.system, m.interval_end
),
machine AS (
  SELECT system,
         interval_end,
         MAX(nullif(lparname, '')) AS own_name,
         MAX(CAST(lcutpcct AS BIGINT)) AS processors
  FROM monitor.sytcug
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
own AS (
  SELECT system,
         interval_end,
         SUM(seconds) AS seconds,
         SUM(seconds * 4096e6 - busy_tod - wait_tod) AS suspended_tod
  FROM _processor_interval
  GROUP BY system, interval_end
)
SELECT e.system,
       e.interval_end,
       -- Name of the partition, or *PHYSICAL*.
       e.partition_name,
       -- Its number. NULL for *PHYSICAL*.
       e.partition_number,
       -- Whether it is that of this system. NULL while SYTCUG does not tell its
       -- name.
       e.partition_name = m.own_name AS is_own,
       -- Logical processors. NULL for *PHYSICAL*.
       e.logical_processors,
       -- Processing weight; 0 where processors are dedicated. NULL for
       -- *PHYSICAL*.
       e.weight,
       -- Whether its processors are dedicated: bit X'80' of LCUCFLGS, which is
       -- inferred. NULL for *PHYSICAL*.
       e.is_dedicated,
       -- Whether it is capped: bit X'20' of LCUCFLGS, which is inferred. NULL
       -- for *PHYSICAL*.
       e.is_capped,
       -- Elapsed seconds T. NULL at a first sample.
       e.seconds,
       -- Dispatched time, of *PHYSICAL* time of management, microseconds. NULL
       -- at a first sample.
       e.active_us,
       -- Dispatched time of logical processors. NULL for *PHYSICAL*.
       e.dispatched_us,
       -- The part of that which the machine needed for dispatching. NULL for
       -- *PHYSICAL*.
       e.overhead_us,
       -- Elapsed seconds, sum over the logical processors. NULL for *PHYSICAL*.
       e.logical_seconds,
       -- Time neither running nor waiting, TOD units. NULL for all partitions
       -- but that of this system.
       o.suspended_tod,
       -- Elapsed seconds, sum over the processors of this system. NULL for all
       -- partitions but that of this system.
       o.seconds AS own_seconds,
       -- Elapsed seconds, sum over the physical processors. NULL where SYTCUG
       -- does not tell their number.
       e.seconds * m.processors AS physical_seconds,
       CAST(NULL AS VARCHAR) AS doubts
FROM every AS e
LEFT JOIN machine AS m
  ON m.system = e.system
  AND m.interval_end = e.interval_end
LEFT JOIN own AS o
  ON o.system = e.system
  AND o.interval_end = e.interval_end
  AND e.partition_name = m.own_name;
