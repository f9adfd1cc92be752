-- Every measured run in one row, unrounded: what comparison tables print.
-- An interval belongs to a run when it ends behind since and not behind until,
-- and to its steady state when it also ends behind steady_since and not behind
-- steady_until of meta.run. All figures are those of the steady state, which is
-- the whole run unless the run file says otherwise; processor time per
-- transaction alone is that of the whole run, as its warm-up has to be paid for
-- too. Rates are sums of deltas over sums of seconds; levels are means over the
-- samples that end a measured interval.
CREATE OR REPLACE VIEW run_summary (
  -- Run.
  run_id,
  -- System it was measured on.
  system,
  -- Start of the run, UTC, itself outside.
  since,
  -- End of the run, UTC.
  until,
  -- Run it is compared with. NULL when none was named.
  base_run_id,
  -- CP level, as the run file says. NULL when it does not say.
  cp_level,
  -- Users, as the run file says. NULL when it does not say.
  users,
  -- Processors, as the run file says. NULL when it does not say.
  processors,
  -- Intervals of the steady state with elapsed time, 0 or more.
  intervals,
  -- Their elapsed seconds. NULL without measured intervals.
  seconds,
  -- Processors found in the records, mean. NULL without SYTPRP deltas.
  processors_measured,
  -- Share of processor time spent running, 0..1. NULL without SYTPRP deltas.
  total_util,
  -- Share of processor time under SIE, 0..1. NULL without SYTPRP deltas.
  emul_util,
  -- Share of processor time in CP, 0..1. NULL without SYTPRP deltas.
  cp_util,
  -- Running time over time under SIE, 1 or more. NULL without time under SIE.
  tv_ratio,
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
  -- Pages per second into and out of expanded storage. NULL without SYTXSP
  -- deltas.
  xstor_page_rate,
  -- Pages per second migrated out of expanded storage. NULL without SYTXSP
  -- deltas.
  xstor_migration_rate,
  -- Pages per second read from and written to DASD for paging. NULL without
  -- SYTSYP deltas.
  dasd_page_rate,
  -- Pages per second read from DASD for paging. NULL without SYTSYP deltas.
  dasd_read_rate,
  -- Pages per second written to DASD for paging. NULL without SYTSYP deltas.
  dasd_write_rate,
  -- Pages per second read and written for spooling. NULL without SYTSYP deltas.
  spool_rate,
  -- Start and resume subchannels per second. NULL without SYTSYP deltas.
  ssch_rate,
  -- Pages per second moved below the 2 GB line. NULL without SYTRSP deltas.
  move_2g_rate,
  -- Frames per second taken by the stealing scan. NULL without SYTRSP deltas.
  steal_rate,
  -- DIAGNOSEs X'44' per second on the normal path, all processors. NULL without
  -- PRCDIA deltas.
  diag44_rate,
  -- DIAGNOSEs X'44' per second on the fast path, all processors (inferred): the
  -- entries into guests by any fast path (SYTPRP_CALFSTPH), since the field for
  -- this one (PFXFST44) has no known place; so an upper bound. CP levels before
  -- 5.2.0 have no such path: 0, whatever else they count there. NULL without
  -- SYTPRP deltas.
  diag44_fast_rate,
  -- Users with a record, mean. NULL without USEACT records.
  users_measured,
  -- Resident pages per user, 4 KB each. NULL without USEACT records.
  resident_pages_per_user,
  -- Expanded-storage pages per user, 4 KB each. NULL without USEACT records.
  xstor_pages_per_user,
  -- DASD page slots per user, 4 KB each. NULL without USEACT records.
  dasd_pages_per_user,
  -- All three kinds of pages per user. NULL without USEACT records.
  total_pages_per_user,
  -- Pages below 2 GB that all users hold, 4 KB each. NULL without USEACT
  -- records.
  resident_below_2g,
  -- Pages above 2 GB that all users hold, 4 KB each (inferred): frames above
  -- 2 GB that are neither available nor CP's own nor minidisk cache. NULL
  -- without MTRMEM or SYTRSG records, or before 5.2.0, whose SYTRSG records do
  -- not say what is available.
  resident_above_2g,
  -- Users logged on, mean. NULL without SYTUSR records.
  users_logged_on,
  -- Users logged on and not dormant, mean. NULL without SYTUSR records.
  users_active,
  -- Transactions per second as CP counts them. NULL without SYTUSR deltas.
  transaction_rate,
  -- Mean time of such a transaction, seconds. NULL without transactions.
  response_s,
  -- Volumes with page slots and device activity. NULL without STOASP records.
  page_volumes,
  -- Share of time a page volume was busy, mean over the volumes, 0..1. NULL
  -- without STOASP records or IODDEV deltas.
  page_volume_busy,
  -- Transactions per second as the load generator counted them. NULL without a
  -- throughput companion.
  tx_rate,
  -- Processor milliseconds per transaction of the load generator, over the
  -- whole run. NULL without a throughput companion or SYTPRP deltas.
  cpu_per_tx_ms,
  -- CP milliseconds per transaction, over the whole run. NULL without a
  -- throughput companion or SYTPRP deltas.
  cp_per_tx_ms,
  -- Milliseconds under SIE per transaction, over the whole run. NULL without a
  -- throughput companion or SYTPRP deltas.
  emul_per_tx_ms,
  -- Pages read from and written to DASD per transaction. NULL without a
  -- throughput companion or SYTSYP deltas.
  dasd_pages_per_tx,
  -- Share of one processor per user, by hardware instrumentation, 0..1. NULL
  -- without a hardware companion, or without a count of users or processors.
  hw_total_util_per_user,
  -- Of this under SIE. NULL without a hardware companion, or without a count of
  -- users or processors.
  hw_emul_util_per_user,
  -- Of this in CP, from unrounded figures. NULL without a hardware companion,
  -- or without a count of users or processors.
  hw_cp_util_per_user
) AS
WITH span AS (
  SELECT r.run_id,
         i.system,
         i.interval_end,
         i.seconds,
         i.interval_end > r.steady_since AND i.interval_end <= r.steady_until
           AS is_steady
  FROM meta.run AS r
  JOIN _interval AS i
    ON i.system = r.system
    AND i.interval_end > r.since
    AND i.interval_end <= r.until
  WHERE i.seconds IS NOT NULL
),
measured AS (
  SELECT s.run_id,
         COUNT(*) AS intervals,
         SUM(s.seconds) AS seconds,
         AVG(p.processors) AS processors,
         SUM(p.seconds) AS rate_seconds,
         SUM(p.processor_seconds) * 4096e6 AS processor_tod,
         CAST(SUM(p.busy_tod) AS DOUBLE) AS busy_tod,
         CAST(SUM(p.emulation_tod) AS DOUBLE) AS emulation_tod,
         CAST(SUM(p.cp_tod) AS DOUBLE) AS cp_tod,
         SUM(p.master_seconds) * 4096e6 AS master_tod,
         CAST(SUM(p.master_busy_tod) AS DOUBLE) AS master_busy_tod,
         CAST(SUM(p.master_emulation_tod) AS DOUBLE) AS master_emulation_tod,
         CAST(SUM(p.master_cp_tod) AS DOUBLE) AS master_cp_tod,
         CAST(SUM(p.spins) AS DOUBLE) AS spins,
         CAST(SUM(p.spin_tod) AS DOUBLE) AS spin_tod,
         CAST(SUM(x.xstor_pages) AS DOUBLE) AS xstor_pages,
         CAST(SUM(x.migrated_pages) AS DOUBLE) AS migrated_pages,
         SUM(x.seconds) AS xstor_seconds,
         CAST(SUM(g.dasd_pages) AS DOUBLE) AS dasd_pages,
         CAST(SUM(g.dasd_reads) AS DOUBLE) AS dasd_reads,
         CAST(SUM(g.dasd_writes) AS DOUBLE) AS dasd_writes,
         CAST(SUM(g.spool_pages) AS DOUBLE) AS spool_pages,
         CAST(SUM(g.starts) AS DOUBLE) AS starts,
         SUM(g.seconds) AS paging_seconds,
         CAST(SUM(t.moves_2g) AS DOUBLE) AS moves_2g,
         CAST(SUM(t.steals) AS DOUBLE) AS steals,
         SUM(t.seconds) AS storage_seconds,
         CAST(SUM(d.diagnoses_44) AS DOUBLE) AS diagnoses_44,
         SUM(d.seconds) AS diagnose_seconds,
         CAST(SUM(p.fast_entries) AS DOUBLE) AS fast_entries,
         AVG(CAST(u.resident_pages AS DOUBLE)) AS resident_below_2g,
         AVG(a.resident_above_2g) AS resident_above_2g,
         AVG(u.users) AS users,
         CAST(SUM(u.users) AS DOUBLE) AS user_samples,
         CAST(SUM(u.resident_pages) AS DOUBLE) AS user_resident,
         CAST(SUM(u.xstor_pages) AS DOUBLE) AS user_xstor,
         CAST(SUM(u.dasd_pages) AS DOUBLE) AS user_dasd,
         AVG(l.users_logged_on) AS users_logged_on,
         AVG(l.users_active) AS users_active,
         CAST(SUM(l.transactions) AS DOUBLE) AS transactions,
         SUM(l.response_tod) / 4096e6 AS response_seconds,
         SUM(l.seconds) AS transaction_seconds
  FROM span AS s
  LEFT JOIN _processor_totals AS p
    ON p.system = s.system AND p.interval_end = s.interval_end
  LEFT JOIN _xstor_totals AS x
    ON x.system = s.system AND x.interval_end = s.interval_end
  LEFT JOIN _paging_totals AS g
    ON g.system = s.system AND g.interval_end = s.interval_end
  LEFT JOIN _storage_totals AS t
    ON t.system = s.system AND t.interval_end = s.interval_end
  LEFT JOIN _diagnose_totals AS d
    ON d.system = s.system AND d.interval_end = s.interval_end
  LEFT JOIN _storage_levels AS a
    ON a.system = s.system AND a.interval_end = s.interval_end
  LEFT JOIN _user_totals AS u
    ON u.system = s.system AND u.interval_end = s.interval_end
  LEFT JOIN _logon_totals AS l
    ON l.system = s.system AND l.interval_end = s.interval_end
  WHERE s.is_steady
  GROUP BY s.run_id
),
whole AS (
  SELECT s.run_id,
         SUM(p.seconds) * 4096e6 AS elapsed_tod,
         CAST(SUM(p.busy_tod) AS DOUBLE) AS busy_tod,
         CAST(SUM(p.emulation_tod) AS DOUBLE) AS emulation_tod,
         CAST(SUM(p.cp_tod) AS DOUBLE) AS cp_tod
  FROM span AS s
  JOIN _processor_totals AS p
    ON p.system = s.system AND p.interval_end = s.interval_end
  GROUP BY s.run_id
),
volume AS (
  SELECT s.run_id,
         v.device,
         SUM(v.busy_seconds) / nullif(SUM(v.seconds), 0) AS busy
  FROM span AS s
  JOIN _page_volume_interval AS v
    ON v.system = s.system AND v.interval_end = s.interval_end
  WHERE s.is_steady
  GROUP BY s.run_id, v.device
),
volumes AS (
  SELECT run_id, COUNT(busy) AS page_volumes, AVG(busy) AS page_volume_busy
  FROM volume
  GROUP BY run_id
),
rates AS (
  SELECT r.run_id,
         w.busy_tod / nullif(w.elapsed_tod, 0) AS busy_processors,
         w.cp_tod / nullif(w.elapsed_tod, 0) AS cp_processors,
         w.emulation_tod / nullif(w.elapsed_tod, 0) AS emulating_processors,
         t.transactions / nullif(t.seconds, 0) AS run_tx_rate,
         m.dasd_pages / nullif(m.paging_seconds, 0) AS dasd_page_rate,
         t.steady_transactions / nullif(t.steady_seconds, 0) AS tx_rate,
         h.seconds * COALESCE(CAST(r.processors AS DOUBLE), m.processors)
           * COALESCE(CAST(r.users AS DOUBLE), m.users) AS hardware_seconds,
         h.busy_seconds,
         h.emulation_seconds
  FROM meta.run AS r
  LEFT JOIN measured AS m ON m.run_id = r.run_id
  LEFT JOIN whole AS w ON w.run_id = r.run_id
  LEFT JOIN _run_throughput AS t ON t.run_id = r.run_id
  LEFT JOIN _run_hardware AS h ON h.run_id = r.run_id
)
SELECT r.run_id,
       r.system,
       r.since,
       r.until,
       r.base_run_id,
       r.cp_level,
       r.users,
       r.processors,
       COALESCE(m.intervals, 0) AS intervals,
       m.seconds,
       m.processors AS processors_measured,
       m.busy_tod / nullif(m.processor_tod, 0) AS total_util,
       m.emulation_tod / nullif(m.processor_tod, 0) AS emul_util,
       m.cp_tod / nullif(m.processor_tod, 0) AS cp_util,
       m.busy_tod / nullif(m.emulation_tod, 0) AS tv_ratio,
       m.master_busy_tod / nullif(m.master_tod, 0) AS master_total_util,
       m.master_emulation_tod / nullif(m.master_tod, 0) AS master_emul_util,
       m.master_cp_tod / nullif(m.master_tod, 0) AS master_cp_util,
       m.spins / nullif(m.rate_seconds, 0) AS spin_lock_rate,
       m.spin_tod / 4096e0 / nullif(m.spins, 0) AS spin_time_us,
       m.spin_tod / nullif(m.processor_tod, 0) AS pct_spin,
       m.xstor_pages / nullif(m.xstor_seconds, 0) AS xstor_page_rate,
       m.migrated_pages / nullif(m.xstor_seconds, 0) AS xstor_migration_rate,
       q.dasd_page_rate,
       m.dasd_reads / nullif(m.paging_seconds, 0) AS dasd_read_rate,
       m.dasd_writes / nullif(m.paging_seconds, 0) AS dasd_write_rate,
       m.spool_pages / nullif(m.paging_seconds, 0) AS spool_rate,
       m.starts / nullif(m.paging_seconds, 0) AS ssch_rate,
       m.moves_2g / nullif(m.storage_seconds, 0) AS move_2g_rate,
       m.steals / nullif(m.storage_seconds, 0) AS steal_rate,
       m.diagnoses_44 / nullif(m.diagnose_seconds, 0) AS diag44_rate,
       CASE WHEN m.fast_entries IS NULL THEN NULL
            WHEN r.cp_level < '5.2' THEN 0e0
            ELSE m.fast_entries / nullif(m.rate_seconds, 0)
       END AS diag44_fast_rate,
       m.users AS users_measured,
       m.user_resident / nullif(m.user_samples, 0) AS resident_pages_per_user,
       m.user_xstor / nullif(m.user_samples, 0) AS xstor_pages_per_user,
       m.user_dasd / nullif(m.user_samples, 0) AS dasd_pages_per_user,
       (m.user_resident + m.user_xstor + m.user_dasd)
         / nullif(m.user_samples, 0) AS total_pages_per_user,
       m.resident_below_2g,
       m.resident_above_2g,
       m.users_logged_on,
       m.users_active,
       m.transactions / nullif(m.transaction_seconds, 0) AS transaction_rate,
       m.response_seconds / nullif(m.transactions, 0) AS response_s,
       v.page_volumes,
       v.page_volume_busy,
       q.tx_rate,
       1000 * q.busy_processors / nullif(q.run_tx_rate, 0) AS cpu_per_tx_ms,
       1000 * q.cp_processors / nullif(q.run_tx_rate, 0) AS cp_per_tx_ms,
       1000 * q.emulating_processors / nullif(q.run_tx_rate, 0)
         AS emul_per_tx_ms,
       q.dasd_page_rate / nullif(q.tx_rate, 0) AS dasd_pages_per_tx,
       q.busy_seconds / nullif(q.hardware_seconds, 0) AS hw_total_util_per_user,
       q.emulation_seconds / nullif(q.hardware_seconds, 0)
         AS hw_emul_util_per_user,
       (q.busy_seconds - q.emulation_seconds) / nullif(q.hardware_seconds, 0)
         AS hw_cp_util_per_user
FROM meta.run AS r
LEFT JOIN measured AS m ON m.run_id = r.run_id
LEFT JOIN volumes AS v ON v.run_id = r.run_id
LEFT JOIN rates AS q ON q.run_id = r.run_id;
