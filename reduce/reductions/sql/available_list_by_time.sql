-- Frames that CP has at hand, against the thresholds between which it keeps
-- them, one row per system and interval. Frames are of 4 KB and as at the end
-- of the interval. The columns from empty_below_2g on are the sums behind the
-- rates.
CREATE OR REPLACE VIEW available_list_by_time AS
WITH thresholds AS (
  SELECT system,
         interval_end,
         MAX(CAST(rsaavllt AS BIGINT)) AS low_below,
         MAX(CAST(rsaavlht AS BIGINT)) AS high_below,
         MAX(CAST(rsaavllg AS BIGINT)) AS low_above,
         MAX(CAST(rsaavlhg AS BIGINT)) AS high_above,
         all_doubts(doubts) AS doubts
  FROM interval.storsg
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT p.system,
       p.interval_end,
       p.seconds,
       -- Frames below 2 GB under which CP takes pages from users
       -- (STORSG_RSAAVLLT). NULL without STORSG records.
       t.low_below AS low_below_2g,
       p.available_below_2g,
       -- Frames below 2 GB up to which it takes them then (RSAAVLHT). NULL
       -- without STORSG records.
       t.high_below AS high_below_2g,
       -- The same above 2 GB (RSAAVLLG). NULL without STORSG records.
       t.low_above AS low_above_2g,
       p.available_above_2g,
       -- The same above 2 GB (RSAAVLHG). NULL without STORSG records.
       t.high_above AS high_above_2g,
       p.empty_below_2g,
       p.empty_above_2g,
       p.steals,
       p.storage_seconds,
       nullif(concat_ws(', ', p.doubts, t.doubts), '') AS doubts
FROM paging_by_time AS p
LEFT JOIN thresholds AS t
  ON t.system = p.system AND t.interval_end = p.interval_end;
