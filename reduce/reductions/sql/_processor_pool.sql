-- The physical processors of each type and who shares them, one row per system,
-- interval and type that a partition has (D0R15 to D0R17). NULL is what the
-- records of the interval do not have in full.
CREATE OR REPLACE VIEW _processor_pool AS
WITH physical AS (
  SELECT m.system,
         m.interval_end,
         COALESCE(t.processor_type, nullif(TRIM(m.lcuptype), ''))
           AS processor_type,
         COUNT(DISTINCT m.lcumcpu) AS processors
  FROM interval.sytcum_cpu AS m
  LEFT JOIN _processor_types AS t
    ON t.recorded = UPPER(TRIM(m.lcuptype))
  WHERE m.interval_end IS NOT NULL
  GROUP BY m.system, m.interval_end,
           COALESCE(t.processor_type, nullif(TRIM(m.lcuptype), ''))
),
listed AS (
  SELECT system,
         interval_end,
         SUM(processors) AS processors,
         COUNT(*) - COUNT(processor_type) AS unnamed
  FROM physical
  GROUP BY system, interval_end
),
counted AS (
  -- One may be all that the machine tells to this partition, whose data may be
  -- the only ones it is given: that says nothing of others.
  SELECT system,
         interval_end,
         CASE WHEN MAX(CAST(lcutnpar AS BIGINT)) > 1
              THEN MAX(CAST(lcutnpar AS BIGINT)) END AS partitions,
         MAX(CAST(lcutpcct AS BIGINT)) AS processors
  FROM monitor.sytcug
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
machine AS (
  SELECT system,
         interval_end,
         partitions,
         processors,
         LAG(partitions) OVER (
           PARTITION BY system ORDER BY interval_end
         ) AS previous_partitions
  FROM counted
),
part AS (
  SELECT system,
         interval_end,
         processor_type,
         logical_processors,
         dedicated_processors,
         weight
  FROM _partition_interval
),
told AS (
  SELECT system,
         interval_end,
         COUNT(DISTINCT lcupname || ' ' || lcuppnum) AS partitions
  FROM monitor.sytcup
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
typed AS (
  SELECT system,
         interval_end,
         COUNT(processor_type) AS named,
         COUNT(*) - COUNT(processor_type) AS unnamed,
         COUNT(*) - COUNT(logical_processors) AS cut
  FROM part
  GROUP BY system, interval_end
),
shared AS (
  SELECT system,
         interval_end,
         processor_type,
         COUNT(*) AS lines,
         COUNT(weight) AS weighed,
         TRY_CAST(SUM(weight) AS BIGINT) AS weights,
         TRY_CAST(SUM(dedicated_processors) AS BIGINT)
           AS dedicated_processors
  FROM part
  GROUP BY system, interval_end, processor_type
),
compared AS (
  SELECT system,
         interval_end,
         processor_type,
         lines,
         LAG(lines) OVER w AS previous_lines,
         weighed,
         weights,
         dedicated_processors
  FROM shared
  WINDOW w AS (PARTITION BY system, processor_type ORDER BY interval_end)
),
known AS (
  -- A line that is gone may be a record that is missing, unless the machine
  -- has fewer partitions.
  SELECT s.system,
         s.interval_end,
         s.processor_type,
         CASE WHEN t.partitions >= m.partitions
              AND y.unnamed = 0
              AND y.cut = 0
              AND s.weighed = s.lines
              AND (s.lines >= COALESCE(s.previous_lines, 0)
                   OR m.partitions < m.previous_partitions)
              THEN nullif(s.weights, 0) END AS weights,
         CASE WHEN s.processor_type IS NULL
              THEN CASE WHEN y.named = 0 THEN m.processors END
              WHEN l.unnamed = 0 AND l.processors >= m.processors
              THEN p.processors END AS processors,
         t.partitions >= m.partitions AND y.cut = 0 AS is_whole,
         s.dedicated_processors
  FROM compared AS s
  JOIN typed AS y
    ON y.system = s.system
    AND y.interval_end = s.interval_end
  LEFT JOIN told AS t
    ON t.system = s.system
    AND t.interval_end = s.interval_end
  LEFT JOIN machine AS m
    ON m.system = s.system
    AND m.interval_end = s.interval_end
  LEFT JOIN listed AS l
    ON l.system = s.system
    AND l.interval_end = s.interval_end
  LEFT JOIN physical AS p
    ON p.system = s.system
    AND p.interval_end = s.interval_end
    AND p.processor_type = s.processor_type
),
-- A partition that began anew took part in the weights for a part of the time.
begun AS (
  SELECT DISTINCT system, interval_end
  FROM interval.sytcup_cpu
  WHERE interval_end IS NOT NULL
    AND cause = 'restart'
),
pool AS (
  SELECT k.system,
         k.interval_end,
         k.processor_type,
         k.weights,
         k.processors,
         k.is_whole,
         CASE WHEN k.weights > 0 AND k.processors > k.dedicated_processors
              THEN k.processors - k.dedicated_processors
         END AS shared_processors,
         b.system IS NULL AS has_lasted
  FROM known AS k
  LEFT JOIN begun AS b
    ON b.system = k.system AND b.interval_end = k.interval_end
)
SELECT system,
       interval_end,
       -- Type of the processors. NULL in records that do not name it.
       processor_type,
       -- Sum of the weights of all partitions that share processors of the
       -- type. NULL where SYTCUG counts more partitions than have a record, or
       -- only one, entries of one are missing, a weight or a type is not known,
       -- one of as many partitions has no processors of the type any more, or
       -- nobody shares them.
       weights,
       -- Physical processors of the type: those that SYTCUM lists, or all where
       -- no record names a type. NULL where SYTCUM has fewer processors than
       -- SYTCUG counts, or a type is not named.
       processors,
       -- Those of them that are not dedicated to a partition. NULL where
       -- weights or processors are.
       shared_processors,
       -- Whether the interval has records of as many partitions as SYTCUG
       -- counts, with all of their entries. NULL where SYTCUG counts one.
       is_whole,
       -- Whether weights and shared processors are those of the previous
       -- sample, and no partition began anew. NULL where one of them is not
       -- known.
       has_lasted AND weights = LAG(weights) OVER w
         AND shared_processors = LAG(shared_processors) OVER w AS is_steady
FROM pool
WINDOW w AS (PARTITION BY system, processor_type ORDER BY interval_end);
