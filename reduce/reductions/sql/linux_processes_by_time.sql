-- Processes of Linux guests that run mon_procd (D10R2, APLSDT), one row per
-- system, interval, guest and process: the 100 of each guest that use most
-- processor time and memory. Rates are over the time between two blocks by the
-- guest's own clock. The columns from cpu_ticks on are the sums behind them.
CREATE OR REPLACE VIEW linux_processes_by_time AS
SELECT p.system,
       p.interval_end,
       -- User id of the guest.
       userid,
       -- Process id; another process may have it when this one has ended.
       pid,
       -- Name of the command. NULL where the block is too short.
       cmd AS command,
       -- Elapsed seconds T of the interval. NULL at a first sample.
       i.seconds,
       -- Name of the effective user, or its number. NULL where the block is
       -- too short.
       euser AS effective_user,
       -- R runs, S sleeps, D waits for I/O, T is stopped, Z has ended. NULL
       -- where the block is too short.
       state AS process_state,
       -- Nice level, -20 to 19. NULL where the block is too short.
       CAST(nice AS BIGINT) AS nice_level,
       -- Resident memory, MiB. NULL where the block is too short.
       CAST(resident AS DOUBLE) / 1024 AS process_resident_mib,
       -- Virtual memory, MiB. NULL where the block is too short.
       CAST(size AS DOUBLE) / 1024 AS process_virtual_mib,
       -- Seconds from the guest's block to the record, 0 where the guest's
       -- clock is ahead. NULL where the block is too short.
       GREATEST(CAST(tod_us - time_stamp AS DOUBLE) / 1e6, 0) AS block_age_s,
       -- Processor time of the process, 10 ms units. NULL without a block of
       -- the same process before, and where the guest wrote none since.
       total_time AS cpu_ticks,
       -- Page faults that needed I/O. NULL without a block of the same process
       -- before, and where the guest wrote none since.
       maj_flt AS major_faults,
       -- Seconds between the two blocks by the guest's clock. NULL without a
       -- block of the same process before, and where the guest wrote none
       -- since.
       p.seconds AS process_seconds,
       -- What is not known, or is a lower bound, and why. NULL: nothing; a
       -- process that begins is no doubt.
       CASE WHEN p.cause = 'appeared' THEN NULL ELSE p.doubts END AS doubts
FROM interval.aplsdt_process AS p
JOIN _interval AS i
  ON i.system = p.system
  AND i.interval_end = p.interval_end
WHERE p.interval_end IS NOT NULL
  AND p.pid IS NOT NULL
  AND (p.cause IS NULL OR p.cause <> 'missing');
