-- What Linux guests tell of themselves through application data (D10R2,
-- APLSDT), one row per system, interval and guest. Shares are of one processor
-- over T, summed over the processors of the guest; rates are per second; levels
-- are those of the latest block that the guest wrote. A guest writes its blocks
-- at intervals of its own. The columns from busy_ticks on are the sums behind
-- them.
CREATE OR REPLACE VIEW linux_guests_by_time AS
WITH processors AS (
  SELECT system,
         interval_end,
         userid,
         MAX(seconds) AS cpu_seconds,
         TRY_CAST(SUM(per_cpu_user) AS BIGINT) AS user_ticks,
         TRY_CAST(SUM(per_cpu_nice) AS BIGINT) AS nice_ticks,
         TRY_CAST(SUM(per_cpu_system) AS BIGINT) AS system_ticks,
         TRY_CAST(SUM(per_cpu_irq) AS BIGINT) AS irq_ticks,
         TRY_CAST(SUM(per_cpu_softirq) AS BIGINT) AS softirq_ticks,
         TRY_CAST(SUM(per_cpu_iowait) AS BIGINT) AS iowait_ticks,
         TRY_CAST(SUM(per_cpu_steal) AS BIGINT) AS steal_ticks
  FROM interval.aplsdt_os_cpu
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, userid
),
queues AS (
  SELECT system,
         interval_end,
         userid,
         MAX(CAST(nr_cpus AS BIGINT)) AS processors,
         MAX(CAST(nr_running AS BIGINT)) AS runnable,
         MAX(CAST(nr_threads AS BIGINT)) AS threads,
         MAX(CAST(avenrun_1 AS DOUBLE)) / 2048 AS load_1,
         MAX(CAST(avenrun_5 AS DOUBLE)) / 2048 AS load_5,
         MAX(CAST(avenrun_15 AS DOUBLE)) / 2048 AS load_15
  FROM monitor.aplsdt_os
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, userid
),
memory AS (
  SELECT system,
         interval_end,
         userid,
         seconds AS memory_seconds,
         CAST(totalram AS DOUBLE) / 1024 AS memory_mib,
         CAST(freeram AS DOUBLE) / 1024 AS free_mib,
         CAST(bufferram AS DOUBLE) / 1024 AS buffer_mib,
         CAST(cached AS DOUBLE) / 1024 AS cache_mib,
         CAST(totalswap AS DOUBLE) / 1024 AS swap_mib,
         CAST(freeswap AS DOUBLE) / 1024 AS swap_free_mib,
         pswpin AS swap_ins,
         pswpout AS swap_outs,
         pgpgin AS disk_reads_kib,
         pgpgout AS disk_writes_kib,
         pgfault AS faults,
         pgmajfault AS major_faults
  FROM interval.aplsdt_memory
  WHERE interval_end IS NOT NULL AND seconds IS NOT NULL
),
network AS (
  SELECT system,
         interval_end,
         userid,
         seconds AS network_seconds,
         rx_bytes AS received_bytes,
         tx_bytes AS sent_bytes,
         rx_packets AS received_packets,
         tx_packets AS sent_packets,
         rx_errors + tx_errors + rx_dropped + tx_dropped
           AS network_errors
  FROM interval.aplsdt_net
  WHERE interval_end IS NOT NULL AND seconds IS NOT NULL
),
of_system AS (
  SELECT COALESCE(p.system, q.system) AS system,
         COALESCE(p.interval_end, q.interval_end) AS interval_end,
         COALESCE(p.userid, q.userid) AS userid,
         p.cpu_seconds,
         p.user_ticks,
         p.nice_ticks,
         p.system_ticks,
         p.irq_ticks,
         p.softirq_ticks,
         p.iowait_ticks,
         p.steal_ticks,
         q.processors,
         q.runnable,
         q.threads,
         q.load_1,
         q.load_5,
         q.load_15
  FROM processors AS p
  FULL JOIN queues AS q
    ON q.system = p.system
    AND q.interval_end = p.interval_end
    AND q.userid = p.userid
),
of_kernel AS (
  SELECT COALESCE(m.system, n.system) AS system,
         COALESCE(m.interval_end, n.interval_end) AS interval_end,
         COALESCE(m.userid, n.userid) AS userid,
         m.memory_seconds,
         m.memory_mib,
         m.free_mib,
         m.buffer_mib,
         m.cache_mib,
         m.swap_mib,
         m.swap_free_mib,
         m.swap_ins,
         m.swap_outs,
         m.disk_reads_kib,
         m.disk_writes_kib,
         m.faults,
         m.major_faults,
         n.network_seconds,
         n.received_bytes,
         n.sent_bytes,
         n.received_packets,
         n.sent_packets,
         n.network_errors
  FROM memory AS m
  FULL JOIN network AS n
    ON n.system = m.system
    AND n.interval_end = m.interval_end
    AND n.userid = m.userid
)
SELECT COALESCE(s.system, k.system) AS system,
       COALESCE(s.interval_end, k.interval_end) AS interval_end,
       -- User id of the guest.
       COALESCE(s.userid, k.userid) AS userid,
       -- Elapsed seconds T, of the operating system block where there is one.
       -- NULL at a first sample.
       COALESCE(s.cpu_seconds, k.memory_seconds, k.network_seconds) AS seconds,
       -- Virtual processors that the guest runs on. NULL without an operating
       -- system block.
       s.processors,
       -- Runnable threads. NULL without an operating system block.
       s.runnable,
       -- Threads. NULL without an operating system block.
       s.threads,
       -- Load average over 1 minute. NULL without an operating system block.
       s.load_1,
       -- Load average over 5 minutes. NULL without an operating system block.
       s.load_5,
       -- Load average over 15 minutes. NULL without an operating system block.
       s.load_15,
       -- Memory in all, MiB. NULL without deltas of the memory block.
       k.memory_mib,
       -- Free memory, MiB. NULL without deltas of the memory block.
       k.free_mib,
       -- Memory of block buffers, MiB. NULL without deltas of the memory block.
       k.buffer_mib,
       -- Page cache, MiB. NULL without deltas of the memory block.
       k.cache_mib,
       -- Memory that is neither free nor holds buffers or page cache, MiB. NULL
       -- without deltas of the memory block.
       k.memory_mib - k.free_mib - k.buffer_mib - k.cache_mib AS used_mib,
       -- Swap space used, MiB. NULL without deltas of the memory block.
       k.swap_mib - k.swap_free_mib AS swap_used_mib,
       -- Time in user mode, the kernel and interrupts, 10 ms units. NULL
       -- without deltas of the operating system block.
       s.user_ticks + s.nice_ticks + s.system_ticks + s.irq_ticks
         + s.softirq_ticks AS busy_ticks,
       -- Time in user mode, 10 ms units. NULL without deltas of the operating
       -- system block.
       s.user_ticks,
       -- Time in user mode at low priority, 10 ms units. NULL without deltas of
       -- the operating system block.
       s.nice_ticks,
       -- Time in the kernel, 10 ms units. NULL without deltas of the operating
       -- system block.
       s.system_ticks,
       -- Time in interrupts, 10 ms units. NULL without deltas of the operating
       -- system block.
       s.irq_ticks,
       -- Time in soft interrupts, 10 ms units. NULL without deltas of the
       -- operating system block.
       s.softirq_ticks,
       -- Time idling with I/O outstanding, 10 ms units. NULL without deltas of
       -- the operating system block.
       s.iowait_ticks,
       -- Time wanting a processor that the hypervisor gave to others, 10 ms
       -- units. NULL without deltas of the operating system block.
       s.steal_ticks,
       -- Elapsed seconds of the operating system block. NULL without deltas of
       -- the operating system block.
       s.cpu_seconds,
       -- Pages swapped in. NULL without deltas of the memory block.
       k.swap_ins,
       -- Pages swapped out. NULL without deltas of the memory block.
       k.swap_outs,
       -- KiB read from disks. NULL without deltas of the memory block.
       k.disk_reads_kib,
       -- KiB written to disks. NULL without deltas of the memory block.
       k.disk_writes_kib,
       -- Page faults. NULL without deltas of the memory block.
       k.faults,
       -- Page faults that needed I/O. NULL without deltas of the memory block.
       k.major_faults,
       -- Elapsed seconds of the memory block. NULL without deltas of the memory
       -- block.
       k.memory_seconds,
       -- Bytes received. NULL without deltas of the network block.
       k.received_bytes,
       -- Bytes sent. NULL without deltas of the network block.
       k.sent_bytes,
       -- Packets received. NULL without deltas of the network block.
       k.received_packets,
       -- Packets sent. NULL without deltas of the network block.
       k.sent_packets,
       -- Packets with errors or dropped. NULL without deltas of the network
       -- block.
       k.network_errors,
       -- Elapsed seconds of the network block. NULL without deltas of the
       -- network block.
       k.network_seconds
FROM of_system AS s
FULL JOIN of_kernel AS k
  ON k.system = s.system
  AND k.interval_end = s.interval_end
  AND k.userid = s.userid;
