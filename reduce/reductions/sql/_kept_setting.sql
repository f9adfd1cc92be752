-- What cpmon reduce has kept of SYSTEM_CONFIG for the day before those that it
-- computes. No rows where all dumps are read.
CREATE OR REPLACE VIEW _kept_setting AS
SELECT system,
       -- End of the interval, UTC.
       interval_end,
       -- Place in a listing, descending.
       samples AS place,
       -- What is set.
       CAST(NULL AS VARCHAR) AS label,
       -- Its value with its unit. NULL where no record tells it.
       CAST(NULL AS VARCHAR) AS setting_value,
       -- Since when, UTC.
       interval_end AS holds_from
FROM meta.interval
WHERE 1 = 0;
