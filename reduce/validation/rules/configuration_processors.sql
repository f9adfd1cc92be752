-- Every processor in the samples is in the configuration
-- Each processor of SYTPRP has a configuration record (MTRPRP), or an event
-- that it was varied on (PRCVON), in some dump of the system. The reports tell
-- master processor and type from it.
-- severity: warning
-- needs: sytprp
-- remedy: Land the dump that begins with the configuration records; look for
-- frames that are missing at its start (cpmon check).
WITH known AS (
  SELECT system, pfxcpuad FROM monitor.mtrprp
  UNION
  SELECT system, pfxcpuad FROM monitor.prcvon
),
seen AS (
  SELECT system, pfxcpuad, MAX(interval_end) AS interval_end
  FROM monitor.sytprp
  GROUP BY system, pfxcpuad
)
SELECT s.system,
       s.interval_end,
       'processor ' || s.pfxcpuad AS object,
       CAST(k.pfxcpuad IS NOT NULL AS INTEGER) AS value,
       1 AS least,
       1 AS most
FROM seen AS s
LEFT JOIN known AS k
  ON k.system = s.system
  AND k.pfxcpuad = s.pfxcpuad;
