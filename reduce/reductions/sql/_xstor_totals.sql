-- Expanded-storage paging of a system, one row per interval (D0R5).
CREATE OR REPLACE VIEW _xstor_totals AS
SELECT system,
       interval_end,
       -- Elapsed seconds T, mean over the processors. NULL at a first sample.
       AVG(seconds) AS seconds,
       -- Pages moved into and out of expanded storage. NULL at a first sample.
       complete_sum(xstor_pages) AS xstor_pages,
       -- Pages migrated out of expanded storage. NULL at a first sample.
       complete_sum(migrated_pages) AS migrated_pages,
       all_doubts(doubts) AS doubts
FROM _xstor_interval
GROUP BY system, interval_end;
