-- The base device of an alias (PAV), and for how long, one row per system,
-- device and record that tells it (D1R6, D6R1, D6R20): what a control unit has,
-- records say of the base alone.
CREATE OR REPLACE VIEW _device_base AS
WITH recorded AS (
  SELECT system, tod, rdevdev, calrdevdev, calrdevsid FROM monitor.mtrdev
  UNION ALL
  SELECT system, tod, rdevdev, calrdevdev, calrdevsid FROM monitor.iodvon
  UNION ALL
  SELECT system, tod, rdevdev, calrdevdev, calrdevsid FROM monitor.iodstc
),
device AS (
  SELECT system,
         rdevdev AS device,
         tod AS valid_from,
         MAX(CAST(nullif(calrdevdev, 0) AS BIGINT)) AS base_device,
         MAX(CAST(calrdevsid AS BIGINT)) AS base_subchannel
  FROM recorded
  GROUP BY system, rdevdev, tod
)
SELECT system,
       -- Device number of the alias.
       device,
       -- Time of the record, UTC.
       valid_from,
       -- Time of the next one, UTC; NULL while none has followed.
       LEAD(valid_from) OVER (
         PARTITION BY system, device ORDER BY valid_from
       ) AS valid_until,
       -- Device number of its base. NULL of a device that is no alias.
       base_device,
       -- Subchannel number of its base. NULL likewise.
       CASE WHEN base_device IS NOT NULL THEN base_subchannel
       END AS base_subchannel
FROM device;
