-- An interval is in one dump only
-- Dumps of a system that close the same interval: a slice and the whole, or a
-- dump that was merged with another. Reductions count it once; SQL of your own
-- over schema monitor counts it twice.
-- severity: info
-- remedy: Nothing, if you meant it. Otherwise move the folder of the dump
-- that is part of another (records/system=S/date=D/dump=N) out of the store,
-- and run cpmon store repair.
SELECT system,
       interval_end,
       'interval' AS object,
       COUNT(DISTINCT dump) AS value,
       1 AS least,
       1 AS most
FROM meta.interval
GROUP BY system, interval_end;
