-- Real storage, and that above 2 GB, and for how long: as the configuration
-- record says, and from then on with what SET STORAGE adds and removes. One row
-- per system and record, and per gap, in which a record may have been lost; a
-- row is in force from valid_from until the next one of the system. No sample
-- record has the size at every level.
CREATE OR REPLACE VIEW _memory_configuration AS
WITH told AS (
  SELECT system,
         tod,
         tod_us,
         1 AS is_config,
         CAST(COALESCE(rsagstor, rsastore) AS DOUBLE) AS bytes,
         CAST(rsagstor AS DOUBLE) AS all_bytes,
         0 AS removed,
         0 AS is_gap
  FROM monitor.mtrmem
  UNION ALL
  SELECT system, tod, tod_us, 0, CAST(calmemad AS DOUBLE),
         CAST(calmemad AS DOUBLE), 0, 0
  FROM monitor.stoadd
  UNION ALL
  -- How much was removed is in no field with a known place.
  SELECT system, tod, tod_us, 0, 0e0, 0e0, 1, 0
  FROM monitor.storem
  UNION ALL
  SELECT system, interval_end, complete_us, 0, 0e0, 0e0, 0, 1
  FROM _event_stretch
  WHERE complete_us IS NOT NULL
),
once AS (
  SELECT system,
         tod AS valid_from,
         MAX(tod_us) AS told_us,
         MAX(is_gap) AS is_gap,
         MAX(is_config) AS is_config,
         MAX(bytes) AS bytes,
         MAX(all_bytes) AS all_bytes,
         -- An addition without an amount is as little known as a removal.
         MAX(CASE WHEN removed = 1 OR (is_config = 0 AND bytes IS NULL)
             THEN 1 ELSE 0 END) AS removed
  FROM told
  GROUP BY system, tod
),
configured AS (
  SELECT system,
         valid_from,
         told_us,
         is_gap,
         bytes,
         all_bytes,
         removed,
         SUM(is_config) OVER (
           PARTITION BY system ORDER BY told_us
         ) AS configuration
  FROM once
),
recorded AS (
  SELECT system,
         valid_from,
         told_us,
         CASE WHEN configuration > 0 AND MAX(removed) OVER w = 0
              THEN SUM(bytes) OVER w END AS bytes,
         CASE WHEN configuration > 0 AND MAX(removed) OVER w = 0
              AND COUNT(all_bytes) OVER w = COUNT(*) OVER w
              THEN SUM(all_bytes) OVER w END / 4096 AS frames,
         CASE WHEN MAX(removed) OVER w = 1
              THEN 'real storage is not known since SET STORAGE'
              WHEN configuration > 0 AND MAX(is_gap) OVER w = 1
              THEN 'real storage may have changed: lost events' END AS doubts
  FROM configured
  WINDOW w AS (
    PARTITION BY system, configuration ORDER BY told_us
  )
)
SELECT system,
       -- Time of the record (D1R7, D3R21, D3R23), or end of a gap, UTC.
       valid_from,
       -- Time of the next one, UTC; NULL while none has followed.
       LEAD(valid_from) OVER (
         PARTITION BY system ORDER BY told_us, valid_from
       ) AS valid_until,
       -- Frames above 2 GB, 4 KB each, 0 or more: MTRMEM_RSAGSTOR, whose place
       -- is inferred, less 2 GB. NULL when the record ends before it.
       CASE WHEN frames > 524288 THEN frames - 524288
            WHEN frames IS NOT NULL THEN 0e0
       END AS frames_above_2g,
       -- Real storage, MiB (MTRMEM_RSAGSTOR, STOADD_CALMEMAD). NULL when the
       -- record ends before it, and from a removal on.
       frames / 256e0 AS real_mib,
       -- Real storage, bytes; from MTRMEM_RSASTORE if the record ends before.
       -- NULL from a removal on.
       bytes,
       doubts
FROM recorded;
