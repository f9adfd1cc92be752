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
         complete_sum(per_cpu_user) AS user_ticks,
         complete_sum(per_cpu_nice) AS nice_ticks,
         complete_sum(per_cpu_system) AS system_ticks,
         complete_sum(per_cpu_irq) AS irq_ticks,
         complete_sum(per_cpu_softirq) AS softirq_ticks,
         complete_sum(per_cpu_iowait) AS iowait_ticks,
         complete_sum(per_cpu_steal) AS steal_ticks,
         all_doubts(doubts) AS doubts
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
  FROM interval.aplsdt_os
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
         pgmajfault AS major_faults,
         doubts
  FROM interval.aplsdt_memory
  WHERE interval_end IS NOT NULL
    AND (seconds IS NOT NULL OR doubts IS NOT NULL)
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
           AS network_errors,
         doubts
  FROM interval.aplsdt_net
  WHERE interval_end IS NOT NULL
    AND (seconds IS NOT NULL OR doubts IS NOT NULL)
)
SELECT system,
       interval_end,
       -- User id of the guest.
       userid,
       -- Elapsed seconds T, of the operating system block where there is one.
       -- NULL at a first sample.
       COALESCE(p.cpu_seconds, m.memory_seconds, n.network_seconds) AS seconds,
       -- Virtual processors that the guest runs on. NULL without an operating
       -- system block.
       q.processors,
       -- Runnable threads. NULL without an operating system block.
       q.runnable,
       -- Threads. NULL without an operating system block.
       q.threads,
       -- Load average over 1 minute. NULL without an operating system block.
       q.load_1,
       -- Load average over 5 minutes. NULL without an operating system block.
       q.load_5,
       -- Load average over 15 minutes. NULL without an operating system block.
       q.load_15,
       -- Memory in all, MiB. NULL without deltas of the memory block.
       m.memory_mib,
       -- Free memory, MiB. NULL without deltas of the memory block.
       m.free_mib,
       -- Memory of block buffers, MiB. NULL without deltas of the memory block.
       m.buffer_mib,
       -- Page cache, MiB. NULL without deltas of the memory block.
       m.cache_mib,
       -- Memory that is neither free nor holds buffers or page cache, MiB. NULL
       -- without deltas of the memory block.
       m.memory_mib - m.free_mib - m.buffer_mib - m.cache_mib AS used_mib,
       -- Swap space used, MiB. NULL without deltas of the memory block.
       m.swap_mib - m.swap_free_mib AS swap_used_mib,
       -- Time in user mode, the kernel and interrupts, 10 ms units. NULL
       -- without deltas of the operating system block.
       p.user_ticks + p.nice_ticks + p.system_ticks + p.irq_ticks
         + p.softirq_ticks AS busy_ticks,
       -- Time in user mode, 10 ms units. NULL without deltas of the operating
       -- system block.
       p.user_ticks,
       -- Time in user mode at low priority, 10 ms units. NULL without deltas of
       -- the operating system block.
       p.nice_ticks,
       -- Time in the kernel, 10 ms units. NULL without deltas of the operating
       -- system block.
       p.system_ticks,
       -- Time in interrupts, 10 ms units. NULL without deltas of the operating
       -- system block.
       p.irq_ticks,
       -- Time in soft interrupts, 10 ms units. NULL without deltas of the
       -- operating system block.
       p.softirq_ticks,
       -- Time idling with I/O outstanding, 10 ms units. NULL without deltas of
       -- the operating system block.
       p.iowait_ticks,
       -- Time wanting a processor that the hypervisor gave to others, 10 ms
       -- units. NULL without deltas of the operating system block.
       p.steal_ticks,
       -- Elapsed seconds of the operating system block. NULL without deltas of
       -- the operating system block.
       p.cpu_seconds,
       -- Pages swapped in. NULL without deltas of the memory block.
       m.swap_ins,
       -- Pages swapped out. NULL without deltas of the memory block.
       m.swap_outs,
       -- KiB read from disks. NULL without deltas of the memory block.
       m.disk_reads_kib,
       -- KiB written to disks. NULL without deltas of the memory block.
       m.disk_writes_kib,
       -- Page faults. NULL without deltas of the memory block.
       m.faults,
       -- Page faults that needed I/O. NULL without deltas of the memory block.
       m.major_faults,
       -- Elapsed seconds of the memory block. NULL without deltas of the memory
       -- block.
       m.memory_seconds,
       -- Bytes received. NULL without deltas of the network block.
       n.received_bytes,
       -- Bytes sent. NULL without deltas of the network block.
       n.sent_bytes,
       -- Packets received. NULL without deltas of the network block.
       n.received_packets,
       -- Packets sent. NULL without deltas of the network block.
       n.sent_packets,
       -- Packets with errors or dropped. NULL without deltas of the network
       -- block.
       n.network_errors,
       -- Elapsed seconds of the network block. NULL without deltas of the
       -- network block.
       n.network_seconds,
       nullif(concat_ws(', ', p.doubts, m.doubts, n.doubts, w.doubts), '')
         AS doubts
FROM processors AS p
FULL JOIN queues AS q USING (system, interval_end, userid)
FULL JOIN memory AS m USING (system, interval_end, userid)
FULL JOIN network AS n USING (system, interval_end, userid)
LEFT JOIN _guest_witness AS w USING (system, interval_end, userid);
