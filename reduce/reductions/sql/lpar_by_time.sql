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
cpu AS (
  SELECT c.system,
         c.interval_end,
         t.processor_type,
         CASE WHEN c.busy_tod IS NOT NULL AND c.wait_tod IS NOT NULL
              THEN c.seconds END AS seconds,
         c.seconds * 4096e6 - c.busy_tod - c.wait_tod AS suspended_tod,
         c.doubts
  FROM _processor_interval AS c
  LEFT JOIN _processor_types AS t
    ON t.code = c.cpu_type
),
own AS (
  SELECT system,
         interval_end,
         COUNT(*) AS cpus,
         COUNT(processor_type) AS typed,
         CASE WHEN COUNT(seconds) = COUNT(*) THEN SUM(seconds) END AS seconds,
         CASE WHEN COUNT(seconds) = COUNT(*)
              THEN SUM(suspended_tod) END AS suspended_tod,
         all_doubts(doubts) AS doubts
  FROM cpu
  GROUP BY system, interval_end
),
own_type AS (
  SELECT system,
         interval_end,
         processor_type,
         COUNT(*) AS cpus,
         CASE WHEN COUNT(seconds) = COUNT(*) THEN SUM(seconds) END AS seconds,
         CASE WHEN COUNT(seconds) = COUNT(*)
              THEN SUM(suspended_tod) END AS suspended_tod
  FROM cpu
  GROUP BY system, interval_end, processor_type
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
  SELECT system,
         interval_end,
         partition_name,
         partition_number,
         processor_type,
         logical_processors,
         weight,
         is_dedicated,
         is_capped,
         seconds,
         active_us,
         dispatched_us,
         overhead_us,
         logical_seconds,
         doubts
  FROM _partition_interval
),
idle AS (
  SELECT s.system,
         s.interval_end,
         s.lcupname AS partition_name,
         CAST(s.lcuppnum AS BIGINT) AS partition_number,
         MAX(s.seconds) AS seconds,
         all_doubts(s.doubts) AS doubts
  FROM interval.sytcup AS s
  LEFT JOIN part AS p
    ON p.system = s.system
    AND p.interval_end = s.interval_end
    AND p.partition_name = s.lcupname
    AND p.partition_number = s.lcuppnum
  WHERE s.interval_end IS NOT NULL
    AND p.partition_name IS NULL
  GROUP BY s.system, s.interval_end, s.lcupname, s.lcuppnum
),
line AS (
  SELECT system,
         interval_end,
         partition_name,
         partition_number,
         processor_type,
         logical_processors,
         weight,
         LAG(weight) OVER (
           PARTITION BY system, partition_name, partition_number,
                        processor_type
           ORDER BY interval_end
         ) AS previous_weight,
         is_dedicated,
         is_capped,
         seconds,
         active_us,
         dispatched_us,
         overhead_us,
         logical_seconds,
         doubts,
         COUNT(*) OVER w AS types,
         SUM(logical_processors) OVER w AS all_processors
  FROM part
  WINDOW w AS (
    PARTITION BY system, interval_end, partition_name, partition_number
  )
),
suspended AS (
  -- SYTPRP is of threads, of which a core has two where there are more of them
  -- than cores; types that disagree with those of SYTCUP tell nothing.
  SELECT l.system,
         l.interval_end,
         l.partition_name,
         l.partition_number,
         l.processor_type,
         CASE WHEN l.types = 1 THEN o.seconds
              WHEN o.typed = o.cpus
              AND t.cpus <= l.logical_processors
                * CASE WHEN o.cpus > l.all_processors THEN 2 ELSE 1 END
              THEN t.seconds END AS seconds,
         CASE WHEN l.types = 1 THEN o.suspended_tod
              WHEN o.typed = o.cpus
              AND t.cpus <= l.logical_processors
                * CASE WHEN o.cpus > l.all_processors THEN 2 ELSE 1 END
              THEN t.suspended_tod END AS suspended_tod,
         o.doubts
  FROM line AS l
  JOIN machine AS m
    ON m.system = l.system
    AND m.interval_end = l.interval_end
    AND m.own_name = l.partition_name
  JOIN own AS o
    ON o.system = l.system
    AND o.interval_end = l.interval_end
  LEFT JOIN own_type AS t
    ON t.system = l.system
    AND t.interval_end = l.interval_end
    AND t.processor_type = l.processor_type
),
entitled AS (
  SELECT l.system,
         l.interval_end,
         l.partition_name,
         l.partition_number,
         l.processor_type,
         p.processors,
         p.shared_processors,
         CASE WHEN l.weight > 0 THEN p.weights END AS weights,
         CASE WHEN l.weight > 0
              THEN CAST(l.weight AS DOUBLE) / nullif(p.weights, 0)
         END AS weight_share,
         p.is_steady AND l.weight = l.previous_weight AS is_steady
  FROM line AS l
  JOIN _processor_pool AS p
    ON p.system = l.system
    AND p.interval_end = l.interval_end
    AND COALESCE(p.processor_type, '') = COALESCE(l.processor_type, '')
),
every AS (
  SELECT l.system,
         l.interval_end,
         l.partition_name,
         l.partition_number,
         l.processor_type,
         l.logical_processors,
         l.weight,
         e.weights,
         e.weight_share,
         e.shared_processors,
         e.weight_share * e.shared_processors AS entitlement,
         e.is_steady,
         l.is_dedicated,
         l.is_capped,
         l.seconds,
         l.active_us,
         l.dispatched_us,
         l.overhead_us,
         l.logical_seconds,
         s.suspended_tod,
         s.seconds AS own_seconds,
         e.processors,
         nullif(concat_ws(', ', l.doubts, d.doubts, s.doubts), '') AS doubts
  FROM line AS l
  LEFT JOIN doubted AS d
    ON d.system = l.system
    AND d.interval_end = l.interval_end
    AND d.partition_name = l.partition_name
    AND d.partition_number = l.partition_number
  LEFT JOIN entitled AS e
    ON e.system = l.system
    AND e.interval_end = l.interval_end
    AND e.partition_name = l.partition_name
    AND e.partition_number = l.partition_number
    AND COALESCE(e.processor_type, '') = COALESCE(l.processor_type, '')
  LEFT JOIN suspended AS s
    ON s.system = l.system
    AND s.interval_end = l.interval_end
    AND s.partition_name = l.partition_name
    AND s.partition_number = l.partition_number
    AND COALESCE(s.processor_type, '') = COALESCE(l.processor_type, '')
  UNION ALL
  SELECT i.system,
         i.interval_end,
         i.partition_name,
         i.partition_number,
         CAST(NULL AS VARCHAR) AS processor_type,
         0 AS logical_processors,
         CAST(NULL AS BIGINT) AS weight,
         CAST(NULL AS BIGINT) AS weights,
         CAST(NULL AS DOUBLE) AS weight_share,
         CAST(NULL AS BIGINT) AS shared_processors,
         CAST(NULL AS DOUBLE) AS entitlement,
         CAST(NULL AS BOOLEAN) AS is_steady,
         CAST(NULL AS BOOLEAN) AS is_dedicated,
         CAST(NULL AS BOOLEAN) AS is_capped,
         i.seconds,
         CAST(NULL AS BIGINT) AS active_us,
         CAST(NULL AS BIGINT) AS dispatched_us,
         CAST(NULL AS BIGINT) AS overhead_us,
         CAST(NULL AS DOUBLE) AS logical_seconds,
         CAST(NULL AS DOUBLE) AS suspended_tod,
         CAST(NULL AS DOUBLE) AS own_seconds,
         CAST(NULL AS BIGINT) AS processors,
         i.doubts
  FROM idle AS i
  UNION ALL
  SELECT g.system,
         g.interval_end,
         '*PHYSICAL*' AS partition_name,
         CAST(NULL AS BIGINT) AS partition_number,
         CAST(NULL AS VARCHAR) AS processor_type,
         CAST(NULL AS BIGINT) AS logical_processors,
         CAST(NULL AS BIGINT) AS weight,
         CAST(NULL AS BIGINT) AS weights,
         CAST(NULL AS DOUBLE) AS weight_share,
         CAST(NULL AS BIGINT) AS shared_processors,
         CAST(NULL AS DOUBLE) AS entitlement,
         CAST(NULL AS BOOLEAN) AS is_steady,
         CAST(NULL AS BOOLEAN) AS is_dedicated,
         CAST(NULL AS BOOLEAN) AS is_capped,
         g.seconds,
         g.active_us,
         CAST(NULL AS BIGINT) AS dispatched_us,
         CAST(NULL AS BIGINT) AS overhead_us,
         CAST(NULL AS DOUBLE) AS logical_seconds,
         CAST(NULL AS DOUBLE) AS suspended_tod,
         CAST(NULL AS DOUBLE) AS own_seconds,
         m.processors,
         g.doubts
  FROM management AS g
  LEFT JOIN machine AS m
    ON m.system = g.system
    AND m.interval_end = g.interval_end
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
       e.partition_name = m.own_name AS is_own,
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
       nullif(concat_ws(', ', e.doubts, u.doubts), '') AS doubts
FROM every AS e
LEFT JOIN machine AS m
  ON m.system = e.system
  AND m.interval_end = e.interval_end
LEFT JOIN unsure AS u
  ON u.system = e.system
  AND u.interval_end = e.interval_end;
