-- Processors online by type, one row per system and interval (D0R2).
CREATE OR REPLACE VIEW _online_processors AS
WITH cpu AS (
  SELECT DISTINCT
         system,
         interval_end AS valid_from,
         pfxcpuad AS cpu,
         CAST(pfxcputy AS BIGINT) AS cpu_type
  FROM monitor.sytprp
  WHERE interval_end IS NOT NULL
),
counted AS (
  SELECT system,
         valid_from,
         COUNT(*) AS processors,
         COUNT(CASE WHEN cpu_type = 0 THEN 1 END) AS cp,
         COUNT(CASE WHEN cpu_type = 2 THEN 1 END) AS zaap,
         COUNT(CASE WHEN cpu_type = 3 THEN 1 END) AS ifl,
         COUNT(CASE WHEN cpu_type = 4 THEN 1 END) AS icf,
         COUNT(CASE WHEN cpu_type = 5 THEN 1 END) AS ziip
  FROM cpu
  GROUP BY system, valid_from
)
SELECT system,
       -- End of the interval, UTC.
       valid_from,
       -- Processors of every type.
       processors,
       -- Central processors. NULL until the system has one.
       CASE WHEN MAX(cp) OVER w > 0 THEN cp END AS cp,
       -- zAAPs. NULL until the system has one.
       CASE WHEN MAX(zaap) OVER w > 0 THEN zaap END AS zaap,
       -- IFLs. NULL until the system has one.
       CASE WHEN MAX(ifl) OVER w > 0 THEN ifl END AS ifl,
       -- ICFs. NULL until the system has one.
       CASE WHEN MAX(icf) OVER w > 0 THEN icf END AS icf,
       -- zIIPs. NULL until the system has one.
       CASE WHEN MAX(ziip) OVER w > 0 THEN ziip END AS ziip
FROM counted
WINDOW w AS (PARTITION BY system ORDER BY valid_from);
