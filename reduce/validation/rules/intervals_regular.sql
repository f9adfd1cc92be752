-- Intervals are as long as MONITOR was set to
-- Seconds from one interval's end to the next, as a share of the interval that
-- MTRSPR tells. Half an interval more or less is not told: CP samples late when
-- it is busy. Neither is the time to the first interval after CP was loaded
-- again. Longer ones hide others that are missing.
-- severity: warning
-- remedy: Look for a dump of the time between; if MONWRITE was too slow for the
-- monitor, give it more share. An interval that is too short was changed by
-- MONITOR SAMPLE INTERVAL, or a clock was set back.
SELECT DISTINCT system,
       interval_end,
       'interval' AS object,
       CASE WHEN NOT restart THEN seconds / nullif(nominal_s, 0) END AS value,
       0.5 AS least,
       1.5 AS most
FROM meta.interval;
