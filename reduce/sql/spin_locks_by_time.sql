-- Spins on CP's formal locks, one row per system, interval and lock. From CP
-- 5.3.0 on SYTLCK tells of every lock; before, SYTSCG tells only of the
-- scheduler's lock and of the timer-request lock, which stand here under the
-- names that SYTLCK has for them. Shares are of one processor and are not
-- divided by the number of processors. The columns from spins on are the sums
-- behind them.
CREATE OR REPLACE VIEW spin_locks_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Name of the lock.
  lock,
  -- Elapsed seconds T. NULL at a first sample.
  seconds,
  -- Spins per second, exclusive and shared. NULL without a delta of SYTLCK or
  -- SYTSCG.
  spin_rate,
  -- Length of a spin, microseconds. NULL without spins.
  spin_us,
  -- Time spent spinning, as a share of one processor, 0 or more. NULL without a
  -- delta of SYTLCK or SYTSCG.
  spin_busy,
  -- Spins per second for exclusive use. NULL before CP 5.3.0, which does not
  -- tell them apart.
  exclusive_rate,
  -- Length of a spin for exclusive use, microseconds. NULL before CP 5.3.0 or
  -- without such spins.
  exclusive_us,
  -- Share of a processor spent in these, 0 or more. NULL before CP 5.3.0.
  exclusive_busy,
  -- Spins per second for shared use. NULL before CP 5.3.0, which does not tell
  -- them apart.
  shared_rate,
  -- Length of a spin for shared use, microseconds. NULL before CP 5.3.0 or
  -- without such spins.
  shared_us,
  -- Share of a processor spent in these, 0 or more. NULL before CP 5.3.0.
  shared_busy,
  -- Spins. NULL without a delta of SYTLCK or SYTSCG.
  spins,
  -- Time spent spinning, TOD units of 1/4096 microsecond. NULL without a delta
  -- of SYTLCK or SYTSCG.
  spin_tod,
  -- Spins for exclusive use. NULL before CP 5.3.0.
  exclusive_spins,
  -- Time spent in these, TOD units. NULL before CP 5.3.0.
  exclusive_tod,
  -- Spins for shared use. NULL before CP 5.3.0.
  shared_spins,
  -- Time spent in these, TOD units. NULL before CP 5.3.0.
  shared_tod
) AS
WITH named AS (
  SELECT system,
         interval_end,
         callckid AS lock,
         SUM(seconds) AS seconds,
         CAST(SUM(calxscnt + calsscnt) AS BIGINT) AS spins,
         CAST(SUM(calxtime + calstime) AS BIGINT) AS spin_tod,
         CAST(SUM(calxscnt) AS BIGINT) AS exclusive_spins,
         CAST(SUM(calxtime) AS BIGINT) AS exclusive_tod,
         CAST(SUM(calsscnt) AS BIGINT) AS shared_spins,
         CAST(SUM(calstime) AS BIGINT) AS shared_tod
  FROM interval.sytlck_lock
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, callckid
),
told AS (
  SELECT DISTINCT system, interval_end FROM named
),
counted AS (
  SELECT system,
         interval_end,
         'SRMSLOCK' AS lock,
         seconds,
         calslkct AS spins,
         calslktm AS spin_tod
  FROM interval.sytscg
  WHERE interval_end IS NOT NULL
  UNION ALL
  SELECT system,
         interval_end,
         'HCPTRQLK' AS lock,
         seconds,
         caltlkct AS spins,
         caltlktm AS spin_tod
  FROM interval.sytscg
  WHERE interval_end IS NOT NULL
),
every AS (
  SELECT system,
         interval_end,
         lock,
         seconds,
         spins,
         spin_tod,
         exclusive_spins,
         exclusive_tod,
         shared_spins,
         shared_tod
  FROM named
  UNION ALL
  SELECT c.system,
         c.interval_end,
         c.lock,
         SUM(c.seconds) AS seconds,
         CAST(SUM(c.spins) AS BIGINT) AS spins,
         CAST(SUM(c.spin_tod) AS BIGINT) AS spin_tod,
         CAST(NULL AS BIGINT) AS exclusive_spins,
         CAST(NULL AS BIGINT) AS exclusive_tod,
         CAST(NULL AS BIGINT) AS shared_spins,
         CAST(NULL AS BIGINT) AS shared_tod
  FROM counted AS c
  LEFT JOIN told AS t
    ON t.system = c.system
    AND t.interval_end = c.interval_end
  WHERE t.system IS NULL
  GROUP BY c.system, c.interval_end, c.lock
)
SELECT system,
       interval_end,
       lock,
       seconds,
       spins / nullif(seconds, 0) AS spin_rate,
       spin_tod / nullif(spins * 4096e0, 0) AS spin_us,
       spin_tod / nullif(seconds * 4096e6, 0) AS spin_busy,
       exclusive_spins / nullif(seconds, 0) AS exclusive_rate,
       exclusive_tod / nullif(exclusive_spins * 4096e0, 0) AS exclusive_us,
       exclusive_tod / nullif(seconds * 4096e6, 0) AS exclusive_busy,
       shared_spins / nullif(seconds, 0) AS shared_rate,
       shared_tod / nullif(shared_spins * 4096e0, 0) AS shared_us,
       shared_tod / nullif(seconds * 4096e6, 0) AS shared_busy,
       spins,
       spin_tod,
       exclusive_spins,
       exclusive_tod,
       shared_spins,
       shared_tod
FROM every;
