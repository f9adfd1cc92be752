-- Intervals are as long as MONITOR was set to
-- Seconds from one interval's end to the next, as a share of the interval that
-- MTRSPR or a MONITOR SAMPLE command tells. Half an interval more or less is
-- not told: CP samples late when it is busy. Neither is the time to the first
-- interval after CP was loaded again, nor the interval in which MONITOR was
-- started or set. Longer ones hide others that are missing.
-- severity: warning
-- remedy: Look for a dump of the time between; if MONWRITE was too slow for the
-- monitor, give it more share. Before an interval that is too short, a clock
-- was set back.
SELECT DISTINCT system,
       interval_end,
       'interval' AS object,
       CASE WHEN NOT restart AND nominal_s IS NOT NULL
            THEN seconds / nullif(usual_s, 0)
       END AS value,
       0.5 AS least,
       1.5 AS most
FROM meta.interval;
