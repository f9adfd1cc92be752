-- Page and spool space and its use, by interval. Rates are per second. The
-- columns from page_reads on are the sums behind the others: over a longer
-- span, divide the sum of one by the sum of the other.
CREATE OR REPLACE VIEW aux_storage_by_time AS
WITH space AS (
  SELECT system,
         interval_end,
         MAX(CAST(calslta1 AS BIGINT)) AS page_slots,
         MAX(CAST(calslti1 AS BIGINT)) AS page_slots_used,
         MAX(CAST(calslta2 AS BIGINT)) AS spool_slots,
         MAX(CAST(calslti2 AS BIGINT)) AS spool_slots_used,
         all_doubts(doubts) AS doubts
  FROM interval.sytasg
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
spool AS (
  SELECT system,
         interval_end,
         complete_sum(plspiosr) AS spool_reads,
         complete_sum(plspiosw) AS spool_writes,
         all_doubts(doubts) AS doubts
  FROM interval.sytsyp
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
blocks_in AS (
  SELECT system,
         interval_end,
         complete_sum(pgdbr) AS blocks_read,
         all_doubts(doubts) AS doubts
  FROM interval.stobpg_pgdbr_tbl
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
blocks_out AS (
  SELECT system,
         interval_end,
         -- Entry n counts blocks of n + 1 pages.
         complete_sum(pgdbs * (entry + 1)) AS block_steals,
         complete_sum(pgdbs) AS blocks_stolen,
         all_doubts(doubts) AS doubts
  FROM interval.stobpg_pgdbs_tbl
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT i.system,
       i.interval_end,
       -- Elapsed seconds T. NULL at a first sample and behind a gap.
       i.seconds,
       -- Page slots on DASD, 4 KB each (CALSLTA1). NULL without SYTASG records.
       a.page_slots,
       -- Spool slots on DASD, 4 KB each (CALSLTA2). NULL without SYTASG
       -- records.
       a.spool_slots,
       -- Pages read for paging. NULL without SYTSYP deltas.
       g.dasd_reads AS page_reads,
       -- Pages written for paging. NULL without SYTSYP deltas.
       g.dasd_writes AS page_writes,
       -- Pages read for spooling. NULL without SYTSYP deltas.
       s.spool_reads,
       -- Pages written for spooling. NULL without SYTSYP deltas.
       s.spool_writes,
       -- Elapsed seconds of the paging records. NULL without SYTSYP deltas.
       g.seconds AS paging_seconds,
       -- Pages read for paging while blocks were counted. NULL without STOBPG
       -- deltas.
       CASE WHEN r.blocks_read IS NOT NULL THEN g.dasd_reads END AS block_reads,
       -- Blocks read. NULL without STOBPG deltas.
       r.blocks_read,
       -- Pages in the blocks stolen. NULL without STOBPG deltas.
       w.block_steals,
       -- Blocks stolen. NULL without STOBPG deltas.
       w.blocks_stolen,
       -- Page slots in use. NULL without SYTASG records.
       a.page_slots_used,
       -- Spool slots in use. NULL without SYTASG records.
       a.spool_slots_used,
       nullif(
         concat_ws(
           ', ', a.doubts, g.doubts, s.doubts, r.doubts, w.doubts, v.doubts
         ), ''
       ) AS doubts
FROM _interval AS i
LEFT JOIN space AS a
  ON a.system = i.system AND a.interval_end = i.interval_end
LEFT JOIN _paging_totals AS g
  ON g.system = i.system AND g.interval_end = i.interval_end
LEFT JOIN spool AS s
  ON s.system = i.system AND s.interval_end = i.interval_end
LEFT JOIN blocks_in AS r
  ON r.system = i.system AND r.interval_end = i.interval_end
LEFT JOIN blocks_out AS w
  ON w.system = i.system AND w.interval_end = i.interval_end
LEFT JOIN _slot_witness AS v
  ON v.system = i.system AND v.interval_end = i.interval_end;
