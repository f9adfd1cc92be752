-- Paging, spooling and I/O counts of each processor and interval (D0R1).
CREATE OR REPLACE VIEW _paging_interval AS
SELECT system,
       interval_end,
       -- Address of the processor.
       pfxcpuad AS cpu,
       -- Elapsed seconds between its two samples. NULL at a first sample.
       SUM(seconds) AS seconds,
       -- Pages read from and written to DASD for paging. NULL at a first
       -- sample.
       complete_sum(plspiopr + plspiopw) AS dasd_pages,
       -- Pages read from DASD for paging. NULL at a first sample.
       complete_sum(plspiopr) AS dasd_reads,
       -- Pages written to DASD for paging. NULL at a first sample.
       complete_sum(plspiopw) AS dasd_writes,
       -- Pages read and written for spooling. NULL at a first sample.
       complete_sum(plspiosr + plspiosw) AS spool_pages,
       -- Start and resume subchannel instructions. NULL at a first sample.
       complete_sum(plsctss + plsctrs) AS starts,
       -- DIAGNOSEs, of IBM and of the site. NULL at a first sample.
       complete_sum(plsdiagt + plsdguct) AS diagnoses,
       all_doubts(doubts) AS doubts
FROM interval.sytsyp
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end, pfxcpuad;
