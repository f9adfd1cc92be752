-- Time in which the processors of this system neither ran nor waited (SYTPRP),
-- as its partition was not dispatched or CP had parked one: one row per system,
-- interval and type of processors of its own partition (D0R16). SYTPRP is of
-- threads, of which a core has two where there are more of them than cores.
CREATE OR REPLACE VIEW _own_suspension AS
WITH thread AS (
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
every AS (
  SELECT system,
         interval_end,
         COUNT(*) AS threads,
         COUNT(processor_type) AS typed,
         CASE WHEN COUNT(seconds) = COUNT(*) THEN SUM(seconds) END AS seconds,
         CASE WHEN COUNT(seconds) = COUNT(*)
              THEN SUM(suspended_tod) END AS suspended_tod,
         all_doubts(doubts) AS doubts
  FROM thread
  GROUP BY system, interval_end
),
of_type AS (
  SELECT system,
         interval_end,
         processor_type,
         COUNT(*) AS threads,
         CASE WHEN COUNT(seconds) = COUNT(*) THEN SUM(seconds) END AS seconds,
         CASE WHEN COUNT(seconds) = COUNT(*)
              THEN SUM(suspended_tod) END AS suspended_tod
  FROM thread
  GROUP BY system, interval_end, processor_type
),
own AS (
  SELECT p.system,
         p.interval_end,
         p.partition_name,
         p.partition_number,
         p.processor_type,
         p.logical_processors,
         COUNT(*) OVER w AS types,
         SUM(p.logical_processors) OVER w AS all_processors
  FROM _partition_interval AS p
  JOIN (
    SELECT system,
           interval_end,
           MAX(nullif(lparname, '')) AS own_name
    FROM monitor.sytcug
    WHERE interval_end IS NOT NULL
    GROUP BY system, interval_end
  ) AS m
    ON m.system = p.system
    AND m.interval_end = p.interval_end
    AND m.own_name = p.partition_name
  WINDOW w AS (
    PARTITION BY p.system, p.interval_end, p.partition_name, p.partition_number
  )
),
matched AS (
  SELECT o.system,
         o.interval_end,
         o.partition_name,
         o.partition_number,
         o.processor_type,
         o.types,
         e.typed = e.threads
           AND t.threads <= o.logical_processors
             * CASE WHEN e.threads > o.all_processors THEN 2 ELSE 1 END
           AS has_type,
         e.seconds,
         e.suspended_tod,
         t.seconds AS seconds_of_type,
         t.suspended_tod AS suspended_of_type,
         e.doubts
  FROM own AS o
  JOIN every AS e
    ON e.system = o.system
    AND e.interval_end = o.interval_end
  LEFT JOIN of_type AS t
    ON t.system = o.system
    AND t.interval_end = o.interval_end
    AND t.processor_type = o.processor_type
)
SELECT system,
       interval_end,
       -- Name of the partition, as SYTCUG names it.
       partition_name,
       -- Its number.
       partition_number,
       -- Type of its processors. NULL in records that do not name it.
       processor_type,
       -- Elapsed seconds, sum over these processors. NULL where SYTPRP does not
       -- tell which of several types its processors are, or the types of SYTPRP
       -- disagree with those of the partition.
       CASE WHEN types = 1 THEN seconds
            WHEN has_type THEN seconds_of_type END AS seconds,
       -- Time neither running nor waiting, TOD units. NULL likewise.
       CASE WHEN types = 1 THEN suspended_tod
            WHEN has_type THEN suspended_of_type END AS suspended_tod,
       doubts
FROM matched;
