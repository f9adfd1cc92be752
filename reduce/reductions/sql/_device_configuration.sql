-- What is known of a device from configuration records and from the events that
-- change it, and for how long. One row per system, device and record (D1R6,
-- D6R1, D6R5, D6R9, D6R11, D6R20); a row is in force from valid_from until the
-- next record of the same device.
CREATE OR REPLACE VIEW _device_configuration AS
WITH recorded AS (
  SELECT system,
         tod,
         rdevdev,
         rdevsid,
         rdevclas,
         rdevdvid,
         calmodln,
         rdevcuid,
         rdevcumn,
         rdevlpm,
         rdevchps
  FROM monitor.mtrdev
  UNION ALL
  SELECT system,
         tod,
         rdevdev,
         rdevsid,
         rdevclas,
         rdevdvid,
         calmodln,
         rdevcuid,
         rdevcumn,
         rdevlpm,
         rdevchps
  FROM monitor.iodvon
  UNION ALL
  SELECT system,
         tod,
         rdevdev,
         rdevsid,
         rdevclas,
         rdevdvid,
         calmodln,
         rdevcuid,
         rdevcumn,
         rdevlpm,
         rdevchps
  FROM monitor.iodatd
  UNION ALL
  SELECT system,
         tod,
         rdevdev,
         rdevsid,
         rdevclas,
         rdevdvid,
         calmodln,
         rdevcuid,
         rdevcumn,
         rdevlpm,
         rdevchps
  FROM monitor.iodats
  UNION ALL
  SELECT system,
         tod,
         rdevdev,
         rdevsid,
         rdevclas,
         rdevdvid,
         calmodln,
         rdevcuid,
         rdevcumn,
         rdevlpm,
         rdevchps
  FROM monitor.iodson
  UNION ALL
  SELECT system,
         tod,
         rdevdev,
         rdevsid,
         rdevclas,
         rdevdvid,
         calmodln,
         rdevcuid,
         rdevcumn,
         rdevlpm,
         rdevchps
  FROM monitor.iodstc
),
device AS (
  SELECT system,
         rdevdev AS device,
         tod AS valid_from,
         MAX(CAST(rdevsid AS BIGINT)) AS subchannel,
         MAX(CAST(rdevclas AS INTEGER)) AS device_class,
         MAX(rdevdvid) AS type_number,
         MAX(CAST(calmodln AS INTEGER)) AS model,
         MAX(rdevcuid) AS unit_number,
         MAX(CAST(rdevcumn AS BIGINT)) AS unit_model,
         MAX(CAST(rdevlpm AS INTEGER)) AS mask,
         -- In halves: a signed number cannot hold all eight ids.
         MAX(CAST(rdevchps // 4294967296 AS BIGINT)) AS first_paths,
         MAX(CAST(rdevchps % 4294967296 AS BIGINT)) AS last_paths
  FROM recorded
  GROUP BY system, rdevdev, tod
),
spelled AS (
  SELECT system,
         device,
         valid_from,
         subchannel,
         device_class,
         type_number || '-' || model AS device_type,
         unit_number || '-' || upper(to_hex(unit_model)) AS control_unit,
         mask,
         hexadecimal_half(first_paths) AS first_ids,
         hexadecimal_half(last_paths) AS last_ids
  FROM device
)
SELECT system,
       -- Device number.
       device,
       -- Time of the record, UTC.
       valid_from,
       -- Time of the next one, UTC; NULL while none has followed.
       LEAD(valid_from) OVER (
         PARTITION BY system, device ORDER BY valid_from
       ) AS valid_until,
       -- Subchannel number. NULL when the record has none.
       subchannel,
       -- Class code of the device: 4 is an ECKD disk, 2 a network or FCP device
       -- (believed). NULL when the record has none.
       device_class,
       -- Type and model, such as 3390-3. NULL when the record has none.
       device_type,
       -- Type and hexadecimal model of the control unit, such as 3990-E9. NULL
       -- when the record has none.
       control_unit,
       -- Ids of the channel paths that the path mask allows, such as 1A 2A;
       -- empty where it allows none. NULL when the record has none.
       path_ids(mask, first_ids, last_ids) AS paths
FROM spelled;
