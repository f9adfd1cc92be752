-- Frames of real storage, and pages that moved, by interval. Frames are of 4 KB
-- and as at the end of the interval, rates per second. The columns from
-- xstor_ins on are the sums behind the rates: over a longer span, divide the
-- sum of one by the sum of the other.
CREATE OR REPLACE VIEW paging_by_time AS
WITH frames AS (
  SELECT system,
         interval_end,
         MAX(CAST(rsapgabl AS BIGINT)) AS pageable_below,
         MAX(CAST(rsaavail AS BIGINT)) AS available_below,
         MAX(CAST(rsa2gavl AS BIGINT)) AS available_above,
         MAX(CAST(rsacplok AS BIGINT)) AS locked_below,
         MAX(CAST(rsacplkg AS BIGINT)) AS locked_above,
         MAX(CAST(rsacplkg AS BIGINT) + CAST(rsafsa2g AS BIGINT)
             + CAST(rsafsyua AS BIGINT)) AS fixed_above,
         all_doubts(doubts) AS doubts
  FROM interval.sytrsg
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
moved AS (
  SELECT system,
         interval_end,
         complete_sum(pfxpgin + plspgin) AS xstor_ins,
         complete_sum(plspgout) AS xstor_outs,
         all_doubts(doubts) AS doubts
  FROM interval.sytxsp
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
emptied AS (
  SELECT system,
         interval_end,
         complete_sum(plsalemp) AS below,
         complete_sum(plsalemg) AS above,
         all_doubts(doubts) AS doubts
  FROM interval.sytrsp
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
known AS (
  SELECT i.system,
         i.interval_end,
         i.seconds,
         nullif(concat_ws(', ', f.doubts, e.doubts), '') AS doubts,
         f.pageable_below AS pageable_below_2g,
         CASE WHEN c.frames_above_2g = 0 THEN 0e0
              ELSE c.frames_above_2g - f.fixed_above
         END AS pageable_above_2g,
         f.available_below AS available_below_2g,
         CASE WHEN c.frames_above_2g = 0 AND f.system IS NOT NULL THEN 0
              ELSE f.available_above
         END AS available_above_2g,
         f.locked_below AS locked_below_2g,
         CASE WHEN c.frames_above_2g = 0 AND f.system IS NOT NULL THEN 0
              ELSE f.locked_above
         END AS locked_above_2g,
         e.below AS empty_below_2g,
         CASE WHEN c.frames_above_2g = 0 AND e.below IS NOT NULL THEN 0
              ELSE e.above
         END AS empty_above_2g
  FROM _interval AS i
  LEFT JOIN frames AS f
    ON f.system = i.system AND f.interval_end = i.interval_end
  LEFT JOIN emptied AS e
    ON e.system = i.system AND e.interval_end = i.interval_end
  LEFT JOIN _memory_configuration AS c
    ON c.system = i.system
    AND as_of(i.interval_end, c.valid_from, c.valid_until)
)
SELECT k.system,
       k.interval_end,
       -- Elapsed seconds T. NULL at a first sample and behind a gap.
       k.seconds,
       -- Pageable frames below 2 GB (RSAPGABL). NULL without SYTRSG records.
       k.pageable_below_2g,
       -- Frames above 2 GB less those that CP has for free storage (RSAFSA2G)
       -- and other use (RSAFSYUA), and those locked by CP LOCK: inferred; 0
       -- where no storage is that high. NULL without MTRMEM and SYTRSG
       -- records.
       k.pageable_above_2g,
       -- Frames on the available list below 2 GB (RSAAVAIL). NULL without
       -- SYTRSG records.
       k.available_below_2g,
       -- Frames on the available list above 2 GB (RSA2GAVL); 0 where no storage
       -- is that high. NULL without SYTRSG records.
       k.available_above_2g,
       -- Frames below 2 GB locked by CP LOCK (RSACPLOK). NULL without SYTRSG
       -- records.
       k.locked_below_2g,
       -- Frames above 2 GB locked by CP LOCK (RSACPLKG); 0 where no storage is
       -- that high. NULL without SYTRSG records.
       k.locked_above_2g,
       -- Pages brought in from expanded storage, by the fast path as well. NULL
       -- without SYTXSP deltas.
       m.xstor_ins,
       -- Pages moved out to expanded storage. NULL without SYTXSP deltas.
       m.xstor_outs,
       -- Pages migrated out of expanded storage. NULL without SYTXSP deltas.
       x.migrated_pages AS xstor_migrations,
       -- Elapsed seconds of the expanded-storage records. NULL without SYTXSP
       -- deltas.
       x.seconds AS xstor_seconds,
       -- Pages read from DASD for paging. NULL without SYTSYP deltas.
       g.dasd_reads,
       -- Pages written to DASD for paging. NULL without SYTSYP deltas.
       g.dasd_writes,
       -- Elapsed seconds of the paging records. NULL without SYTSYP deltas.
       g.seconds AS paging_seconds,
       -- Frames stolen. NULL without SYTRSP deltas.
       r.steals,
       -- Times that the available list below 2 GB was empty. NULL without
       -- SYTRSP deltas.
       k.empty_below_2g,
       -- Times that the available list above 2 GB was empty; 0 where no storage
       -- is that high. NULL without SYTRSP deltas.
       k.empty_above_2g,
       -- Elapsed seconds of the real-storage records. NULL without SYTRSP
       -- deltas.
       r.seconds AS storage_seconds,
       nullif(
         concat_ws(', ', k.doubts, m.doubts, x.doubts, g.doubts, r.doubts), ''
       ) AS doubts
FROM known AS k
LEFT JOIN moved AS m
  ON m.system = k.system AND m.interval_end = k.interval_end
LEFT JOIN _xstor_totals AS x
  ON x.system = k.system AND x.interval_end = k.interval_end
LEFT JOIN _paging_totals AS g
  ON g.system = k.system AND g.interval_end = k.interval_end
LEFT JOIN _storage_totals AS r
  ON r.system = k.system AND r.interval_end = k.interval_end;
