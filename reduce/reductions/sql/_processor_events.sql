-- What happened to processors, one row each. Two dumps that both hold a
-- record give one row.
CREATE OR REPLACE VIEW _processor_events AS
SELECT system,
       -- When it happened, UTC.
       tod AS event_at,
       -- What kind of thing happened.
       'vary on' AS kind,
       -- Address of the processor. NULL where the record's layout does not have
       -- it.
       CAST(pfxcpuad AS BIGINT) AS cpu,
       -- What happened, in words.
       'varied on' AS event_text
FROM monitor.prcvon
UNION
SELECT system,
       tod AS event_at,
       'vary off' AS kind,
       CAST(pfxcpuad AS BIGINT) AS cpu,
       'varied off' AS event_text
FROM monitor.prcvof
UNION
SELECT system,
       tod AS event_at,
       'crypto' AS kind,
       CAST(pfxcpuad AS BIGINT) AS cpu,
       'crypto facility on' AS event_text
FROM monitor.prccfn
UNION
SELECT system,
       tod AS event_at,
       'crypto' AS kind,
       CAST(pfxcpuad AS BIGINT) AS cpu,
       'crypto facility off' AS event_text
FROM monitor.prccff
UNION
SELECT system,
       tod AS event_at,
       'park' AS kind,
       CAST(NULL AS BIGINT) AS cpu,
       'processors parked or unparked' AS event_text
FROM monitor.prcpup;
