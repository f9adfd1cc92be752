-- Every measured run in one row, unrounded: what comparison tables print.
-- An interval belongs to a run when it ends after since, up to until, and to
-- its steady state when it also ends after steady_since, up to steady_until of
-- meta.run (ends_within). All figures are those of the steady state, which is
-- the whole run unless the run file says otherwise; processor time per
-- transaction alone is that of the whole run, as its warm-up has to be paid for
-- too. Rates are sums of deltas over sums of seconds; levels are means over
-- time, to which a sample counts as much as its interval is long.
CREATE OR REPLACE VIEW run_summary AS
WITH span AS (
  SELECT r.run_id,
         i.system,
         i.interval_end,
         i.seconds,
         ends_within(i.interval_end, r.steady_since, r.steady_until)
           AS is_steady
  FROM meta.run AS r
  JOIN _interval AS i
    ON i.system = r.system
    AND ends_within(i.interval_end, r.since, r.until)
  WHERE i.seconds IS NOT NULL
),
steady AS (
  SELECT run_id, COUNT(*) AS intervals, SUM(seconds) AS seconds
  FROM span
  WHERE is_steady
  GROUP BY run_id
),
whole AS (
  SELECT s.run_id,
         SUM(CASE WHEN p.busy_tod IS NOT NULL THEN p.seconds END) * 4096e3
           AS busy_elapsed,
         SUM(CASE WHEN p.emulation_tod IS NOT NULL THEN p.seconds END)
           * 4096e3 AS emulation_elapsed,
         CAST(SUM(p.busy_tod) AS DOUBLE) AS busy_tod,
         CAST(SUM(p.emulation_tod) AS DOUBLE) AS emulation_tod,
         CAST(SUM(p.cp_tod) AS DOUBLE) AS cp_tod,
         CAST(SUM(CASE WHEN s.is_steady THEN p.fast_entries END) AS DOUBLE)
           AS fast_entries,
         SUM(
           CASE WHEN s.is_steady AND p.fast_entries IS NOT NULL
                THEN p.seconds END
         ) AS fast_seconds
  FROM span AS s
  JOIN _processor_totals AS p
    ON p.system = s.system AND p.interval_end = s.interval_end
  GROUP BY s.run_id
),
volume AS (
  SELECT s.run_id,
         v.device,
         -- Whole parts of 2**-32, for a mean that is the same in any order.
         FLOOR(
           SUM(v.busy_seconds) / nullif(SUM(v.seconds), 0)
           * 4294967296e0 + 5e-1
         ) / 4294967296e0 AS busy
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
load AS (
  SELECT run_id,
         transactions / nullif(seconds, 0) AS run_tx_rate,
         steady_transactions / nullif(steady_seconds, 0) AS tx_rate
  FROM _run_throughput
)
SELECT r.run_id,
       -- System it was measured on.
       r.system,
       -- Start of the run, UTC, itself outside.
       r.since,
       -- End of the run, UTC.
       r.until,
       -- Run it is compared with. NULL when none was named.
       r.base_run_id,
       -- CP level, as the run file says. NULL when it does not say.
       r.cp_level,
       -- Users, as the run file says. NULL when it does not say.
       r.users,
       -- Processors, as the run file says. NULL when it does not say.
       r.processors,
       -- Intervals of the steady state with elapsed time, 0 or more.
       COALESCE(s.intervals, 0) AS intervals,
       -- Their elapsed seconds. NULL without measured intervals.
       s.seconds,
       CASE WHEN w.fast_entries IS NULL THEN NULL
            WHEN r.cp_level < '5.2' THEN 0e0
            ELSE w.fast_entries / nullif(w.fast_seconds, 0)
       END AS diag44_fast_rate,
       v.page_volumes,
       v.page_volume_busy,
       t.tx_rate,
       w.busy_tod / nullif(w.busy_elapsed * t.run_tx_rate, 0) AS cpu_per_tx_ms,
       w.cp_tod / nullif(w.emulation_elapsed * t.run_tx_rate, 0)
         AS cp_per_tx_ms,
       w.emulation_tod / nullif(w.emulation_elapsed * t.run_tx_rate, 0)
         AS emul_per_tx_ms,
       h.seconds AS hw_seconds,
       h.busy_seconds AS hw_busy_seconds,
       h.emulation_seconds AS hw_emulation_seconds
FROM meta.run AS r
LEFT JOIN steady AS s ON s.run_id = r.run_id
LEFT JOIN whole AS w ON w.run_id = r.run_id
LEFT JOIN volumes AS v ON v.run_id = r.run_id
LEFT JOIN load AS t ON t.run_id = r.run_id
LEFT JOIN _run_hardware AS h ON h.run_id = r.run_id;
