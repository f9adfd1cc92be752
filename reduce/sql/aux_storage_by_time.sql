-- Page and spool space and its use, by interval. Rates are per second. The
-- columns from page_reads on are the sums behind the others: over a longer
-- span, divide the sum of one by the sum of the other.
CREATE OR REPLACE VIEW aux_storage_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Elapsed seconds T. NULL at a first sample and behind a gap.
  seconds,
  -- Page slots on DASD, 4 KB each (CALSLTA1). NULL without SYTASG records.
  page_slots,
  -- Share of the page slots in use, 0..1. NULL without SYTASG records, or
  -- without page slots.
  page_used_share,
  -- Spool slots on DASD, 4 KB each (CALSLTA2). NULL without SYTASG records.
  spool_slots,
  -- Share of the spool slots in use, 0..1. NULL without SYTASG records, or
  -- without spool slots.
  spool_used_share,
  -- Pages per second read for paging. NULL without SYTSYP deltas.
  page_read_rate,
  -- Pages per second written for paging. NULL without SYTSYP deltas.
  page_write_rate,
  -- Pages per second read for spooling. NULL without SYTSYP deltas.
  spool_read_rate,
  -- Pages per second written for spooling. NULL without SYTSYP deltas.
  spool_write_rate,
  -- Pages per block read, 1 or more. NULL without blocks in STOBPG records.
  read_block_pages,
  -- Pages per block stolen, 1 to 20; blocks of more than 20 pages count as 20.
  -- NULL without blocks in STOBPG records.
  stolen_block_pages,
  -- Pages read for paging. NULL without SYTSYP deltas.
  page_reads,
  -- Pages written for paging. NULL without SYTSYP deltas.
  page_writes,
  -- Pages read for spooling. NULL without SYTSYP deltas.
  spool_reads,
  -- Pages written for spooling. NULL without SYTSYP deltas.
  spool_writes,
  -- Elapsed seconds of the paging records. NULL without SYTSYP deltas.
  paging_seconds,
  -- Pages read for paging while blocks were counted. NULL without STOBPG
  -- deltas.
  block_reads,
  -- Blocks read. NULL without STOBPG deltas.
  blocks_read,
  -- Pages in the blocks stolen. NULL without STOBPG deltas.
  block_steals,
  -- Blocks stolen. NULL without STOBPG deltas.
  blocks_stolen,
  -- Page slots in use. NULL without SYTASG records.
  page_slots_used,
  -- Spool slots in use. NULL without SYTASG records.
  spool_slots_used
) AS
WITH space AS (
  SELECT system,
         interval_end,
         MAX(CAST(calslta1 AS BIGINT)) AS page_slots,
         MAX(CAST(calslti1 AS BIGINT)) AS page_slots_used,
         MAX(CAST(calslta2 AS BIGINT)) AS spool_slots,
         MAX(CAST(calslti2 AS BIGINT)) AS spool_slots_used
  FROM interval.sytasg
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
spool AS (
  SELECT system,
         interval_end,
         CAST(SUM(plspiosr) AS BIGINT) AS spool_reads,
         CAST(SUM(plspiosw) AS BIGINT) AS spool_writes
  FROM interval.sytsyp
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
blocks_in AS (
  SELECT system, interval_end, CAST(SUM(pgdbr) AS BIGINT) AS blocks_read
  FROM interval.stobpg_pgdbr_tbl
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
blocks_out AS (
  SELECT system,
         interval_end,
         -- Entry n counts blocks of n + 1 pages.
         CAST(SUM(pgdbs * (entry + 1)) AS BIGINT) AS block_steals,
         CAST(SUM(pgdbs) AS BIGINT) AS blocks_stolen
  FROM interval.stobpg_pgdbs_tbl
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT i.system,
       i.interval_end,
       i.seconds,
       a.page_slots,
       CAST(a.page_slots_used AS DOUBLE) / nullif(a.page_slots, 0)
         AS page_used_share,
       a.spool_slots,
       CAST(a.spool_slots_used AS DOUBLE) / nullif(a.spool_slots, 0)
         AS spool_used_share,
       g.dasd_reads / nullif(g.seconds, 0) AS page_read_rate,
       g.dasd_writes / nullif(g.seconds, 0) AS page_write_rate,
       s.spool_reads / nullif(g.seconds, 0) AS spool_read_rate,
       s.spool_writes / nullif(g.seconds, 0) AS spool_write_rate,
       CAST(g.dasd_reads AS DOUBLE) / nullif(r.blocks_read, 0)
         AS read_block_pages,
       CAST(w.block_steals AS DOUBLE) / nullif(w.blocks_stolen, 0)
         AS stolen_block_pages,
       g.dasd_reads AS page_reads,
       g.dasd_writes AS page_writes,
       s.spool_reads,
       s.spool_writes,
       g.seconds AS paging_seconds,
       CASE WHEN r.blocks_read IS NOT NULL THEN g.dasd_reads END AS block_reads,
       r.blocks_read,
       w.block_steals,
       w.blocks_stolen,
       a.page_slots_used,
       a.spool_slots_used
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
  ON w.system = i.system AND w.interval_end = i.interval_end;
