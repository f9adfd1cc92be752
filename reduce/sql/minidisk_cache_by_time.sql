-- The minidisk cache, by interval. Sizes are in 4 KB pages and as at the end of
-- the interval, rates per second. The columns from reads on are the sums behind
-- the rates: over a longer span, divide the sum of one by the sum of the other.
CREATE OR REPLACE VIEW minidisk_cache_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Elapsed seconds T. NULL at a first sample and behind a gap.
  seconds,
  -- Pages of real storage that the cache has (TCMMAIN). NULL without SYTRSG
  -- records.
  real_pages,
  -- Pages of expanded storage that the cache would ideally have (TCMXIDSZ); no
  -- field is known for those it has. NULL without SYTXSG records.
  xstor_ideal_pages,
  -- Reads per second that were looked up in the cache (TCMRDCT). NULL without
  -- SYTXSG deltas of level 5.1.0 or later.
  read_rate,
  -- I/Os per second that the cache saved (HCPMDCIA, meaning inferred). NULL
  -- without SYTXSG deltas.
  avoided_rate,
  -- Share of the reads that saved an I/O, 0..1. NULL without reads in SYTXSG
  -- records of level 5.1.0 or later.
  hit_share,
  -- Pages per second brought into real storage: those deleted and those by
  -- which the cache grew (inferred). NULL without SYTRSG deltas.
  insert_rate,
  -- Pages per second deleted from real storage (TCMMNDL). NULL without SYTRSG
  -- deltas.
  delete_rate,
  -- Times per second that pages in real storage were stolen from the cache
  -- (TCMSTLMN). NULL without SYTRSG deltas.
  real_steal_rate,
  -- Times per second that blocks of expanded storage were stolen from the cache
  -- (TCMSTLXS). NULL without SYTXSG deltas.
  xstor_steal_rate,
  -- Reads that were looked up. NULL without SYTXSG deltas of level 5.1.0 or
  -- later.
  reads,
  -- I/Os saved. NULL without SYTXSG deltas.
  avoided,
  -- I/Os saved while reads were counted. NULL without SYTXSG deltas of level
  -- 5.1.0 or later.
  read_hits,
  -- Times that blocks of expanded storage were stolen. NULL without SYTXSG
  -- deltas.
  xstor_steals,
  -- Elapsed seconds of the expanded-storage record. NULL without SYTXSG deltas.
  xstor_seconds,
  -- Pages brought into real storage. NULL without SYTRSG deltas.
  inserts,
  -- Pages deleted from real storage. NULL without SYTRSG deltas.
  deletes,
  -- Times that pages in real storage were stolen. NULL without SYTRSG deltas.
  real_steals,
  -- Elapsed seconds of the real-storage record. NULL without SYTRSG deltas.
  storage_seconds
) AS
WITH sampled AS (
  SELECT system,
         interval_end,
         SUM(seconds) AS seconds,
         MAX(CAST(tcmmain AS BIGINT)) AS real_pages,
         CAST(SUM(tcmmndl) AS BIGINT) AS deletes,
         CAST(SUM(tcmstlmn) AS BIGINT) AS steals
  FROM interval.sytrsg
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
held AS (
  -- Where deletes is known, the row before is the sample before.
  SELECT system,
         interval_end,
         seconds,
         real_pages,
         deletes,
         steals,
         deletes + real_pages - LAG(real_pages) OVER (
           PARTITION BY system ORDER BY interval_end
         ) AS inserts
  FROM sampled
),
looked_up AS (
  SELECT system,
         interval_end,
         SUM(seconds) AS seconds,
         MAX(CAST(tcmxidsz AS BIGINT)) AS xstor_ideal_pages,
         CAST(SUM(tcmrdct) AS BIGINT) AS reads,
         CAST(SUM(hcpmdcia) AS BIGINT) AS avoided,
         CAST(SUM(tcmstlxs) AS BIGINT) AS steals
  FROM interval.sytxsg
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT i.system,
       i.interval_end,
       i.seconds,
       h.real_pages,
       x.xstor_ideal_pages,
       x.reads / nullif(x.seconds, 0) AS read_rate,
       x.avoided / nullif(x.seconds, 0) AS avoided_rate,
       CAST(x.avoided AS DOUBLE) / nullif(x.reads, 0) AS hit_share,
       h.inserts / nullif(h.seconds, 0) AS insert_rate,
       h.deletes / nullif(h.seconds, 0) AS delete_rate,
       h.steals / nullif(h.seconds, 0) AS real_steal_rate,
       x.steals / nullif(x.seconds, 0) AS xstor_steal_rate,
       x.reads,
       x.avoided,
       CASE WHEN x.reads IS NOT NULL THEN x.avoided END AS read_hits,
       x.steals AS xstor_steals,
       x.seconds AS xstor_seconds,
       h.inserts,
       h.deletes,
       h.steals AS real_steals,
       h.seconds AS storage_seconds
FROM _interval AS i
LEFT JOIN held AS h
  ON h.system = i.system AND h.interval_end = i.interval_end
LEFT JOIN looked_up AS x
  ON x.system = i.system AND x.interval_end = i.interval_end;
