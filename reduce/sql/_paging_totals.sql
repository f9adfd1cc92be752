-- Paging, spooling and I/O counts of a system, one row per interval (D0R1).
CREATE OR REPLACE VIEW _paging_totals (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Elapsed seconds T, mean over the processors. NULL at a first sample.
  seconds,
  -- Pages read from and written to DASD for paging. NULL at a first sample.
  dasd_pages,
  -- Pages read from DASD for paging. NULL at a first sample.
  dasd_reads,
  -- Pages written to DASD for paging. NULL at a first sample.
  dasd_writes,
  -- Pages read and written for spooling. NULL at a first sample.
  spool_pages,
  -- Start and resume subchannel instructions. NULL at a first sample.
  starts
) AS
SELECT system,
       interval_end,
       AVG(seconds) AS seconds,
       CAST(SUM(dasd_pages) AS BIGINT) AS dasd_pages,
       CAST(SUM(dasd_reads) AS BIGINT) AS dasd_reads,
       CAST(SUM(dasd_writes) AS BIGINT) AS dasd_writes,
       CAST(SUM(spool_pages) AS BIGINT) AS spool_pages,
       CAST(SUM(starts) AS BIGINT) AS starts
FROM _paging_interval
GROUP BY system, interval_end;
