-- Real storage above 2 GB that users hold, one row per interval (D0R3, D1R7),
-- for dumps in which USEACT_VMDCTPVG, the count of each user, has no known
-- place: frames that nobody else has (inferred). They are all, less the
-- available list (RSA2GAVL), frames locked by CP LOCK (RSACPLKG), minidisk
-- cache (TCMMNABV), and what CP has for free storage (RSAFSA2G) and other use
-- (RSAFSYUA). Records of levels before 5.2.0 have only the cache.
CREATE OR REPLACE VIEW _storage_levels AS
WITH sampled AS (
  SELECT system,
         interval_end,
         AVG(CAST(rsa2gavl AS DOUBLE) + CAST(rsacplkg AS DOUBLE)
             + CAST(tcmmnabv AS DOUBLE) + CAST(rsafsa2g AS DOUBLE)
             + CAST(rsafsyua AS DOUBLE)) AS other_frames,
         all_doubts(doubts) AS doubts
  FROM interval.sytrsg
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT s.system,
       s.interval_end,
       -- Frames above 2 GB held by users, 4 KB each; 0 where no storage is that
       -- high. NULL without a configuration record of the storage, and before
       -- 5.2.0.
       CASE WHEN c.frames_above_2g = 0 THEN 0e0
            ELSE c.frames_above_2g - s.other_frames
       END AS resident_above_2g,
       nullif(concat_ws(', ', s.doubts, c.doubts), '') AS doubts
FROM sampled AS s
LEFT JOIN _memory_configuration AS c
  ON c.system = s.system
  AND as_of(s.interval_end, c.valid_from, c.valid_until);
