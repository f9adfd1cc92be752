-- What is known of a processor from configuration records, and for how long.
-- One row per system, processor and record (D1R5, D5R2); a row is in force from
-- valid_from until the next record of the same processor.
CREATE OR REPLACE VIEW _processor_configuration AS
WITH recorded AS (
  SELECT system,
         pfxcpuad AS cpu,
         tod AS valid_from,
         MAX(CAST(calflags AS INTEGER) & 64) AS master_flag
  FROM monitor.mtrprp
  GROUP BY system, pfxcpuad, tod
  UNION ALL
  -- If it was the master, another one is from then on: no record says which.
  SELECT system, pfxcpuad, tod, CAST(NULL AS INTEGER)
  FROM monitor.prcvof
  GROUP BY system, pfxcpuad, tod
)
SELECT system,
       -- Address of the processor.
       cpu,
       -- Time of the record, UTC.
       valid_from,
       -- Time of the next one, UTC; NULL while none has followed.
       LEAD(valid_from) OVER (
         PARTITION BY system, cpu ORDER BY valid_from
       ) AS valid_until,
       -- Whether it is the master processor: bit X'40' of MTRPRP_CALFLAGS,
       -- which is inferred and published nowhere. NULL when the record has no
       -- flags, and once the processor was varied off.
       master_flag > 0 AS is_master
FROM recorded;
