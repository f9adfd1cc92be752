-- What configuration records tell of a system, and for how long. One row per
-- system and record; a row is in force from valid_from until the next record
-- of the system.
CREATE OR REPLACE VIEW _system_configuration (
  -- System.
  system,
  -- Time of the configuration record (D1R4), UTC.
  valid_from,
  -- Time of the next one, UTC; NULL while none has followed.
  valid_until,
  -- CP level as the record has it (MTRSYS_HCPCPEID): two digits each for
  -- version, release and modification, which is inferred.
  cp_level
) AS
WITH recorded AS (
  SELECT system,
         tod AS valid_from,
         MAX(hcpcpeid) AS cp_level
  FROM monitor.mtrsys
  GROUP BY system, tod
)
SELECT system,
       valid_from,
       LEAD(valid_from) OVER (
         PARTITION BY system ORDER BY valid_from
       ) AS valid_until,
       cp_level
FROM recorded;
