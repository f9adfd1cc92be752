-- Spins on CP's formal locks, one row per system, interval and lock. From CP
-- 5.3.0 on SYTLCK tells of every lock; before, SYTSCG tells only of the
-- scheduler's lock and of the timer-request lock, which stand here under the
-- names that SYTLCK has for them. Shares are of one processor and are not
-- divided by the number of processors. The columns from spins on are the sums
-- behind them.
CREATE OR REPLACE VIEW spin_locks_by_time AS
WITH named AS (
  SELECT system,
         interval_end,
         callckid AS lock,
         SUM(seconds) AS seconds,
         complete_sum(calxscnt + calsscnt) AS spins,
         complete_sum(calxtime + calstime) AS spin_tod,
         complete_sum(calxscnt) AS exclusive_spins,
         complete_sum(calxtime) AS exclusive_tod,
         complete_sum(calsscnt) AS shared_spins,
         complete_sum(calstime) AS shared_tod,
         all_doubts(doubts) AS doubts
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
         calslktm AS spin_tod,
         doubts
  FROM interval.sytscg
  WHERE interval_end IS NOT NULL
  UNION ALL
  SELECT system,
         interval_end,
         'HCPTRQLK' AS lock,
         seconds,
         caltlkct AS spins,
         caltlktm AS spin_tod,
         doubts
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
         shared_tod,
         doubts
  FROM named
  UNION ALL
  SELECT c.system,
         c.interval_end,
         c.lock,
         SUM(c.seconds) AS seconds,
         complete_sum(c.spins) AS spins,
         complete_sum(c.spin_tod) AS spin_tod,
         CAST(NULL AS BIGINT) AS exclusive_spins,
         CAST(NULL AS BIGINT) AS exclusive_tod,
         CAST(NULL AS BIGINT) AS shared_spins,
         CAST(NULL AS BIGINT) AS shared_tod,
         all_doubts(c.doubts) AS doubts
  FROM counted AS c
  LEFT JOIN told AS t
    ON t.system = c.system
    AND t.interval_end = c.interval_end
  WHERE t.system IS NULL
  GROUP BY c.system, c.interval_end, c.lock
)
SELECT system,
       interval_end,
       -- Name of the lock.
       lock,
       -- Elapsed seconds T. NULL at a first sample.
       seconds,
       -- Spins. NULL without a delta of SYTLCK or SYTSCG.
       spins,
       -- Time spent spinning, TOD units of 1/4096 microsecond. NULL without a
       -- delta of SYTLCK or SYTSCG.
       spin_tod,
       -- Spins for exclusive use. NULL without a SYTLCK delta.
       exclusive_spins,
       -- Time spent in these, TOD units. NULL without a SYTLCK delta.
       exclusive_tod,
       -- Spins for shared use. NULL without a SYTLCK delta.
       shared_spins,
       -- Time spent in these, TOD units. NULL without a SYTLCK delta.
       shared_tod,
       doubts
FROM every;
