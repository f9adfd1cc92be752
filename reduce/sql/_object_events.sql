-- What happened to things that have a name: saved segments, address spaces,
-- volumes of CP, channel paths, networks, pools; one row each. Two dumps that
-- both hold a record give one row.
CREATE OR REPLACE VIEW _object_events (
  -- System.
  system,
  -- When it happened, UTC.
  event_at,
  -- What kind of thing happened.
  kind,
  -- What it happened to.
  object,
  -- User it is about. NULL where it is about none.
  userid,
  -- Number of the device it is about. NULL where it is about none.
  device,
  -- What happened, in words.
  event_text
) AS
SELECT system,
       tod AS event_at,
       'saved segment' AS kind,
       sdffn AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(NULL AS BIGINT) AS device,
       'saved' AS event_text
FROM monitor.stoshs
UNION
SELECT system,
       tod AS event_at,
       'saved segment' AS kind,
       sdffn AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(NULL AS BIGINT) AS device,
       'purged' AS event_text
FROM monitor.stoshp
UNION
SELECT system,
       tod AS event_at,
       'saved segment' AS kind,
       sdffn AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(NULL AS BIGINT) AS device,
       'loaded' AS event_text
FROM monitor.stoshl
UNION
SELECT system,
       tod AS event_at,
       'saved segment' AS kind,
       sdffn AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(NULL AS BIGINT) AS device,
       'unloaded' AS event_text
FROM monitor.stoshd
UNION
SELECT system,
       tod AS event_at,
       'address space' AS kind,
       ascname AS object,
       ascusrid AS userid,
       CAST(NULL AS BIGINT) AS device,
       'created by ' || ascusrid AS event_text
FROM monitor.stoasc
UNION
SELECT system,
       tod AS event_at,
       'address space' AS kind,
       ascname AS object,
       ascusrid AS userid,
       CAST(NULL AS BIGINT) AS device,
       'deleted by ' || ascusrid AS event_text
FROM monitor.stoasd
UNION
SELECT system,
       tod AS event_at,
       'CP volume' AS kind,
       cpvolser AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(rdevdev AS BIGINT) AS device,
       caltype || ' area attached' AS event_text
FROM monitor.stoatc
UNION
SELECT system,
       tod AS event_at,
       'QDIO' AS kind,
       'device ' || upper(lpad(to_hex(CAST(rdevdev AS BIGINT)), 4, '0'))
         AS object,
       vmduser AS userid,
       CAST(rdevdev AS BIGINT) AS device,
       'QDIO started by ' || vmduser AS event_text
FROM monitor.iodqda
UNION
SELECT system,
       tod AS event_at,
       'terminal' AS kind,
       'subchannel ' || upper(lpad(to_hex(CAST(rdevsid AS BIGINT)), 4, '0'))
         AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(NULL AS BIGINT) AS device,
       'enabled' AS event_text
FROM monitor.iodenb
UNION
SELECT system,
       tod AS event_at,
       'terminal' AS kind,
       'subchannel ' || upper(lpad(to_hex(CAST(rdevsid AS BIGINT)), 4, '0'))
         AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(NULL AS BIGINT) AS device,
       'disabled' AS event_text
FROM monitor.ioddsb
UNION
SELECT system,
       tod AS event_at,
       'channel path' AS kind,
       'path ' || upper(lpad(to_hex(CAST(calchpid AS BIGINT)), 2, '0'))
         AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(NULL AS BIGINT) AS device,
       'deleted' AS event_text
FROM monitor.ioddch
UNION
SELECT system,
       tod AS event_at,
       'minidisk cache' AS kind,
       mdiouser || ' ' || upper(lpad(to_hex(CAST(mdiovdev AS BIGINT)), 4, '0'))
         AS object,
       mdiouser AS userid,
       CAST(NULL AS BIGINT) AS device,
       'setting changed by CP' AS event_text
FROM monitor.iodmde
UNION
SELECT system,
       tod AS event_at,
       'virtual switch' AS kind,
       lanname AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(lanrdd_rdev AS BIGINT) AS device,
       'failed at device '
         || upper(lpad(to_hex(CAST(lanrdd_rdev AS BIGINT)), 4, '0'))
         AS event_text
FROM monitor.iodvsf
UNION
SELECT system,
       tod AS event_at,
       'virtual switch' AS kind,
       lanname AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(lanrdd_rdev AS BIGINT) AS device,
       'recovered at device '
         || upper(lpad(to_hex(CAST(lanrdd_rdev AS BIGINT)), 4, '0'))
         AS event_text
FROM monitor.iodvsr
UNION
SELECT system,
       tod AS event_at,
       'guest link' AS kind,
       nicowner AS object,
       nicowner AS userid,
       CAST(NULL AS BIGINT) AS device,
       'link to ' || lanname || ' up' AS event_text
FROM monitor.vndlsu
UNION
SELECT system,
       tod AS event_at,
       'guest link' AS kind,
       nicowner AS object,
       nicowner AS userid,
       CAST(NULL AS BIGINT) AS device,
       'link to ' || lanname || ' down' AS event_text
FROM monitor.vndlsd
UNION
SELECT system,
       tod AS event_at,
       'CPU pool' AS kind,
       limpool AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(NULL AS BIGINT) AS device,
       CASE command WHEN 1 THEN 'defined' WHEN 2 THEN 'set'
         WHEN 3 THEN 'deleted' ELSE 'changed' END AS event_text
FROM monitor.mtrcpd
UNION
SELECT system,
       tod AS event_at,
       'cluster' AS kind,
       calsysnm AS object,
       CAST(NULL AS VARCHAR) AS userid,
       CAST(NULL AS BIGINT) AS device,
       'state of the member changed' AS event_text
FROM monitor.ssisch;
