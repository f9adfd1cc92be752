-- How often high-frequency samples found each channel path busy, one row per
-- system, interval and path that was found busy by the end of that UTC day
-- (D0R9). Busy by whichever partition shares it; the samples do not measure
-- FICON paths.
CREATE OR REPLACE VIEW channels_by_time AS
WITH used AS (
  -- Most of the 256 entries are of no path. Paths used on later days have no
  -- row: rows of a day stay the same. An interval that ends within a second of
  -- a day counts to it.
  SELECT system,
         entry,
         CAST(interval_end - INTERVAL '1000001' MICROSECOND AS DATE) AS day
  FROM monitor.sytcpc_hfchbusy
  WHERE interval_end IS NOT NULL
  GROUP BY ALL
  HAVING MAX(hfchbusy) > 0
),
machine AS (
  -- What STORE CHANNEL PATH STATUS tells is not valid from the z990 (2084) on:
  -- earlier types are named, so that no later one needs to be known.
  SELECT system,
         tod AS valid_from,
         LEAD(tod) OVER (PARTITION BY system ORDER BY tod) AS valid_until,
         MIN(CASE WHEN pfxidmdl IN ('2003', '2064', '2066', '7060', '9672')
                  THEN 1 ELSE 0 END) AS samples_paths
  FROM monitor.mtrprp
  GROUP BY system, tod
)
SELECT b.system,
       b.interval_end,
       -- Id of the channel path, hexadecimal: the place of the entry, which is
       -- believed.
       upper(lpad(to_hex(CAST(b.entry AS BIGINT)), 2, '0')) AS channel,
       -- Elapsed seconds T of the record. NULL at a first sample.
       MAX(b.seconds) AS seconds,
       -- High-frequency samples taken (HFCOUNT). NULL without SYTCPC deltas.
       MAX(c.hfcount) AS samples,
       -- Samples that found the path busy (HFCHBUSY). NULL without SYTCPC
       -- deltas, on a z990 or a later machine, where the samples are not valid,
       -- and where no MTRPRP record tells the type of the machine.
       CASE WHEN MIN(m.samples_paths) = 1
            THEN MAX(b.hfchbusy) END AS busy_samples,
       all_doubts(nullif(concat_ws(', ', b.doubts, c.doubts), '')) AS doubts
FROM interval.sytcpc_hfchbusy AS b
JOIN used AS u
  ON u.system = b.system
  AND u.entry = b.entry
  AND u.day
    = CAST(b.interval_end - INTERVAL '1000001' MICROSECOND AS DATE)
LEFT JOIN interval.sytcpc AS c
  ON c.system = b.system
  AND c.interval_end = b.interval_end
  AND c.dump = b.dump
  AND c.record_offset = b.record_offset
LEFT JOIN machine AS m
  ON m.system = b.system
  AND as_of(b.interval_end, m.valid_from, m.valid_until)
WHERE b.interval_end IS NOT NULL
GROUP BY b.system, b.interval_end, b.entry;
