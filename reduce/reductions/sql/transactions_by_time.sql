-- Transactions as CP counts them, by kind, one row per system and interval
-- (D0R8, SYTUSR).
CREATE OR REPLACE VIEW transactions_by_time AS
WITH counted AS (
  SELECT system,
         interval_end,
         SUM(seconds) AS seconds,
         complete_sum(caluptct) AS trivial_uni_count,
         complete_sum(caluptrv) AS trivial_uni_tod,
         complete_sum(calupnct) AS nontrivial_uni_count,
         complete_sum(calupntr) AS nontrivial_uni_tod,
         complete_sum(calmptct) AS trivial_multi_count,
         complete_sum(calmptrv) AS trivial_multi_tod,
         complete_sum(calmpnct) AS nontrivial_multi_count,
         complete_sum(calmpntr) AS nontrivial_multi_tod,
         complete_sum(calqdnct) AS quick_count,
         complete_sum(calqdntr) AS quick_tod,
         all_doubts(doubts) AS doubts
  FROM interval.sytusr
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
summed AS (
  SELECT system,
         interval_end,
         seconds,
         trivial_uni_count + nontrivial_uni_count + trivial_multi_count
           + nontrivial_multi_count + quick_count AS transactions,
         trivial_uni_tod + nontrivial_uni_tod + trivial_multi_tod
           + nontrivial_multi_tod + quick_tod AS response_tod,
         trivial_uni_count,
         trivial_uni_tod,
         nontrivial_uni_count,
         nontrivial_uni_tod,
         trivial_multi_count,
         trivial_multi_tod,
         nontrivial_multi_count,
         nontrivial_multi_tod,
         quick_count,
         quick_tod,
         doubts
  FROM counted
)
SELECT system,
       interval_end,
       -- Elapsed seconds T. NULL at a first sample.
       seconds,
       -- Transactions of all kinds. NULL without SYTUSR deltas.
       transactions,
       -- Time of transactions of all kinds, TOD units of 1/4096 microsecond.
       -- NULL without SYTUSR deltas.
       response_tod,
       -- Trivial transactions of guests with one processor (CALUPTCT). NULL
       -- without SYTUSR deltas.
       trivial_uni_count,
       -- Time of trivial transactions of guests with one processor (CALUPTRV),
       -- TOD units. NULL without SYTUSR deltas.
       trivial_uni_tod,
       -- Non-trivial transactions of guests with one processor (CALUPNCT). NULL
       -- without SYTUSR deltas.
       nontrivial_uni_count,
       -- Time of non-trivial transactions of guests with one processor
       -- (CALUPNTR), TOD units. NULL without SYTUSR deltas.
       nontrivial_uni_tod,
       -- Trivial transactions of guests with several processors (CALMPTCT).
       -- NULL without SYTUSR deltas.
       trivial_multi_count,
       -- Time of trivial transactions of guests with several processors
       -- (CALMPTRV), TOD units. NULL without SYTUSR deltas.
       trivial_multi_tod,
       -- Non-trivial transactions of guests with several processors (CALMPNCT).
       -- NULL without SYTUSR deltas.
       nontrivial_multi_count,
       -- Time of non-trivial transactions of guests with several processors
       -- (CALMPNTR), TOD units. NULL without SYTUSR deltas.
       nontrivial_multi_tod,
       -- Transactions of quick-dispatch users (CALQDNCT). NULL without SYTUSR
       -- deltas.
       quick_count,
       -- Time of transactions of quick-dispatch users (CALQDNTR), TOD units.
       -- NULL without SYTUSR deltas.
       quick_tod,
       doubts
FROM summed;
