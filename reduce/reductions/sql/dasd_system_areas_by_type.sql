-- Volumes with page or spool space, one row per system, interval and volume
-- (D3R4). A volume that has both is an area of its own type, since the record
-- counts slots in use, I/Os and times for the volume as a whole. The columns
-- from slots on are the sums behind the others: over a longer span, divide the
-- sum of one by the sum of the other.
CREATE OR REPLACE VIEW dasd_system_areas_by_type AS
WITH area AS (
  SELECT system,
         interval_end,
         rdevdev AS device,
         MAX(calvser) AS volser,
         -- Several records are of the exposures of one device (3.4): its slots
         -- count once, what begins with EXP is of each.
         MAX(seconds) AS seconds,
         -- A row without a record has the space of the one before.
         COALESCE(MAX(CAST(calpage AS BIGINT)),
                  LAG(MAX(CAST(calpage AS BIGINT))) OVER w) AS page_slots,
         COALESCE(MAX(CAST(calspool AS BIGINT)),
                  LAG(MAX(CAST(calspool AS BIGINT))) OVER w) AS spool_slots,
         MAX(CAST(cpvalocd AS BIGINT)) AS used_slots,
         -- While no page moves they are those of an earlier interval.
         AVG(CASE WHEN expctprd + expctpwr + expctsrd + expctswr = 0 THEN NULL
                  ELSE CAST(expmload AS DOUBLE) END) / 1000 AS mload_ms,
         AVG(CASE WHEN expctprd + expctpwr + expctsrd + expctswr = 0 THEN NULL
                  ELSE CAST(expdevst AS DOUBLE) END) / 1000 AS service_ms,
         TRY_CAST(SUM(expcurqc) AS BIGINT) AS queue_length,
         complete_sum(expctprd) AS page_reads,
         complete_sum(expctpwr) AS page_writes,
         complete_sum(expctsrd) AS spool_reads,
         complete_sum(expctswr) AS spool_writes,
         complete_sum(expctprd + expctpwr + expctsrd + expctswr)
           AS pages,
         complete_sum(expctacp) AS blocks,
         all_doubts(doubts) AS doubts
  FROM interval.stoasp
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, rdevdev
  WINDOW w AS (PARTITION BY system, rdevdev ORDER BY interval_end)
)
SELECT a.system,
       a.interval_end,
       -- PAGE, SPOOL or PAGE+SPOOL.
       CASE WHEN a.page_slots > 0 AND a.spool_slots > 0 THEN 'PAGE+SPOOL'
            WHEN a.page_slots > 0 THEN 'PAGE'
            ELSE 'SPOOL'
       END AS area_type,
       -- Device number.
       a.device,
       -- Volume serial. NULL for a device without a label.
       nullif(trim(a.volser), '') AS volser,
       -- Elapsed seconds T of the volume's record. NULL at a first sample.
       a.seconds,
       -- MLOAD, milliseconds per page (unit believed). NULL without EXPMLOAD in
       -- STOASP records, and while no page is moved.
       a.mload_ms,
       -- Service time of the device, milliseconds (unit believed). NULL without
       -- EXPDEVST in STOASP records, and while no page is moved.
       a.service_ms,
       -- Requests queued at the sample, 0 or more (believed). NULL without
       -- EXPCURQC in STOASP records.
       a.queue_length,
       -- Page and spool slots of the volume, 4 KB each.
       coalesce(a.page_slots, 0) + coalesce(a.spool_slots, 0) AS slots,
       -- Slots in use. NULL without CPVALOCD in STOASP records.
       a.used_slots,
       -- Pages read for paging. NULL without a STOASP delta.
       a.page_reads,
       -- Pages written for paging. NULL without a STOASP delta.
       a.page_writes,
       -- Pages read for spooling. NULL without a STOASP delta.
       a.spool_reads,
       -- Pages written for spooling. NULL without a STOASP delta.
       a.spool_writes,
       -- Pages, all four together. NULL without a STOASP delta.
       a.pages,
       -- Channel programs that moved them (believed). NULL without a STOASP
       -- delta.
       a.blocks,
       nullif(concat_ws(', ', a.doubts, v.doubts), '') AS doubts
FROM area AS a
LEFT JOIN _slot_witness AS v
  ON v.system = a.system
  AND v.interval_end = a.interval_end
WHERE a.page_slots > 0
  OR a.spool_slots > 0;
