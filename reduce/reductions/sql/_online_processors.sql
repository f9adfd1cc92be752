-- Processors online by type, one row per system and interval (D0R2).
CREATE OR REPLACE VIEW _online_processors AS
WITH cpu AS (
  SELECT DISTINCT
         system,
         interval_end AS valid_from,
         pfxcpuad AS cpu,
         CAST(pfxcputy AS BIGINT) AS cpu_type,
         CASE WHEN cause = 'missing' THEN 1 ELSE 0 END AS missing,
         CASE WHEN cause = 'appeared' THEN 1 ELSE 0 END AS appeared
  FROM interval.sytprp
  WHERE interval_end IS NOT NULL
    AND (cause IS NULL OR cause <> 'ended')
),
counted AS (
  SELECT system,
         valid_from,
         COUNT(*) AS every,
         COUNT(CASE WHEN cpu_type = 0 THEN 1 END) AS cp,
         COUNT(CASE WHEN cpu_type = 2 THEN 1 END) AS zaap,
         COUNT(CASE WHEN cpu_type = 3 THEN 1 END) AS ifl,
         COUNT(CASE WHEN cpu_type = 4 THEN 1 END) AS icf,
         COUNT(CASE WHEN cpu_type = 5 THEN 1 END) AS ziip,
         MAX(missing) AS missing,
         MAX(appeared) AS appeared
  FROM cpu
  GROUP BY system, valid_from
),
known AS (
  -- A part of them is not what the system has: one whose record is missing has
  -- been sampled before, or will be without an event that it came.
  SELECT system,
         valid_from,
         every,
         cp,
         zaap,
         ifl,
         icf,
         ziip,
         missing = 0 AND COALESCE(
           LEAD(appeared) OVER (PARTITION BY system ORDER BY valid_from), 0
         ) = 0 AS is_whole
  FROM counted
)
SELECT system,
       -- End of the interval, UTC.
       valid_from,
       -- Processors of every type. NULL, like all below, where that of one is
       -- missing.
       CASE WHEN is_whole THEN every END AS processors,
       -- Central processors. NULL until the system has one.
       CASE WHEN MAX(cp) OVER w > 0 AND is_whole
            THEN cp END AS cp,
       -- zAAPs. NULL until the system has one.
       CASE WHEN MAX(zaap) OVER w > 0 AND is_whole
            THEN zaap END AS zaap,
       -- IFLs. NULL until the system has one.
       CASE WHEN MAX(ifl) OVER w > 0 AND is_whole
            THEN ifl END AS ifl,
       -- ICFs. NULL until the system has one.
       CASE WHEN MAX(icf) OVER w > 0 AND is_whole
            THEN icf END AS icf,
       -- zIIPs. NULL until the system has one.
       CASE WHEN MAX(ziip) OVER w > 0 AND is_whole
            THEN ziip END AS ziip
FROM known
WINDOW w AS (PARTITION BY system ORDER BY valid_from);
