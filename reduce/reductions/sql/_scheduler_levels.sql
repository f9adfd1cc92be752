-- Lengths of the scheduler's lists, one row per interval (D0R10).
CREATE OR REPLACE VIEW _scheduler_levels AS
SELECT system,
       interval_end,
       -- Users of classes 1 to 3 in the dispatch list, a level.
       AVG(CAST(srmc1dsp AS DOUBLE) + CAST(srmc2dsp AS DOUBLE)
           + CAST(srmc3dsp AS DOUBLE)) AS dispatch_list_users,
       -- Users of classes 1 to 3 in the eligible list, a level.
       AVG(CAST(srmc1elg AS DOUBLE) + CAST(srmc2elg AS DOUBLE)
           + CAST(srmc3elg AS DOUBLE)) AS eligible_list_users,
       all_doubts(doubts) AS doubts
FROM interval.sytscg
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end;
