-- What happened to devices, one row each. Two dumps that both hold a record
-- give one row.
CREATE OR REPLACE VIEW _device_events AS
SELECT system,
       -- When it happened, UTC.
       tod AS event_at,
       -- What kind of thing happened.
       'vary on' AS kind,
       -- Number of the device.
       CAST(rdevdev AS BIGINT) AS device,
       -- What happened, in words.
       'varied on' || COALESCE(', volume ' || nullif(rdevser, ''), '')
         AS event_text
FROM monitor.iodvon
UNION
SELECT system,
       tod AS event_at,
       'vary off' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'varied off' AS event_text
FROM monitor.iodvof
UNION
SELECT system,
       tod AS event_at,
       'vary on' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'subchannel varied on' AS event_text
FROM monitor.iodson
UNION
SELECT system,
       tod AS event_at,
       'vary off' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'subchannel varied off' AS event_text
FROM monitor.iodsof
UNION
SELECT system,
       tod AS event_at,
       'attach' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'attached to the system' AS event_text
FROM monitor.iodatd
UNION
SELECT system,
       tod AS event_at,
       'attach' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'attached as shared' AS event_text
FROM monitor.iodats
UNION
SELECT system,
       tod AS event_at,
       'detach' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'detached' AS event_text
FROM monitor.ioddtd
UNION
SELECT system,
       tod AS event_at,
       'measurement' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'measurement set on' AS event_text
FROM monitor.iodmon
UNION
SELECT system,
       tod AS event_at,
       'measurement' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'measurement set off' AS event_text
FROM monitor.iodmof
UNION
SELECT system,
       tod AS event_at,
       'device' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'deleted' AS event_text
FROM monitor.iodddv
UNION
SELECT system,
       tod AS event_at,
       'device' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'paths changed' AS event_text
FROM monitor.iodmdv
UNION
SELECT system,
       tod AS event_at,
       'device' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'state changed' || COALESCE(', volume ' || nullif(rdevser, ''), '')
         AS event_text
FROM monitor.iodstc
UNION
SELECT system,
       tod AS event_at,
       'throttle' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'throttle set on' AS event_text
FROM monitor.iodton
UNION
SELECT system,
       tod AS event_at,
       'throttle' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'throttle set off' AS event_text
FROM monitor.iodtof
UNION
SELECT system,
       tod AS event_at,
       'QDIO' AS kind,
       CAST(rdevdev AS BIGINT) AS device,
       'QDIO ended' AS event_text
FROM monitor.iodqdd;
