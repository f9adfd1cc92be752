-- Transactions as CP counts them, by kind, one row per system and interval
-- (D0R8, SYTUSR).
CREATE OR REPLACE VIEW transactions_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Elapsed seconds T. NULL at a first sample.
  seconds,
  -- Transactions of all kinds. NULL without SYTUSR deltas.
  transactions,
  -- Transactions of all kinds per second. NULL without SYTUSR deltas.
  rate,
  -- Mean time of a transaction of any kind, seconds. NULL without transactions.
  response_s,
  -- Trivial transactions of guests with one processor per second. NULL without
  -- SYTUSR deltas.
  trivial_uni_rate,
  -- Mean time of trivial transactions of guests with one processor, seconds.
  -- NULL without transactions of that kind.
  trivial_uni_response_s,
  -- Non-trivial transactions of guests with one processor per second. NULL
  -- without SYTUSR deltas.
  nontrivial_uni_rate,
  -- Mean time of non-trivial transactions of guests with one processor,
  -- seconds. NULL without transactions of that kind.
  nontrivial_uni_response_s,
  -- Trivial transactions of guests with several processors per second. NULL
  -- without SYTUSR deltas.
  trivial_multi_rate,
  -- Mean time of trivial transactions of guests with several processors,
  -- seconds. NULL without transactions of that kind.
  trivial_multi_response_s,
  -- Non-trivial transactions of guests with several processors per second. NULL
  -- without SYTUSR deltas.
  nontrivial_multi_rate,
  -- Mean time of non-trivial transactions of guests with several processors,
  -- seconds. NULL without transactions of that kind.
  nontrivial_multi_response_s,
  -- Transactions of quick-dispatch users per second. NULL without SYTUSR
  -- deltas.
  quick_rate,
  -- Mean time of transactions of quick-dispatch users, seconds. NULL without
  -- transactions of that kind.
  quick_response_s,
  -- Time of transactions of all kinds, TOD units of 1/4096 microsecond. NULL
  -- without SYTUSR deltas.
  response_tod,
  -- Trivial transactions of guests with one processor (CALUPTCT). NULL without
  -- SYTUSR deltas.
  trivial_uni_count,
  -- Time of trivial transactions of guests with one processor (CALUPTRV), TOD
  -- units. NULL without SYTUSR deltas.
  trivial_uni_tod,
  -- Non-trivial transactions of guests with one processor (CALUPNCT). NULL
  -- without SYTUSR deltas.
  nontrivial_uni_count,
  -- Time of non-trivial transactions of guests with one processor (CALUPNTR),
  -- TOD units. NULL without SYTUSR deltas.
  nontrivial_uni_tod,
  -- Trivial transactions of guests with several processors (CALMPTCT). NULL
  -- without SYTUSR deltas.
  trivial_multi_count,
  -- Time of trivial transactions of guests with several processors (CALMPTRV),
  -- TOD units. NULL without SYTUSR deltas.
  trivial_multi_tod,
  -- Non-trivial transactions of guests with several processors (CALMPNCT). NULL
  -- without SYTUSR deltas.
  nontrivial_multi_count,
  -- Time of non-trivial transactions of guests with several processors
  -- (CALMPNTR), TOD units. NULL without SYTUSR deltas.
  nontrivial_multi_tod,
  -- Transactions of quick-dispatch users (CALQDNCT). NULL without SYTUSR
  -- deltas.
  quick_count,
  -- Time of transactions of quick-dispatch users (CALQDNTR), TOD units. NULL
  -- without SYTUSR deltas.
  quick_tod
) AS
WITH counted AS (
  SELECT system,
         interval_end,
         SUM(seconds) AS seconds,
         CAST(SUM(caluptct) AS BIGINT) AS trivial_uni_count,
         CAST(SUM(caluptrv) AS BIGINT) AS trivial_uni_tod,
         CAST(SUM(calupnct) AS BIGINT) AS nontrivial_uni_count,
         CAST(SUM(calupntr) AS BIGINT) AS nontrivial_uni_tod,
         CAST(SUM(calmptct) AS BIGINT) AS trivial_multi_count,
         CAST(SUM(calmptrv) AS BIGINT) AS trivial_multi_tod,
         CAST(SUM(calmpnct) AS BIGINT) AS nontrivial_multi_count,
         CAST(SUM(calmpntr) AS BIGINT) AS nontrivial_multi_tod,
         CAST(SUM(calqdnct) AS BIGINT) AS quick_count,
         CAST(SUM(calqdntr) AS BIGINT) AS quick_tod
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
         quick_tod
  FROM counted
)
SELECT system,
       interval_end,
       seconds,
       transactions,
       transactions / nullif(seconds, 0) AS rate,
       response_tod / 4096e6 / nullif(transactions, 0) AS response_s,
       trivial_uni_count / nullif(seconds, 0) AS trivial_uni_rate,
       trivial_uni_tod / 4096e6 / nullif(trivial_uni_count, 0)
         AS trivial_uni_response_s,
       nontrivial_uni_count / nullif(seconds, 0) AS nontrivial_uni_rate,
       nontrivial_uni_tod / 4096e6 / nullif(nontrivial_uni_count, 0)
         AS nontrivial_uni_response_s,
       trivial_multi_count / nullif(seconds, 0) AS trivial_multi_rate,
       trivial_multi_tod / 4096e6 / nullif(trivial_multi_count, 0)
         AS trivial_multi_response_s,
       nontrivial_multi_count / nullif(seconds, 0) AS nontrivial_multi_rate,
       nontrivial_multi_tod / 4096e6 / nullif(nontrivial_multi_count, 0)
         AS nontrivial_multi_response_s,
       quick_count / nullif(seconds, 0) AS quick_rate,
       quick_tod / 4096e6 / nullif(quick_count, 0)
         AS quick_response_s,
       response_tod,
       trivial_uni_count,
       trivial_uni_tod,
       nontrivial_uni_count,
       nontrivial_uni_tod,
       trivial_multi_count,
       trivial_multi_tod,
       nontrivial_multi_count,
       nontrivial_multi_tod,
       quick_count,
       quick_tod
FROM summed;
