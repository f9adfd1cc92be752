-- What Linux guests tell of themselves through application data (D10R2,
-- APLSDT), one row per system, interval and guest. Shares are of one processor
-- over T, summed over the processors of the guest; rates are per second; levels
-- are those of the latest block that the guest wrote. A guest writes its blocks
-- at intervals of its own. The columns from busy_ticks on are the sums behind
-- them.
CREATE OR REPLACE VIEW linux_guests_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- User id of the guest.
  userid,
  -- Elapsed seconds T, of the operating system block where there is one. NULL
  -- at a first sample.
  seconds,
  -- Virtual processors that the guest runs on. NULL without an operating system
  -- block.
  processors,
  -- Share of one processor in user mode, the kernel and interrupts, as the
  -- guest sees it, 0 to its processors. NULL without deltas of the operating
  -- system block.
  cpu_util,
  -- Share of one processor spent in user mode, 0 to the guest's processors.
  -- NULL without deltas of the operating system block.
  user_util,
  -- Share of one processor spent in user mode at low priority, 0 to the guest's
  -- processors. NULL without deltas of the operating system block.
  nice_util,
  -- Share of one processor spent in the kernel, 0 to the guest's processors.
  -- NULL without deltas of the operating system block.
  system_util,
  -- Share of one processor spent in interrupts, 0 to the guest's processors.
  -- NULL without deltas of the operating system block.
  irq_util,
  -- Share of one processor spent in soft interrupts, 0 to the guest's
  -- processors. NULL without deltas of the operating system block.
  softirq_util,
  -- Share of one processor spent idling with I/O outstanding, 0 to the guest's
  -- processors. NULL without deltas of the operating system block.
  iowait_util,
  -- Share of one processor spent wanting a processor that the hypervisor gave
  -- to others, 0 to the guest's processors. NULL without deltas of the
  -- operating system block.
  steal_util,
  -- Runnable threads. NULL without an operating system block.
  runnable,
  -- Threads. NULL without an operating system block.
  threads,
  -- Load average over 1 minute. NULL without an operating system block.
  load_1,
  -- Load average over 5 minutes. NULL without an operating system block.
  load_5,
  -- Load average over 15 minutes. NULL without an operating system block.
  load_15,
  -- Memory in all, MiB. NULL without deltas of the memory block.
  memory_mib,
  -- Free memory, MiB. NULL without deltas of the memory block.
  free_mib,
  -- Memory of block buffers, MiB. NULL without deltas of the memory block.
  buffer_mib,
  -- Page cache, MiB. NULL without deltas of the memory block.
  cache_mib,
  -- Memory that is neither free nor holds buffers or page cache, MiB. NULL
  -- without deltas of the memory block.
  used_mib,
  -- Swap space used, MiB. NULL without deltas of the memory block.
  swap_used_mib,
  -- Pages swapped in per second. NULL without deltas of the memory block.
  swap_in_rate,
  -- Pages swapped out per second. NULL without deltas of the memory block.
  swap_out_rate,
  -- KiB read from disks per second. NULL without deltas of the memory block.
  disk_read_kib_rate,
  -- KiB written to disks per second. NULL without deltas of the memory block.
  disk_write_kib_rate,
  -- Page faults per second. NULL without deltas of the memory block.
  fault_rate,
  -- Page faults that needed I/O per second. NULL without deltas of the memory
  -- block.
  major_fault_rate,
  -- KiB received per second. NULL without deltas of the network block.
  received_kib_rate,
  -- KiB sent per second. NULL without deltas of the network block.
  sent_kib_rate,
  -- Packets received per second. NULL without deltas of the network block.
  received_packet_rate,
  -- Packets sent per second. NULL without deltas of the network block.
  sent_packet_rate,
  -- Packets with errors or dropped per second. NULL without deltas of the
  -- network block.
  network_error_rate,
  -- Time in user mode, the kernel and interrupts, 10 ms units. NULL without
  -- deltas of the operating system block.
  busy_ticks,
  -- Time in user mode, 10 ms units. NULL without deltas of the operating system
  -- block.
  user_ticks,
  -- Time in user mode at low priority, 10 ms units. NULL without deltas of the
  -- operating system block.
  nice_ticks,
  -- Time in the kernel, 10 ms units. NULL without deltas of the operating
  -- system block.
  system_ticks,
  -- Time in interrupts, 10 ms units. NULL without deltas of the operating
  -- system block.
  irq_ticks,
  -- Time in soft interrupts, 10 ms units. NULL without deltas of the operating
  -- system block.
  softirq_ticks,
  -- Time idling with I/O outstanding, 10 ms units. NULL without deltas of the
  -- operating system block.
  iowait_ticks,
  -- Time wanting a processor that the hypervisor gave to others, 10 ms units.
  -- NULL without deltas of the operating system block.
  steal_ticks,
  -- Elapsed seconds of the operating system block. NULL without deltas of the
  -- operating system block.
  cpu_seconds,
  -- Pages swapped in. NULL without deltas of the memory block.
  swap_ins,
  -- Pages swapped out. NULL without deltas of the memory block.
  swap_outs,
  -- KiB read from disks. NULL without deltas of the memory block.
  disk_reads_kib,
  -- KiB written to disks. NULL without deltas of the memory block.
  disk_writes_kib,
  -- Page faults. NULL without deltas of the memory block.
  faults,
  -- Page faults that needed I/O. NULL without deltas of the memory block.
  major_faults,
  -- Elapsed seconds of the memory block. NULL without deltas of the memory
  -- block.
  memory_seconds,
  -- Bytes received. NULL without deltas of the network block.
  received_bytes,
  -- Bytes sent. NULL without deltas of the network block.
  sent_bytes,
  -- Packets received. NULL without deltas of the network block.
  received_packets,
  -- Packets sent. NULL without deltas of the network block.
  sent_packets,
  -- Packets with errors or dropped. NULL without deltas of the network block.
  network_errors,
  -- Elapsed seconds of the network block. NULL without deltas of the network
  -- block.
  network_seconds
) AS
SELECT system,
       interval_end,
       userid,
       seconds,
       processors,
       busy_ticks / nullif(cpu_seconds * 100, 0) AS cpu_util,
       user_ticks / nullif(cpu_seconds * 100, 0) AS user_util,
       nice_ticks / nullif(cpu_seconds * 100, 0) AS nice_util,
       system_ticks / nullif(cpu_seconds * 100, 0) AS system_util,
       irq_ticks / nullif(cpu_seconds * 100, 0) AS irq_util,
       softirq_ticks / nullif(cpu_seconds * 100, 0) AS softirq_util,
       iowait_ticks / nullif(cpu_seconds * 100, 0) AS iowait_util,
       steal_ticks / nullif(cpu_seconds * 100, 0) AS steal_util,
       runnable,
       threads,
       load_1,
       load_5,
       load_15,
       memory_mib,
       free_mib,
       buffer_mib,
       cache_mib,
       used_mib,
       swap_used_mib,
       swap_ins / nullif(memory_seconds, 0) AS swap_in_rate,
       swap_outs / nullif(memory_seconds, 0) AS swap_out_rate,
       disk_reads_kib / nullif(memory_seconds, 0) AS disk_read_kib_rate,
       disk_writes_kib / nullif(memory_seconds, 0) AS disk_write_kib_rate,
       faults / nullif(memory_seconds, 0) AS fault_rate,
       major_faults / nullif(memory_seconds, 0) AS major_fault_rate,
       received_bytes / 1024.0 / nullif(network_seconds, 0)
         AS received_kib_rate,
       sent_bytes / 1024.0 / nullif(network_seconds, 0) AS sent_kib_rate,
       received_packets / nullif(network_seconds, 0)
         AS received_packet_rate,
       sent_packets / nullif(network_seconds, 0) AS sent_packet_rate,
       network_errors / nullif(network_seconds, 0) AS network_error_rate,
       busy_ticks,
       user_ticks,
       nice_ticks,
       system_ticks,
       irq_ticks,
       softirq_ticks,
       iowait_ticks,
       steal_ticks,
       cpu_seconds,
       swap_ins,
       swap_outs,
       disk_reads_kib,
       disk_writes_kib,
       faults,
       major_faults,
       memory_seconds,
       received_bytes,
       sent_bytes,
       received_packets,
       sent_packets,
       network_errors,
       network_seconds
FROM _linux_guest_interval;
