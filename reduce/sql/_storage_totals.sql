-- Real-storage counts of a system, one row per interval (D0R4).
CREATE OR REPLACE VIEW _storage_totals (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Elapsed seconds T, mean over the processors. NULL at a first sample.
  seconds,
  -- Pages moved below the 2 GB line (PLSMVB2G). NULL at a first sample.
  moves_2g,
  -- Frames taken by the stealing scan (PLSSTLFR). NULL at a first sample.
  steals
) AS
SELECT system,
       interval_end,
       AVG(seconds) AS seconds,
       CAST(SUM(plsmvb2g) AS BIGINT) AS moves_2g,
       CAST(SUM(plsstlfr) AS BIGINT) AS steals
FROM interval.sytrsp
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end;
