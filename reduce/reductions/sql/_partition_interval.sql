-- What the processors of one type did for a partition, one row per system that
-- saw it, interval, partition and type (D0R16). A partition is its name with
-- its number: who gets another name or number is another one, and so is a
-- processor that gets another type, so that no delta spans the change. T is
-- the difference of the record's own clock (LCUTCTOD). Where a record states
-- more processors (LCUPCPCT) than it has entries, those that it has are not the
-- partition.
CREATE OR REPLACE VIEW _partition_interval AS
WITH recorded AS (
  -- A partition of many processors is continued in further records (7.3).
  SELECT system,
         dump,
         interval_end,
         lcupname,
         lcuppnum,
         MAX(seconds) AS seconds,
         SUM(CAST(lcupcpct AS BIGINT)) AS stated,
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
         stated,
         CASE WHEN seconds IS NOT NULL
              THEN clock_seconds - LAG(clock_seconds) OVER (
                PARTITION BY system, lcupname, lcuppnum
                ORDER BY interval_end, dump
              )
         END AS seconds
  FROM recorded
),
entry AS (
  SELECT l.system,
         l.dump,
         l.interval_end,
         l.lcupname,
         l.lcuppnum,
         l.lcucpuid,
         COALESCE(t.processor_type, nullif(TRIM(l.lcxcptyp), ''))
           AS processor_type,
         CAST(l.lcucwght AS BIGINT) AS weight,
         CAST(l.lcucflgs AS BIGINT) AS flags,
         CASE WHEN l.cause IN ('missing', 'ended') THEN 0 ELSE 1 END
           AS sampled,
         l.lcucactm AS active_us,
         l.lcucactm - l.lcuclptm AS overhead_us
  FROM interval.sytcup_cpu AS l
  LEFT JOIN _processor_types AS t
    ON t.recorded = UPPER(TRIM(l.lcxcptyp))
  WHERE l.interval_end IS NOT NULL
),
cut AS (
  SELECT c.system,
         c.interval_end,
         c.lcupname,
         c.lcuppnum,
         MAX(c.seconds) AS seconds
  FROM clock AS c
  LEFT JOIN entry AS e
    ON e.system = c.system
    AND e.dump = c.dump
    AND e.interval_end = c.interval_end
    AND e.lcupname = c.lcupname
    AND e.lcuppnum = c.lcuppnum
  GROUP BY c.system, c.dump, c.interval_end, c.lcupname, c.lcuppnum
  HAVING MAX(c.stated) > COALESCE(SUM(e.sampled), 0)
),
processor AS (
  SELECT e.system,
         e.interval_end,
         e.lcupname,
         e.lcuppnum,
         e.lcucpuid,
         e.processor_type,
         MAX(e.weight) AS weight,
         MAX(CASE WHEN e.weight = 65535 OR (e.flags & 128) > 0 THEN 1 ELSE 0
             END) AS dedicated,
         MAX(e.flags & 32) AS flag_20,
         MAX(e.flags & 64) AS flag_40,
         MAX(CASE WHEN e.active_us IS NOT NULL THEN c.seconds END) AS seconds,
         SUM(e.active_us) AS active_us,
         SUM(e.overhead_us) AS overhead_us
  FROM entry AS e
  JOIN clock AS c
    ON c.system = e.system
    AND c.dump = e.dump
    AND c.interval_end = e.interval_end
    AND c.lcupname = e.lcupname
    AND c.lcuppnum = e.lcuppnum
  GROUP BY e.system, e.interval_end, e.lcupname, e.lcuppnum, e.lcucpuid,
           e.processor_type
),
flagged AS (
  -- Whether X'20' is set of all that ran: then it says that they are online.
  SELECT system,
         interval_end,
         COALESCE(
           MIN(CASE WHEN active_us > 0 THEN flag_20 END), MIN(flag_20)
         ) > 0 AS is_on_all
  FROM processor
  GROUP BY system, interval_end
),
online AS (
  -- One that is listed and not online is no processor of the partition.
  SELECT p.system,
         p.interval_end,
         p.lcupname,
         p.lcuppnum,
         p.processor_type,
         NOT f.is_on_all OR p.flag_20 > 0 OR p.active_us > 0 AS is_online,
         p.weight,
         p.dedicated,
         p.flag_20,
         p.flag_40,
         p.seconds,
         p.active_us,
         p.overhead_us
  FROM processor AS p
  JOIN flagged AS f
    ON f.system = p.system
    AND f.interval_end = p.interval_end
),
line AS (
  SELECT system,
         interval_end,
         lcupname,
         lcuppnum,
         processor_type,
         COUNT(*) AS listed_processors,
         COUNT(CASE WHEN is_online THEN 1 END) AS logical_processors,
         SUM(CASE WHEN is_online THEN dedicated END) AS dedicated_processors,
         MIN(CASE WHEN is_online AND dedicated = 0
             THEN nullif(weight, 0) END) AS least_weight,
         MAX(CASE WHEN is_online AND dedicated = 0
             THEN nullif(weight, 0) END) AS greatest_weight,
         MAX(CASE WHEN is_online THEN flag_20 END) AS flag_20,
         MAX(CASE WHEN is_online THEN flag_40 END) AS flag_40,
         AVG(CASE WHEN is_online THEN seconds END) AS seconds,
         COUNT(active_us) AS measured_processors,
         SUM(active_us) AS active_us,
         SUM(overhead_us) AS overhead_us,
         SUM(CASE WHEN is_online THEN seconds END) AS logical_seconds
  FROM online
  GROUP BY system, interval_end, lcupname, lcuppnum, processor_type
  HAVING COUNT(CASE WHEN is_online THEN 1 END) > 0
),
every AS (
  SELECT system,
         interval_end,
         lcupname,
         lcuppnum,
         processor_type,
         listed_processors,
         logical_processors,
         dedicated_processors,
         least_weight,
         greatest_weight,
         flag_20,
         flag_40,
         seconds,
         measured_processors,
         active_us,
         overhead_us,
         logical_seconds
  FROM line
  UNION ALL
  -- None of its entries is there.
  SELECT k.system,
         k.interval_end,
         k.lcupname,
         k.lcuppnum,
         CAST(NULL AS VARCHAR) AS processor_type,
         0 AS listed_processors,
         0 AS logical_processors,
         CAST(NULL AS BIGINT) AS dedicated_processors,
         CAST(NULL AS BIGINT) AS least_weight,
         CAST(NULL AS BIGINT) AS greatest_weight,
         CAST(NULL AS BIGINT) AS flag_20,
         CAST(NULL AS BIGINT) AS flag_40,
         k.seconds,
         0 AS measured_processors,
         CAST(NULL AS BIGINT) AS active_us,
         CAST(NULL AS BIGINT) AS overhead_us,
         CAST(NULL AS DOUBLE) AS logical_seconds
  FROM cut AS k
  LEFT JOIN line AS l
    ON l.system = k.system
    AND l.interval_end = k.interval_end
    AND l.lcupname = k.lcupname
    AND l.lcuppnum = k.lcuppnum
  WHERE l.system IS NULL
)
SELECT l.system,
       l.interval_end,
       -- Name of the partition.
       l.lcupname AS partition_name,
       -- Its number.
       CAST(l.lcuppnum AS BIGINT) AS partition_number,
       -- Type of the processors: CP, IFL, zIIP, zAAP, ICF, or as the record
       -- names it. NULL in records that do not.
       l.processor_type,
       -- Logical processors of the type that are online, 1 or more.
       -- NULL, like the times, where entries of the record are missing.
       CASE WHEN k.system IS NULL THEN l.logical_processors
       END AS logical_processors,
       -- Those of them that are dedicated: of weight 65535, or with bit X'80'
       -- of LCUCFLGS, which is inferred.
       CAST(l.dedicated_processors AS BIGINT) AS dedicated_processors,
       -- Processing weight of the partition for the type; 0 where processors
       -- are dedicated. NULL where they have none, or several.
       CASE WHEN l.dedicated_processors = l.logical_processors THEN 0
            WHEN l.least_weight = l.greatest_weight THEN l.least_weight
       END AS weight,
       -- Whether all of them are dedicated.
       l.dedicated_processors = l.logical_processors AS is_dedicated,
       -- Whether the weight is a limit: bit X'20' of LCUCFLGS, which is
       -- inferred. Where all processors of the machine that ran have it, it is
       -- taken to say that they are online, as in DIAGNOSE X'204': then X'40'
       -- says that they are capped, and without it this is NULL.
       CASE WHEN NOT f.is_on_all THEN l.flag_20 > 0
            WHEN l.flag_40 > 0 THEN TRUE
       END AS is_capped,
       -- Elapsed seconds T. NULL at a first sample.
       l.seconds,
       -- Dispatched time, microseconds. NULL at a first sample, and in an
       -- interval in which a processor came or left.
       CASE WHEN k.system IS NULL
            AND l.measured_processors = l.listed_processors
            AND l.listed_processors >= COALESCE(
              LAG(l.listed_processors) OVER (
                PARTITION BY l.system, l.lcupname, l.lcuppnum,
                             l.processor_type
                ORDER BY l.interval_end
              ), 0
            ) THEN TRY_CAST(l.active_us AS BIGINT)
       END AS active_us,
       -- Dispatched time of those processors that it is known of. NULL at a
       -- first sample.
       CASE WHEN k.system IS NULL THEN TRY_CAST(l.active_us AS BIGINT)
       END AS dispatched_us,
       -- The part of that which the machine needed for dispatching. NULL
       -- likewise.
       CASE WHEN k.system IS NULL THEN TRY_CAST(l.overhead_us AS BIGINT)
       END AS overhead_us,
       -- Elapsed seconds, sum over these processors. NULL likewise.
       CASE WHEN k.system IS NULL THEN l.logical_seconds
       END AS logical_seconds,
       CASE WHEN k.system IS NOT NULL
            THEN 'processors of a partition are missing' END AS doubts
FROM every AS l
LEFT JOIN flagged AS f
  ON f.system = l.system
  AND f.interval_end = l.interval_end
LEFT JOIN cut AS k
  ON k.system = l.system
  AND k.interval_end = l.interval_end
  AND k.lcupname = l.lcupname
  AND k.lcuppnum = l.lcuppnum;
