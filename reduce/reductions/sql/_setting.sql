-- Settings of a system in words, one row per system, setting and time from
-- which it has another value. A row is in force from valid_from until
-- valid_until.
CREATE OR REPLACE VIEW _setting AS
WITH every AS (
  SELECT system, position, label, setting_value, valid_from
  FROM _setting_value
  UNION
  SELECT system, position, label, setting_value, valid_from
  FROM _carried_setting
),
stepped AS (
  SELECT system,
         position,
         label,
         setting_value,
         valid_from,
         ROW_NUMBER() OVER w AS place,
         LAG(setting_value) OVER w AS before
  FROM every
  WINDOW w AS (
    PARTITION BY system, position
    ORDER BY valid_from, setting_value
  )
),
changed AS (
  SELECT system, position, label, setting_value, valid_from
  FROM stepped
  WHERE place = 1
    OR setting_value <> before
    OR (setting_value IS NULL) <> (before IS NULL)
)
SELECT system,
       -- Place in a listing, ascending.
       CAST(position AS BIGINT) AS position,
       -- What is set.
       label,
       -- Its value with its unit. NULL where the record does not tell it.
       setting_value,
       -- Since when, UTC: time of the configuration record, or end of the
       -- interval for what samples tell.
       valid_from,
       -- Time of the next value, UTC; NULL while none has followed.
       LEAD(valid_from) OVER (
         PARTITION BY system, position ORDER BY valid_from, setting_value
       ) AS valid_until
FROM changed;
