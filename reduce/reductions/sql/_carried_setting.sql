-- Settings in force when the dumps that are read begin: what cpmon reduce has
-- kept of the day before those that it computes. No rows where all dumps are
-- read.
CREATE OR REPLACE VIEW _carried_setting AS
SELECT system,
       -- Place in a listing, ascending.
       samples AS position,
       -- What is set.
       CAST(NULL AS VARCHAR) AS label,
       -- Its value with its unit. NULL where no record tells it.
       CAST(NULL AS VARCHAR) AS setting_value,
       -- Since when, UTC.
       interval_end AS valid_from
FROM meta.interval
WHERE 1 = 0;
