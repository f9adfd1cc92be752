-- Users logged on and CP's own count of transactions, one row per interval
-- (D0R8).
CREATE OR REPLACE VIEW _logon_totals AS
WITH sampled AS (
  SELECT system, interval_end, COUNT(DISTINCT vmduser) AS users
  FROM monitor.useact
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
counted AS (
  SELECT system,
         interval_end,
         SUM(seconds) AS seconds,
         AVG(CAST(sysusrs AS DOUBLE)) AS users_logged_on,
         AVG(CAST(sysusrs AS DOUBLE) - CAST(srmcdorm AS DOUBLE))
           AS users_active,
         complete_sum(
           calmptct + calmpnct + caluptct + calupnct + calqdnct
         ) AS transactions,
         complete_sum(
           calmptrv + calmpntr + caluptrv + calupntr + calqdntr
         ) AS response_tod,
         all_doubts(doubts) AS doubts
  FROM interval.sytusr
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT c.system,
       c.interval_end,
       -- Elapsed seconds T. NULL at a first sample.
       c.seconds,
       -- Users logged on, a level.
       c.users_logged_on,
       -- Users logged on and not dormant, a level.
       c.users_active,
       -- Transactions of all classes: trivial, non-trivial and quick dispatch,
       -- of guests with one and with several processors. NULL at a first
       -- sample.
       c.transactions,
       -- Time these transactions took, TOD units. NULL at a first sample.
       c.response_tod,
       nullif(
         concat_ws(
           ', ', c.doubts,
           CASE WHEN s.users > c.users_logged_on * 1.01e0 + 1
                THEN 'SYTUSR contradicts USEACT' END
         ), ''
       ) AS doubts
FROM counted AS c
LEFT JOIN sampled AS s
  ON s.system = c.system
  AND s.interval_end = c.interval_end;
