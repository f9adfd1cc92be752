-- Master processor, lock spinning, 2 GB moves and pages per user, by interval.
-- Shares are 0..1 of one processor, rates per second. The columns from
-- processor_seconds on are the sums behind them: over a longer span, divide the
-- sum of one by the sum of the other.
CREATE OR REPLACE VIEW system_summary2_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Elapsed seconds T. NULL at a first sample and behind a gap.
  seconds,
  -- Processors with a delta in the interval. NULL without SYTPRP records.
  processors,
  -- Share of time the master processor ran, 0..1. NULL without SYTPRP deltas or
  -- while MTRPRP records do not name the master.
  master_total_util,
  -- Share of time the master processor was under SIE, 0..1. NULL without SYTPRP
  -- deltas or while MTRPRP records do not name the master.
  master_emul_util,
  -- Share of time the master processor was in CP, 0..1. NULL without SYTPRP
  -- deltas or while MTRPRP records do not name the master.
  master_cp_util,
  -- Spins per second on CP locks, all processors. NULL without SYTPRP deltas.
  spin_lock_rate,
  -- Microseconds per spin, all locks together. NULL without spins.
  spin_time_us,
  -- Share of processor time spent spinning, 0..1. NULL without SYTPRP deltas.
  pct_spin,
  -- Pages per second moved below the 2 GB line. NULL without SYTRSP deltas.
  move_2g_rate,
  -- Frames per second taken by the stealing scan. NULL without SYTRSP deltas.
  steal_rate,
  -- Resident pages per user, 4 KB each. NULL without USEACT records.
  resident_pages_per_user,
  -- Expanded-storage pages per user, 4 KB each. NULL without USEACT records.
  xstor_pages_per_user,
  -- DASD page slots per user, 4 KB each. NULL without USEACT records.
  dasd_pages_per_user,
  -- Elapsed seconds summed over the processors. NULL without SYTPRP deltas.
  processor_seconds,
  -- Elapsed seconds of the master processor. NULL while it is not known.
  master_seconds,
  -- Master processor running, TOD units of 1/4096 microsecond. NULL while it is
  -- not known.
  master_busy_tod,
  -- Master processor under SIE, TOD units. NULL while it is not known.
  master_emulation_tod,
  -- Master processor in CP, TOD units. NULL while it is not known.
  master_cp_tod,
  -- Spinning, TOD units. NULL without SYTPRP deltas.
  spin_tod,
  -- Spins. NULL without SYTPRP deltas.
  spins,
  -- Pages moved below the 2 GB line. NULL without SYTRSP deltas.
  moves_2g,
  -- Frames taken by the stealing scan. NULL without SYTRSP deltas.
  steals,
  -- Elapsed seconds of the real-storage records. NULL without SYTRSP deltas.
  storage_seconds,
  -- Users with a record. NULL without USEACT records.
  users,
  -- Resident pages of all users. NULL without USEACT records.
  resident_pages,
  -- Expanded-storage pages of all users. NULL without USEACT records.
  xstor_pages,
  -- DASD page slots of all users. NULL without USEACT records.
  dasd_pages
) AS
SELECT i.system,
       i.interval_end,
       i.seconds,
       p.processors,
       p.master_busy_tod / nullif(p.master_seconds * 4096e6, 0)
         AS master_total_util,
       p.master_emulation_tod / nullif(p.master_seconds * 4096e6, 0)
         AS master_emul_util,
       p.master_cp_tod / nullif(p.master_seconds * 4096e6, 0) AS master_cp_util,
       p.spins / nullif(p.seconds, 0) AS spin_lock_rate,
       p.spin_tod / 4096e0 / nullif(p.spins, 0) AS spin_time_us,
       p.spin_tod / nullif(p.processor_seconds * 4096e6, 0) AS pct_spin,
       r.moves_2g / nullif(r.seconds, 0) AS move_2g_rate,
       r.steals / nullif(r.seconds, 0) AS steal_rate,
       CAST(u.resident_pages AS DOUBLE) / nullif(u.users, 0)
         AS resident_pages_per_user,
       CAST(u.xstor_pages AS DOUBLE) / nullif(u.users, 0)
         AS xstor_pages_per_user,
       CAST(u.dasd_pages AS DOUBLE) / nullif(u.users, 0) AS dasd_pages_per_user,
       p.processor_seconds,
       p.master_seconds,
       p.master_busy_tod,
       p.master_emulation_tod,
       p.master_cp_tod,
       p.spin_tod,
       p.spins,
       r.moves_2g,
       r.steals,
       r.seconds AS storage_seconds,
       u.users,
       u.resident_pages,
       u.xstor_pages,
       u.dasd_pages
FROM _interval AS i
LEFT JOIN _processor_totals AS p
  ON p.system = i.system AND p.interval_end = i.interval_end
LEFT JOIN _storage_totals AS r
  ON r.system = i.system AND r.interval_end = i.interval_end
LEFT JOIN _user_totals AS u
  ON u.system = i.system AND u.interval_end = i.interval_end;
