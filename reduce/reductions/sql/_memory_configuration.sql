-- Real storage above 2 GB as configuration records tell it, and for how long.
-- One row per system and record; a row is in force from valid_from until the
-- next record of the system. No sample record has the size at every level.
CREATE OR REPLACE VIEW _memory_configuration AS
WITH recorded AS (
  SELECT system,
         tod AS valid_from,
         MAX(CAST(rsagstor AS DOUBLE)) / 4096 AS frames
  FROM monitor.mtrmem
  GROUP BY system, tod
)
SELECT system,
       -- Time of the configuration record (D1R7), UTC.
       valid_from,
       -- Time of the next one, UTC; NULL while none has followed.
       LEAD(valid_from) OVER (
         PARTITION BY system ORDER BY valid_from
       ) AS valid_until,
       -- Frames above 2 GB, 4 KB each, 0 or more: MTRMEM_RSAGSTOR, whose place
       -- is inferred, less 2 GB. NULL when the record ends before it.
       CASE WHEN frames > 524288 THEN frames - 524288
            WHEN frames IS NOT NULL THEN 0e0
       END AS frames_above_2g,
       -- Real storage, MiB (MTRMEM_RSAGSTOR). NULL when the record ends before
       -- it.
       frames / 256e0 AS real_mib
FROM recorded;
