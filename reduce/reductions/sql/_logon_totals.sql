-- Users logged on and CP's own count of transactions, one row per interval
-- (D0R8).
CREATE OR REPLACE VIEW _logon_totals AS
SELECT system,
       interval_end,
       -- Elapsed seconds T. NULL at a first sample.
       SUM(seconds) AS seconds,
       -- Users logged on, a level.
       AVG(CAST(sysusrs AS DOUBLE)) AS users_logged_on,
       -- Users logged on and not dormant, a level.
       AVG(CAST(sysusrs AS DOUBLE) - CAST(srmcdorm AS DOUBLE)) AS users_active,
       -- Transactions of all classes: trivial, non-trivial and quick dispatch,
       -- of guests with one and with several processors. NULL at a first
       -- sample.
       complete_sum(
         calmptct + calmpnct + caluptct + calupnct + calqdnct
       ) AS transactions,
       -- Time these transactions took, TOD units. NULL at a first sample.
       complete_sum(
         calmptrv + calmpntr + caluptrv + calupntr + calqdntr
       ) AS response_tod,
       all_doubts(doubts) AS doubts
FROM interval.sytusr
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end;
