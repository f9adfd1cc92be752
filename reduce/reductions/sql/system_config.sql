-- What a system is made of and how it is set up, one row per system, interval
-- and setting that was in force at its end. Settings come from configuration
-- records, which CP writes when monitoring starts, and hold until another value
-- is told; processors online come from samples.
CREATE OR REPLACE VIEW system_config AS
WITH ends AS (
  SELECT system,
         interval_end,
         MAX(CASE WHEN previous_end IS NOT NULL THEN seconds ELSE 0e0 END)
           AS seconds
  FROM meta.interval
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT e.system,
       e.interval_end,
       -- Place in the listing, the greatest first.
       1000 - s.position AS place,
       s.label,
       -- Its value with its unit. NULL where no record tells it, as records of
       -- this release end before the field or no longer have it.
       s.setting_value,
       -- Since when it is known to have this value, UTC.
       s.valid_from AS holds_from,
       -- Elapsed seconds T, 0 at a first sample and behind a gap: what is set
       -- is known there, too.
       e.seconds
FROM ends AS e
JOIN _setting AS s
  ON s.system = e.system
  AND as_of(e.interval_end, s.valid_from, s.valid_until);
