-- Physical processors of each type and what all partitions did on them, one row
-- per system that saw it, interval and type that a partition has (D0R15 to
-- D0R17).
CREATE OR REPLACE VIEW physical_processors_by_time AS
WITH used AS (
  SELECT system,
         interval_end,
         processor_type,
         AVG(seconds) AS seconds,
         COUNT(DISTINCT partition_number || ' ' || partition_name)
           AS partitions,
         CASE WHEN COUNT(logical_processors) = COUNT(*)
              THEN TRY_CAST(SUM(logical_processors) AS BIGINT)
         END AS logical_processors,
         complete_sum(active_us) AS active_us,
         all_doubts(doubts) AS doubts
  FROM lpar_by_time
  WHERE partition_number IS NOT NULL
    AND COALESCE(logical_processors, 1) > 0
  GROUP BY system, interval_end, processor_type
),
managed AS (
  SELECT m.system,
         m.interval_end,
         COALESCE(t.processor_type, nullif(TRIM(m.lcuptype), ''))
           AS processor_type,
         AVG(m.seconds) AS seconds,
         complete_sum(m.lcumgtm) AS management_us
  FROM interval.sytcum_cpu AS m
  LEFT JOIN _processor_types AS t
    ON t.recorded = UPPER(TRIM(m.lcuptype))
  WHERE m.interval_end IS NOT NULL
  GROUP BY m.system, m.interval_end,
           COALESCE(t.processor_type, nullif(TRIM(m.lcuptype), ''))
),
pool AS (
  SELECT u.system,
         u.interval_end,
         u.processor_type,
         -- Where no time of a logical processor can be, that of others may.
         COALESCE(u.seconds, m.seconds) AS seconds,
         p.processors,
         p.shared_processors,
         CASE WHEN p.is_whole THEN u.partitions END AS partitions,
         CASE WHEN p.is_whole
              THEN u.logical_processors END AS logical_processors,
         CASE WHEN p.is_whole THEN u.active_us END AS active_us,
         CASE WHEN p.processors IS NOT NULL
              THEN m.management_us END AS management_us,
         u.doubts
  FROM used AS u
  LEFT JOIN _processor_pool AS p
    ON p.system = u.system
    AND p.interval_end = u.interval_end
    AND COALESCE(p.processor_type, '') = COALESCE(u.processor_type, '')
  LEFT JOIN managed AS m
    ON m.system = u.system
    AND m.interval_end = u.interval_end
    AND COALESCE(m.processor_type, '') = COALESCE(u.processor_type, '')
)
SELECT system,
       interval_end,
       -- Type of the processors: CP, IFL, zIIP, zAAP, ICF, or as the record
       -- names it. NULL where records do not tell it.
       processor_type,
       -- Elapsed seconds T, mean over the partitions, or over the processors of
       -- the machine. NULL at a first sample.
       seconds,
       -- Physical processors of the type: those that SYTCUM lists, if it lists
       -- all with their types. NULL where records do not tell it.
       processors,
       -- Those of them that are not dedicated to a partition. NULL where nobody
       -- shares any, and where records do not tell it.
       shared_processors,
       -- Partitions with processors of the type. NULL unless the interval has
       -- records of all partitions, with all of their entries.
       partitions,
       -- Their logical processors of the type. NULL likewise.
       logical_processors,
       -- Time for which these were dispatched, microseconds. NULL likewise, at
       -- a first sample, and in an interval in which one came or left.
       active_us,
       -- Time that the machine spent on managing partitions and that belongs to
       -- none, microseconds. NULL where records do not tell the processors, and
       -- at a first sample.
       management_us,
       -- Elapsed seconds, sum over the physical processors. NULL where records
       -- do not tell their number.
       seconds * processors AS physical_seconds,
       doubts
FROM pool;
