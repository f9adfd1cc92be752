-- Expanded-storage paging of a system, one row per interval (D0R5).
CREATE OR REPLACE VIEW _xstor_totals (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Elapsed seconds T, mean over the processors. NULL at a first sample.
  seconds,
  -- Pages moved into and out of expanded storage. NULL at a first sample.
  xstor_pages,
  -- Pages migrated out of expanded storage. NULL at a first sample.
  migrated_pages
) AS
SELECT system,
       interval_end,
       AVG(seconds) AS seconds,
       CAST(SUM(xstor_pages) AS BIGINT) AS xstor_pages,
       CAST(SUM(migrated_pages) AS BIGINT) AS migrated_pages
FROM _xstor_interval
GROUP BY system, interval_end;
