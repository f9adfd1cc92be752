-- Logical partitions of the machine, one row per system that saw them,
-- interval and partition (D0R15 to D0R17). Row *PHYSICAL* is the time that the
-- machine spent on managing partitions and that belongs to none. T is the
-- difference of the record's own clock (LCUTCTOD). The columns from active_us
-- on are the sums behind the others.
CREATE OR REPLACE VIEW lpar_by_time AS
WITH physical_clock AS (
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
         partition_name,
         partition_number,
         COUNT(*) AS logical_processors,
         MAX(weight) AS weight,
         MAX(is_dedicated) AS is_dedicated,
         MAX(is_capped) AS is_capped,
         AVG(seconds) AS seconds,
         TRY_CAST(SUM(active_us) AS BIGINT) AS active_us,
         TRY_CAST(SUM(active_us) AS BIGINT) AS dispatched_us,
         TRY_CAST(SUM(overhead_us) AS BIGINT) AS overhead_us,
         SUM(seconds) AS logical_seconds
  FROM _logical_processor_interval
  GROUP BY system, interval_end, partition_name, partition_number
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
       e.seconds * m.processors AS physical_seconds
FROM every AS e
LEFT JOIN _machine_interval AS m
  ON m.system = e.system
  AND m.interval_end = e.interval_end
LEFT JOIN own AS o
  ON o.system = e.system
  AND o.interval_end = e.interval_end
  AND e.partition_name = m.own_name;
