-- Real-storage counts of a system, one row per interval (D0R4).
CREATE OR REPLACE VIEW _storage_totals AS
SELECT system,
       interval_end,
       -- Elapsed seconds T, mean over the processors. NULL at a first sample.
       AVG(seconds) AS seconds,
       -- Pages moved below the 2 GB line (PLSMVB2G). NULL at a first sample.
       complete_sum(plsmvb2g) AS moves_2g,
       -- Frames stolen (PLSSTLFR). NULL at a first sample.
       complete_sum(plsstlfr) AS steals,
       all_doubts(doubts) AS doubts
FROM interval.sytrsp
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end;
