-- The minidisk cache, by interval. Sizes are in 4 KB pages and as at the end of
-- the interval, rates per second. The columns from reads on are the sums behind
-- the rates: over a longer span, divide the sum of one by the sum of the other.
CREATE OR REPLACE VIEW minidisk_cache_by_time AS
WITH sampled AS (
  SELECT system,
         interval_end,
         SUM(seconds) AS seconds,
         MAX(CAST(tcmmain AS BIGINT)) AS real_pages,
         complete_sum(tcmmndl) AS deletes,
         complete_sum(tcmstlmn) AS steals,
         all_doubts(doubts) AS doubts
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
         ) AS inserts,
         doubts
  FROM sampled
),
looked_up AS (
  SELECT system,
         interval_end,
         SUM(seconds) AS seconds,
         MAX(CAST(tcmxidsz AS BIGINT)) AS xstor_ideal_pages,
         complete_sum(tcmrdct) AS reads,
         complete_sum(hcpmdcia) AS avoided,
         complete_sum(tcmstlxs) AS steals,
         all_doubts(doubts) AS doubts
  FROM interval.sytxsg
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT i.system,
       i.interval_end,
       -- Elapsed seconds T. NULL at a first sample and behind a gap.
       i.seconds,
       -- Pages of real storage that the cache has (TCMMAIN). NULL without
       -- SYTRSG records.
       h.real_pages,
       -- Pages of expanded storage that the cache would ideally have
       -- (TCMXIDSZ); no field is known for those it has. NULL without SYTXSG
       -- records.
       x.xstor_ideal_pages,
       -- Reads that were looked up. NULL without SYTXSG deltas.
       x.reads,
       -- I/Os saved. NULL without SYTXSG deltas.
       x.avoided,
       -- I/Os saved while reads were counted. NULL without SYTXSG deltas.
       CASE WHEN x.reads IS NOT NULL THEN x.avoided END AS read_hits,
       -- Times that blocks of expanded storage were stolen. NULL without SYTXSG
       -- deltas.
       x.steals AS xstor_steals,
       -- Elapsed seconds of the expanded-storage record. NULL without SYTXSG
       -- deltas.
       x.seconds AS xstor_seconds,
       -- Pages brought into real storage. NULL without SYTRSG deltas.
       h.inserts,
       -- Pages deleted from real storage. NULL without SYTRSG deltas.
       h.deletes,
       -- Times that pages in real storage were stolen. NULL without SYTRSG
       -- deltas.
       h.steals AS real_steals,
       -- Elapsed seconds of the real-storage record. NULL without SYTRSG
       -- deltas.
       h.seconds AS storage_seconds,
       nullif(concat_ws(', ', h.doubts, x.doubts), '') AS doubts
FROM _interval AS i
LEFT JOIN held AS h
  ON h.system = i.system AND h.interval_end = i.interval_end
LEFT JOIN looked_up AS x
  ON x.system = i.system AND x.interval_end = i.interval_end;
