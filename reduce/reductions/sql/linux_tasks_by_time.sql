-- What Linux guests that run mon_procd tell of all their processes (D10R2,
-- APLSDT), one row per system, interval and guest. Figures are those of the
-- latest block that the guest wrote, at intervals of its own; shares of
-- processor time are of all its processors, over the time between two blocks.
CREATE OR REPLACE VIEW linux_tasks_by_time AS
SELECT t.system,
       t.interval_end,
       -- User id of the guest.
       userid,
       -- Elapsed seconds T of the interval. NULL at a first sample.
       i.seconds,
       -- Hours since the guest was booted. NULL where the block is too short.
       CAST(uptime AS DOUBLE) / 3600 AS uptime_h,
       -- Users that are logged in. NULL where the block is too short.
       CAST(users AS BIGINT) AS logged_in,
       -- Processes in all. NULL where the block is too short.
       CAST(task_total AS BIGINT) AS processes,
       -- Processes that run or could. NULL where the block is too short.
       CAST(task_running AS BIGINT) AS processes_running,
       -- Processes that sleep or wait for I/O. NULL where the block is too
       -- short.
       CAST(task_sleeping AS BIGINT) AS processes_sleeping,
       -- Processes that were stopped. NULL where the block is too short.
       CAST(task_stopped AS BIGINT) AS processes_stopped,
       -- Processes that ended and that nobody has waited for. NULL where the
       -- block is too short.
       CAST(task_zombie AS BIGINT) AS processes_zombie,
       -- Load average over 1 minute. NULL where the block has no digits.
       TRY_CAST(loadavg_1 AS DOUBLE) AS load_1,
       -- Load average over 5 minutes. NULL where the block has no digits.
       TRY_CAST(loadavg_5 AS DOUBLE) AS load_5,
       -- Load average over 15 minutes. NULL where the block has no digits.
       TRY_CAST(loadavg_15 AS DOUBLE) AS load_15,
       -- Processors that were online when mon_procd started. NULL where the
       -- block is too short.
       CAST(num_cpus AS BIGINT) AS processors,
       -- Share of all processors in user mode, the kernel and interrupts,
       -- 0..1. NULL where the block is too short, or has shares of more than
       -- all.
       CASE WHEN is_share
            THEN CAST(puser + pnice + psystem + pirq + psoftirq AS DOUBLE) / 1e4
       END AS tasks_busy_share,
       -- Share of all processors that was idle with I/O outstanding, 0..1.
       -- NULL where the block is too short, or has shares of more than all.
       CASE WHEN is_share
            THEN CAST(piowait AS DOUBLE) / 1e4
       END AS tasks_iowait_share,
       -- Share of all processors that the hypervisor gave to others, 0..1.
       -- NULL where the block is too short, or has shares of more than all.
       CASE WHEN is_share
            THEN CAST(psteal AS DOUBLE) / 1e4
       END AS tasks_steal_share,
       -- Memory in all, MiB. NULL where the block is too short.
       CAST(mem_total AS DOUBLE) / 1024 AS memory_mib,
       -- Free memory, MiB. NULL where the block is too short.
       CAST(mem_free AS DOUBLE) / 1024 AS free_mib,
       -- Swap space in use, MiB. NULL where the block is too short.
       CAST(swap_used AS DOUBLE) / 1024 AS swap_used_mib,
       -- Seconds from the guest's block to the record, 0 where the guest's
       -- clock is ahead. NULL where the block is too short.
       GREATEST(CAST(tod_us - time_stamp AS DOUBLE) / 1e6, 0) AS block_age_s,
       t.doubts
FROM (
  SELECT system,
         interval_end,
         userid,
         uptime,
         users,
         task_total,
         task_running,
         task_sleeping,
         task_stopped,
         task_zombie,
         loadavg_1,
         loadavg_5,
         loadavg_15,
         num_cpus,
         puser,
         pnice,
         psystem,
         pirq,
         psoftirq,
         piowait,
         psteal,
         mem_total,
         mem_free,
         swap_used,
         tod_us,
         time_stamp,
         doubts,
         -- Each share is rounded down, so that all come to 1 at most.
         puser + pnice + psystem + pidle + piowait + pirq + psoftirq + psteal
           BETWEEN 1 AND 10000 AS is_share
  FROM interval.aplsdt_tasks
  WHERE interval_end IS NOT NULL
    AND (cause IS NULL OR cause <> 'missing')
) AS t
JOIN _interval AS i
  ON i.system = t.system
  AND i.interval_end = t.interval_end;
