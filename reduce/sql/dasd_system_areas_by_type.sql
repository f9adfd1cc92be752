-- Volumes with page or spool space, one row per system, interval and volume
-- (D3R4). A volume that has both is an area of its own type, since the record
-- counts slots in use, I/Os and times for the volume as a whole. The columns
-- from slots on are the sums behind the others: over a longer span, divide the
-- sum of one by the sum of the other.
CREATE OR REPLACE VIEW dasd_system_areas_by_type (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- PAGE, SPOOL or PAGE+SPOOL.
  area_type,
  -- Device number.
  device,
  -- Volume serial. NULL for a device without a label.
  volser,
  -- Elapsed seconds T of the volume's record. NULL at a first sample.
  seconds,
  -- Share of the slots in use, 0..1. NULL without CPVALOCD in STOASP records.
  used_share,
  -- Pages per second read for paging. NULL without a STOASP delta.
  page_read_rate,
  -- Pages per second written for paging. NULL without a STOASP delta.
  page_write_rate,
  -- Pages per second read for spooling. NULL without a STOASP delta.
  spool_read_rate,
  -- Pages per second written for spooling. NULL without a STOASP delta.
  spool_write_rate,
  -- Pages per second, all four together. NULL without a STOASP delta.
  total_rate,
  -- MLOAD, milliseconds per page (unit believed). NULL without EXPMLOAD in
  -- STOASP records.
  mload_ms,
  -- Service time of the device, milliseconds (unit believed). NULL without
  -- EXPDEVST in STOASP records.
  service_ms,
  -- Pages per channel program, 1 or more. NULL without channel programs.
  block_pages,
  -- Requests queued at the sample, 0 or more (believed). NULL without EXPCURQC
  -- in STOASP records.
  queue_length,
  -- Page and spool slots of the volume, 4 KB each.
  slots,
  -- Slots in use. NULL without CPVALOCD in STOASP records.
  used_slots,
  -- Pages read for paging. NULL without a STOASP delta.
  page_reads,
  -- Pages written for paging. NULL without a STOASP delta.
  page_writes,
  -- Pages read for spooling. NULL without a STOASP delta.
  spool_reads,
  -- Pages written for spooling. NULL without a STOASP delta.
  spool_writes,
  -- Pages, all four together. NULL without a STOASP delta.
  pages,
  -- Channel programs that moved them (believed). NULL without a STOASP delta.
  blocks
) AS
WITH area AS (
  SELECT system,
         interval_end,
         rdevdev AS device,
         MAX(calvser) AS volser,
         SUM(seconds) AS seconds,
         MAX(CAST(calpage AS BIGINT)) AS page_slots,
         MAX(CAST(calspool AS BIGINT)) AS spool_slots,
         MAX(CAST(cpvalocd AS BIGINT)) AS used_slots,
         MAX(CAST(expmload AS DOUBLE)) / 1000 AS mload_ms,
         MAX(CAST(expdevst AS DOUBLE)) / 1000 AS service_ms,
         MAX(CAST(expcurqc AS BIGINT)) AS queue_length,
         CAST(SUM(expctprd) AS BIGINT) AS page_reads,
         CAST(SUM(expctpwr) AS BIGINT) AS page_writes,
         CAST(SUM(expctsrd) AS BIGINT) AS spool_reads,
         CAST(SUM(expctswr) AS BIGINT) AS spool_writes,
         CAST(SUM(expctprd + expctpwr + expctsrd + expctswr) AS BIGINT)
           AS pages,
         CAST(SUM(expctacp) AS BIGINT) AS blocks
  FROM interval.stoasp
  WHERE interval_end IS NOT NULL
    AND (calpage > 0 OR calspool > 0)
  GROUP BY system, interval_end, rdevdev
)
SELECT system,
       interval_end,
       CASE WHEN page_slots > 0 AND spool_slots > 0 THEN 'PAGE+SPOOL'
            WHEN page_slots > 0 THEN 'PAGE'
            ELSE 'SPOOL'
       END AS area_type,
       device,
       nullif(trim(volser), '') AS volser,
       seconds,
       CAST(used_slots AS DOUBLE)
         / nullif(coalesce(page_slots, 0) + coalesce(spool_slots, 0), 0)
         AS used_share,
       page_reads / nullif(seconds, 0) AS page_read_rate,
       page_writes / nullif(seconds, 0) AS page_write_rate,
       spool_reads / nullif(seconds, 0) AS spool_read_rate,
       spool_writes / nullif(seconds, 0) AS spool_write_rate,
       pages / nullif(seconds, 0) AS total_rate,
       mload_ms,
       service_ms,
       CAST(pages AS DOUBLE) / nullif(blocks, 0) AS block_pages,
       queue_length,
       coalesce(page_slots, 0) + coalesce(spool_slots, 0) AS slots,
       used_slots,
       page_reads,
       page_writes,
       spool_reads,
       spool_writes,
       pages,
       blocks
FROM area;
