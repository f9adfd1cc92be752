-- Expanded-storage paging of each processor and interval (D0R5).
CREATE OR REPLACE VIEW _xstor_interval AS
SELECT system,
       interval_end,
       -- Address of the processor.
       pfxcpuad AS cpu,
       -- Elapsed seconds between its two samples. NULL at a first sample.
       SUM(seconds) AS seconds,
       -- Pages moved in and out. The fast-path page-ins (PFXPGIN) are not part
       -- of PLSPGIN, so both are added. NULL at a first sample.
       complete_sum(pfxpgin + plspgin + plspgout) AS xstor_pages,
       -- Pages migrated out of expanded storage (PLSPGMRX). NULL at a first
       -- sample.
       complete_sum(plspgmrx) AS migrated_pages,
       all_doubts(doubts) AS doubts
FROM interval.sytxsp
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end, pfxcpuad;
