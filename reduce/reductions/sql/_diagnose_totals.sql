-- DIAGNOSE X'44', the voluntary end of a time slice, of a system; one row per
-- interval (D5R12).
CREATE OR REPLACE VIEW _diagnose_totals AS
WITH processor AS (
  SELECT system,
         interval_end,
         pfxcpuad AS cpu,
         SUM(seconds) AS seconds,
         complete_sum(diagnoses) AS diagnoses_44,
         all_doubts(doubts) AS doubts
  FROM interval.prcdia_diagnose
  WHERE interval_end IS NOT NULL
    -- Its entry, too: a key of the deltas, so that only this one is computed.
    AND entry = 17
    AND (code = '44' OR cause IN ('missing', 'ended'))
  GROUP BY system, interval_end, pfxcpuad
)
SELECT system,
       interval_end,
       -- Elapsed seconds T, mean over the processors. NULL at a first sample.
       AVG(seconds) AS seconds,
       -- DIAGNOSEs X'44' on the normal path (PLSDGX44). NULL at a first sample.
       complete_sum(diagnoses_44) AS diagnoses_44,
       all_doubts(doubts) AS doubts
FROM processor
GROUP BY system, interval_end;
