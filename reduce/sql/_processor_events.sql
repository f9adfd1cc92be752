-- What happened to processors, one row each. Two dumps that both hold a
-- record give one row.
CREATE OR REPLACE VIEW _processor_events (
  -- System.
  system,
  -- When it happened, UTC.
  event_at,
  -- What kind of thing happened.
  kind,
  -- Address of the processor.
  cpu,
  -- What happened, in words.
  event_text
) AS
SELECT system,
       tod AS event_at,
       'vary on' AS kind,
       CAST(pfxcpuad AS BIGINT) AS cpu,
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
FROM monitor.prccff;
