-- What configuration records tell of a system, and for how long. One row per
-- system and record; a row is in force from valid_from until the next record
-- of the system.
CREATE OR REPLACE VIEW _system_configuration AS
WITH recorded AS (
  SELECT system,
         tod AS valid_from,
         MAX(hcpcpeid) AS cp_level,
         MAX(CAST(sysmt AS BIGINT)) AS multithreading
  FROM monitor.mtrsys
  GROUP BY system, tod
)
SELECT system,
       -- Time of the configuration record (D1R4), UTC.
       valid_from,
       -- Time of the next one, UTC; NULL while none has followed.
       LEAD(valid_from) OVER (
         PARTITION BY system ORDER BY valid_from
       ) AS valid_until,
       -- CP level as the record has it (MTRSYS_HCPCPEID): two digits each for
       -- version, release and modification, which is inferred.
       cp_level,
       -- The same as it is written, such as 5.2.0 (050200). Digits alone: two
       -- each for version, release and modification.
       CASE
         WHEN TRIM(translate(cp_level, '0123456789', '          ')) = ''
           AND cp_level <> ''
         THEN COALESCE(nullif(ltrim(substr(cp_level, 1, 2), '0'), ''), '0')
           || '.'
           || COALESCE(nullif(ltrim(substr(cp_level, 3, 2), '0'), ''), '0')
           || '.'
           || COALESCE(nullif(ltrim(substr(cp_level, 5, 2), '0'), ''), '0')
           || ' (' || cp_level || ')'
         ELSE cp_level END AS cp_level_text,
       -- Whether multithreading is enabled: MTRSYS_SYSMT is not 0, which is
       -- believed. NULL unless the page of MTRSYS has been imported.
       multithreading <> 0 AS is_multithreaded
FROM recorded;
