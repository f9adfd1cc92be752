-- Settings in force when the dumps that are read begin: the last that are kept
-- of the day before. No rows where all dumps are read.
CREATE OR REPLACE VIEW _carried_setting AS
WITH latest AS (
  SELECT system,
         place,
         label,
         setting_value,
         holds_from,
         ROW_NUMBER() OVER (
           PARTITION BY system, label
           ORDER BY interval_end DESC, holds_from DESC
         ) AS age
  FROM _kept_setting
)
SELECT system,
       -- Place in a listing, ascending.
       1000 - place AS position,
       -- What is set.
       label,
       -- Its value with its unit. NULL where no record tells it.
       setting_value,
       -- Since when, UTC.
       holds_from AS valid_from
FROM latest
WHERE age = 1;
