-- Logical partitions of the machine, one row per system that saw them,
-- interval, partition and type of processor (D0R15 to D0R17). A partition is
-- its name with its number. Row *PHYSICAL* is the time that the machine spent
-- on managing partitions and that belongs to none, on processors of all types.
-- T is the difference of the record's own clock (LCUTCTOD), of a partition
-- without a processor that between records. The columns from active_us on are
-- the sums behind the others.
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
management AS (
  SELECT m.system,
         m.interval_end,
         MAX(c.seconds) AS seconds,
         complete_sum(m.lcumgtm) AS active_us,
         all_doubts(m.doubts) AS doubts
  FROM interval.sytcum_cpu AS m
  -- An entry that is missing is in no record.
  JOIN physical_clock AS c
    ON c.system = m.system
    AND c.interval_end = m.interval_end
    AND (m.dump IS NULL
         OR c.dump = m.dump AND c.record_offset = m.record_offset)
  GROUP BY m.system, m.interval_end
),
unsure AS (
  -- Weights, entitlements and types rest on the records of all partitions.
  SELECT system, interval_end, all_doubts(doubts) AS doubts
  FROM (
    SELECT system, interval_end, doubts FROM interval.sytcug
    UNION ALL
    SELECT system, interval_end, doubts FROM interval.sytcum
    UNION ALL
    SELECT system, interval_end, doubts FROM interval.sytcup
  ) AS each
  GROUP BY system, interval_end
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
doubted AS (
  SELECT system,
         interval_end,
         lcupname AS partition_name,
         CAST(lcuppnum AS BIGINT) AS partition_number,
         all_doubts(doubts) AS doubts
  FROM interval.sytcup_cpu
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, lcupname, lcuppnum
),
part AS (
  SELECT p.system,
         p.interval_end,
         p.partition_name,
         p.partition_number,
         p.processor_type,
         p.weight,
         LAG(p.weight) OVER (
           PARTITION BY p.system, p.partition_name, p.partition_number,
                        p.processor_type
           ORDER BY p.interval_end
         ) AS previous_weight,
         p.is_dedicated,
         p.is_capped,
         p.dispatched_us,
         p.overhead_us,
         p.logical_seconds
  FROM _partition_interval AS p
),
detail AS (
  SELECT l.system,
         l.interval_end,
         l.partition_name,
         l.partition_number,
         l.processor_type,
         l.weight,
         l.is_dedicated,
         l.is_capped,
         l.dispatched_us,
         l.overhead_us,
         l.logical_seconds,
         p.processors,
         p.shared_processors,
         CASE WHEN l.weight > 0 THEN p.weights END AS weights,
         CASE WHEN l.weight > 0
              THEN CAST(l.weight AS DOUBLE) / nullif(p.weights, 0)
         END AS weight_share,
         p.is_steady AND l.weight = l.previous_weight AS is_steady,
         s.seconds AS own_seconds,
         s.suspended_tod,
         nullif(concat_ws(', ', d.doubts, s.doubts), '') AS doubts
  FROM part AS l
  LEFT JOIN _processor_pool AS p
    ON p.system = l.system
    AND p.interval_end = l.interval_end
    AND COALESCE(p.processor_type, '') = COALESCE(l.processor_type, '')
  LEFT JOIN _own_suspension AS s
    ON s.system = l.system
    AND s.interval_end = l.interval_end
    AND s.partition_name = l.partition_name
    AND s.partition_number = l.partition_number
    AND COALESCE(s.processor_type, '') = COALESCE(l.processor_type, '')
  LEFT JOIN doubted AS d
    ON d.system = l.system
    AND d.interval_end = l.interval_end
    AND d.partition_name = l.partition_name
    AND d.partition_number = l.partition_number
),
line AS (
  SELECT system,
         interval_end,
         partition_name,
         partition_number,
         processor_type,
         logical_processors,
         seconds,
         active_us,
         doubts
  FROM _partition_interval
  UNION ALL
  -- It has no processors.
  SELECT s.system,
         s.interval_end,
         s.lcupname AS partition_name,
         CAST(s.lcuppnum AS BIGINT) AS partition_number,
         CAST(NULL AS VARCHAR) AS processor_type,
         0 AS logical_processors,
         MAX(s.seconds) AS seconds,
         CAST(NULL AS BIGINT) AS active_us,
         all_doubts(s.doubts) AS doubts
  FROM interval.sytcup AS s
  LEFT JOIN _partition_interval AS p
    ON p.system = s.system
    AND p.interval_end = s.interval_end
    AND p.partition_name = s.lcupname
    AND p.partition_number = s.lcuppnum
  WHERE s.interval_end IS NOT NULL
    AND p.partition_name IS NULL
  GROUP BY s.system, s.interval_end, s.lcupname, s.lcuppnum
  UNION ALL
  SELECT system,
         interval_end,
         '*PHYSICAL*' AS partition_name,
         CAST(NULL AS BIGINT) AS partition_number,
         CAST(NULL AS VARCHAR) AS processor_type,
         CAST(NULL AS BIGINT) AS logical_processors,
         seconds,
         active_us,
         doubts
  FROM management
),
every AS (
  SELECT l.system,
         l.interval_end,
         l.partition_name,
         l.partition_number,
         l.processor_type,
         m.own_name,
         l.logical_processors,
         d.weight,
         d.weights,
         d.weight_share,
         d.shared_processors,
         d.weight_share * d.shared_processors AS entitlement,
         d.is_steady,
         d.is_dedicated,
         d.is_capped,
         l.seconds,
         l.active_us,
         d.dispatched_us,
         d.overhead_us,
         d.logical_seconds,
         d.suspended_tod,
         d.own_seconds,
         CASE WHEN l.partition_name = '*PHYSICAL*' THEN m.processors
              ELSE d.processors END AS processors,
         nullif(
           concat_ws(
             ', ', l.doubts, d.doubts, u.doubts,
             CASE WHEN l.partition_name = m.own_name THEN w.doubts END
           ), ''
         ) AS doubts
  FROM line AS l
  LEFT JOIN detail AS d
    ON d.system = l.system
    AND d.interval_end = l.interval_end
    AND d.partition_name = l.partition_name
    AND d.partition_number = l.partition_number
    AND COALESCE(d.processor_type, '') = COALESCE(l.processor_type, '')
  LEFT JOIN machine AS m
    ON m.system = l.system
    AND m.interval_end = l.interval_end
  LEFT JOIN unsure AS u
    ON u.system = l.system
    AND u.interval_end = l.interval_end
  LEFT JOIN _processor_witness AS w
    ON w.system = l.system
    AND w.interval_end = l.interval_end
)
SELECT e.system,
       e.interval_end,
       -- Name of the partition, or *PHYSICAL*.
       e.partition_name,
       -- Its number. NULL for *PHYSICAL*.
       e.partition_number,
       -- Type of the processors that the row is of: CP, IFL, zIIP, zAAP, ICF,
       -- or as the record names it; none of a partition without a processor.
       -- NULL for *PHYSICAL*, and where records do not tell it.
       e.processor_type,
       -- Whether it is that of this system. NULL while SYTCUG does not tell its
       -- name.
       e.partition_name = e.own_name AS is_own,
       -- Logical processors of the type; 0 of a partition without any. NULL for
       -- *PHYSICAL*, and where entries of the record are missing.
       e.logical_processors,
       -- Processing weight for the type; 0 where processors are dedicated, none
       -- where several are found. NULL for *PHYSICAL*, and where records do not
       -- tell it.
       e.weight,
       -- Sum of the weights for the type of all partitions that share its
       -- processors; none unless the interval has records of all partitions,
       -- with weights and types. NULL for *PHYSICAL*, where processors are
       -- dedicated, and where records do not tell it.
       e.weights,
       -- The weight as a share of the weights of all partitions that share
       -- processors of the type, 0..1. NULL for *PHYSICAL*, where processors
       -- are dedicated, and where records do not tell it.
       e.weight_share,
       -- Physical processors of the type that are not dedicated to a partition:
       -- those that SYTCUM lists, if it lists all with their types. NULL for
       -- *PHYSICAL*, where nobody shares any, and where records do not tell it.
       e.shared_processors,
       -- Processors of the type that the partition may use whenever it wants:
       -- its share of the weights times those that are shared, at the end of
       -- the interval. NULL for *PHYSICAL*, where processors are dedicated, and
       -- where records do not tell it.
       e.entitlement,
       -- Whether its processors are dedicated: weight 65535, or bit X'80' of
       -- LCUCFLGS, which is inferred. NULL for *PHYSICAL*, and where records do
       -- not tell it.
       e.is_dedicated,
       -- Whether it is capped: bit X'20' of LCUCFLGS, which is inferred. Where
       -- all processors that ran have it, it tells nothing and X'40' says that
       -- one is capped. NULL for *PHYSICAL*, and where records do not tell it.
       e.is_capped,
       -- Elapsed seconds T. NULL at a first sample.
       e.seconds,
       -- Dispatched time, of *PHYSICAL* time of management, microseconds. NULL
       -- at a first sample, and in an interval in which a processor came or
       -- left: of that one it is not known.
       e.active_us,
       -- Dispatched time of the logical processors that it is known of. NULL
       -- for *PHYSICAL*, and at a first sample.
       e.dispatched_us,
       -- The part of that which the machine needed for dispatching. NULL
       -- likewise.
       e.overhead_us,
       -- Elapsed seconds, sum over these logical processors. NULL likewise.
       e.logical_seconds,
       -- Time neither running nor waiting, TOD units. NULL for all partitions
       -- but that of this system, and where SYTPRP does not tell which of
       -- several types its processors are.
       e.suspended_tod,
       -- Elapsed seconds, sum over these processors. NULL likewise.
       e.own_seconds,
       -- Elapsed seconds, sum over the physical processors of the type, of
       -- *PHYSICAL* over all. NULL where records do not tell their number.
       e.seconds * e.processors AS physical_seconds,
       -- Dispatched time where that is known. NULL likewise, and where
       -- active_us is.
       CASE WHEN e.seconds * e.processors > 0
            THEN e.active_us END AS physical_us,
       -- Dispatched time where the entitlement held for the whole interval.
       -- NULL for *PHYSICAL*, where one of them is not known, and where the
       -- weights or the shared processors changed.
       CASE WHEN e.is_steady AND e.entitlement > 0
            THEN e.active_us END AS entitled_us,
       -- Elapsed seconds times the entitlement. NULL likewise.
       CASE WHEN e.is_steady AND e.active_us IS NOT NULL
            THEN e.seconds * e.entitlement END AS entitled_seconds,
       e.doubts
FROM every AS e;
