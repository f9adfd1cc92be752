-- A log of what happened, from the records that CP writes when it happens: one
-- row per event. What happens too often to be read is left out: ends of
-- transactions, moves between the scheduler's lists, terminal input, seeks.
-- Events are in the log only while MONITOR EVENT is on for their domain.
CREATE OR REPLACE VIEW events AS
WITH every AS (
  SELECT system,
         event_at,
         kind,
         system AS object,
         CAST(NULL AS VARCHAR) AS userid,
         CAST(NULL AS BIGINT) AS device,
         CAST(NULL AS BIGINT) AS cpu,
         event_text
  FROM _system_events
  UNION ALL
  SELECT system,
         event_at,
         kind,
         'processor ' || cpu AS object,
         CAST(NULL AS VARCHAR) AS userid,
         CAST(NULL AS BIGINT) AS device,
         cpu,
         event_text
  FROM _processor_events
  UNION ALL
  SELECT system,
         event_at,
         kind,
         userid AS object,
         userid,
         CAST(NULL AS BIGINT) AS device,
         CAST(NULL AS BIGINT) AS cpu,
         event_text
  FROM _user_events
  UNION ALL
  SELECT system,
         event_at,
         kind,
         'device ' || upper(lpad(to_hex(device), 4, '0')) AS object,
         CAST(NULL AS VARCHAR) AS userid,
         device,
         CAST(NULL AS BIGINT) AS cpu,
         event_text
  FROM _device_events
  UNION ALL
  SELECT system,
         event_at,
         kind,
         object,
         userid,
         device,
         CAST(NULL AS BIGINT) AS cpu,
         event_text
  FROM _object_events
),
ends AS (
  SELECT DISTINCT system, interval_end
  FROM meta.interval
  WHERE interval_end IS NOT NULL
),
spans AS (
  SELECT system,
         interval_end,
         LAG(interval_end) OVER (
           PARTITION BY system ORDER BY interval_end
         ) AS since
  FROM ends
)
SELECT e.system,
       -- End of the interval in which it happened, UTC; its own time where no
       -- sample followed.
       COALESCE(s.interval_end, e.event_at) AS interval_end,
       -- When it happened, UTC.
       e.event_at,
       -- What kind of thing happened: logon, logoff, vary on, monitor, data
       -- loss ...
       e.kind,
       -- What it happened to: a user, device, processor, segment, or the
       -- system. NULL where the record names none.
       e.object,
       -- User it is about. NULL where it is about none.
       e.userid,
       -- Number of the device it is about. NULL where it is about none.
       e.device,
       -- Address of the processor it is about. NULL where it is about none.
       e.cpu,
       -- What happened, in words.
       e.event_text
FROM every AS e
LEFT JOIN spans AS s
  ON s.system = e.system
  AND s.interval_end >= e.event_at
  AND (s.since IS NULL OR s.since < e.event_at);
