-- Paging, spooling and I/O counts of a system, one row per interval (D0R1).
CREATE OR REPLACE VIEW _paging_totals AS
SELECT system,
       interval_end,
       -- Elapsed seconds T, mean over the processors. NULL at a first sample.
       AVG(seconds) AS seconds,
       -- Pages read from and written to DASD for paging. NULL at a first
       -- sample.
       complete_sum(dasd_pages) AS dasd_pages,
       -- Pages read from DASD for paging. NULL at a first sample.
       complete_sum(dasd_reads) AS dasd_reads,
       -- Pages written to DASD for paging. NULL at a first sample.
       complete_sum(dasd_writes) AS dasd_writes,
       -- Pages read and written for spooling. NULL at a first sample.
       complete_sum(spool_pages) AS spool_pages,
       -- Start and resume subchannel instructions. NULL at a first sample.
       complete_sum(starts) AS starts,
       all_doubts(doubts) AS doubts
FROM _paging_interval
GROUP BY system, interval_end;
