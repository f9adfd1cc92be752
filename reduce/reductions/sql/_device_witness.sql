-- Whether devices count more I/Os than CP started, one row per system and
-- interval: IODDEV (D6R3) is counted by the channel subsystem, SYTSYP (D0R1) by
-- CP. Only while the same number of devices is sampled: what they count in all
-- then grows by no more than their I/Os, also if some begin anew at 0.
CREATE OR REPLACE VIEW _device_witness AS
WITH counted AS (
  SELECT system,
         dump,
         interval_end,
         COUNT(*) AS devices,
         SUM(CAST(scgssch AS DOUBLE)) AS starts
  FROM monitor.ioddev
  WHERE interval_end IS NOT NULL
  GROUP BY system, dump, interval_end
),
followed AS (
  SELECT system,
         interval_end,
         CASE WHEN devices = LAG(devices) OVER w
              THEN starts - LAG(starts) OVER w END AS starts,
         LAG(interval_end) OVER w AS previous_end
  FROM counted
  WINDOW w AS (PARTITION BY system, dump ORDER BY interval_end)
),
closed AS (
  SELECT DISTINCT system, interval_end, previous_end
  FROM meta.interval
  WHERE previous_end IS NOT NULL
),
compared AS (
  SELECT f.system,
         f.interval_end,
         MAX(f.starts) AS starts,
         MAX((1.02e0 + 1e0 / nullif(g.seconds, 0)) * g.starts + 100)
           AS most_starts
  FROM followed AS f
  JOIN closed AS c
    ON c.system = f.system
    AND c.interval_end = f.interval_end
    AND c.previous_end = f.previous_end
  JOIN _paging_totals AS g
    ON g.system = f.system
    AND g.interval_end = f.interval_end
  GROUP BY f.system, f.interval_end
)
SELECT system,
       interval_end,
       -- I/Os of all devices, or fewer. NULL while their number changes.
       starts,
       -- What that can be at most: those that CP started, and 2 %, those of a
       -- second and 100, since the records are taken one after another. NULL
       -- without SYTSYP deltas.
       most_starts,
       CASE WHEN starts > most_starts THEN 'SYTSYP contradicts IODDEV'
       END AS doubts
FROM compared;
