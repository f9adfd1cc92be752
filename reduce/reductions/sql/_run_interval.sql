-- Intervals of runs with the sums behind the columns of run_summary, one row
-- per run and measured interval: the samples from which it is told how sure a
-- difference of two runs is. Times are in TOD units, 4096 to the microsecond.
CREATE OR REPLACE VIEW _run_interval AS
WITH span AS (
  SELECT r.run_id,
         s.system,
         s.interval_end,
         ends_within(s.interval_end, r.steady_since, r.steady_until)
           AS is_steady,
         s.seconds,
         s.processors,
         s.processor_seconds,
         s.busy_tod,
         s.emulation_tod,
         s.cp_tod,
         s.xstor_pages,
         s.xstor_seconds,
         s.dasd_pages,
         s.spool_pages,
         s.starts,
         s.paging_seconds,
         s.users_logged_on,
         s.users_active,
         s.transactions,
         s.response_tod,
         s.transaction_seconds,
         s.doubts,
         date_diff('microsecond', TIMESTAMP '1970-01-01', s.interval_end)
           / 1e6 AS ends
  FROM meta.run AS r
  JOIN system_summary_by_time AS s
    ON s.system = r.system
    AND ends_within(s.interval_end, r.since, r.until)
  WHERE s.seconds IS NOT NULL
),
line AS (
  SELECT run_id,
         date_diff('microsecond', TIMESTAMP '1970-01-01', interval_end)
           / 1e6 AS line_ends,
         CAST(seconds AS DOUBLE) AS seconds,
         CAST(transactions AS DOUBLE) AS transactions
  FROM meta.throughput
),
part AS (
  SELECT s.run_id,
         s.interval_end,
         s.seconds,
         LEAST(l.line_ends, s.ends)
           - GREATEST(l.line_ends - l.seconds, s.ends - s.seconds) AS common,
         l.seconds AS line_seconds,
         l.transactions
  FROM span AS s
  JOIN line AS l
    ON l.run_id = s.run_id
    AND l.line_ends > s.ends - s.seconds
    AND l.line_ends - l.seconds < s.ends
  WHERE l.seconds <= 1.5e0 * s.seconds
),
load AS (
  SELECT run_id,
         interval_end,
         SUM(transactions * common / nullif(line_seconds, 0)) AS transactions
  FROM part
  GROUP BY run_id, interval_end
  -- Clocks that differ by milliseconds leave an interval covered.
  HAVING SUM(common) > 0.99e0 * MAX(seconds)
),
volumes AS (
  SELECT system,
         interval_end,
         -- Whole parts of 2**-32, for a mean that is the same in any order.
         CASE WHEN COUNT(busy_seconds) = COUNT(*) THEN AVG(
           FLOOR(busy_seconds / nullif(seconds, 0) * 4294967296e0 + 5e-1)
           / 4294967296e0
         ) END AS page_volume_busy,
         all_doubts(doubts) AS doubts
  FROM _page_volume_interval
  GROUP BY system, interval_end
)
SELECT s.run_id,
       s.system,
       s.interval_end,
       -- Whether it is part of the steady state.
       s.is_steady,
       s.seconds,
       s.processors,
       s.processor_seconds,
       s.busy_tod,
       s.emulation_tod,
       s.cp_tod,
       m.master_seconds,
       m.master_busy_tod,
       m.master_emulation_tod,
       m.master_cp_tod,
       m.spins,
       m.spin_tod,
       s.xstor_pages,
       x.migrated_pages AS xstor_migrations,
       s.xstor_seconds,
       s.dasd_pages,
       g.dasd_reads,
       g.dasd_writes,
       s.spool_pages,
       s.starts,
       s.paging_seconds,
       m.moves_2g,
       m.steals,
       m.storage_seconds,
       d.diagnoses_44,
       d.seconds AS diagnose_seconds,
       m.users,
       m.resident_pages,
       m.xstor_pages AS user_xstor_pages,
       m.dasd_pages AS user_dasd_pages,
       -- All kinds of pages that the level has. NULL without USEACT records and
       -- without pages of expanded storage unless the level is known to have
       -- none: 6.3.0 and later.
       m.resident_pages + m.dasd_pages
         + CASE WHEN c.cp_level >= '0603' AND c.cp_level < ':' THEN 0
                ELSE m.xstor_pages END AS user_pages,
       -- Those that the records of the users count, else the frames that nobody
       -- else has. NULL without the field and before 5.2.0.
       COALESCE(CAST(m.resident_above_pages AS DOUBLE), a.resident_above_2g)
         AS resident_above_2g,
       s.users_logged_on,
       s.users_active,
       s.transactions,
       s.response_tod,
       s.transaction_seconds,
       -- Share of time a page volume was busy, mean over the volumes, 0..1.
       -- NULL without STOASP records or IODDEV deltas.
       v.page_volume_busy,
       -- Transactions of the load generator: of each line of its companion the
       -- part that lies in the interval. NULL where no lines cover the
       -- interval, or only lines longer than one and a half intervals, which
       -- say nothing about one.
       l.transactions AS load_transactions,
       nullif(
         concat_ws(
           ', ', s.doubts, m.doubts, x.doubts, g.doubts, d.doubts, a.doubts,
           v.doubts
         ), ''
       ) AS doubts
FROM span AS s
LEFT JOIN system_summary2_by_time AS m
  ON m.system = s.system AND m.interval_end = s.interval_end
LEFT JOIN _system_configuration AS c
  ON c.system = s.system
  AND as_of(s.interval_end, c.valid_from, c.valid_until)
LEFT JOIN _xstor_totals AS x
  ON x.system = s.system AND x.interval_end = s.interval_end
LEFT JOIN _paging_totals AS g
  ON g.system = s.system AND g.interval_end = s.interval_end
LEFT JOIN _diagnose_totals AS d
  ON d.system = s.system AND d.interval_end = s.interval_end
LEFT JOIN _storage_levels AS a
  ON a.system = s.system AND a.interval_end = s.interval_end
LEFT JOIN volumes AS v
  ON v.system = s.system AND v.interval_end = s.interval_end
LEFT JOIN load AS l
  ON l.run_id = s.run_id AND l.interval_end = s.interval_end;
