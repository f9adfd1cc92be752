-- What happened to things that have a name: saved segments, address spaces,
-- volumes of CP, channel paths, networks, pools; one row each. Two dumps that
-- both hold a record give one row.
CREATE OR REPLACE VIEW _object_events AS
WITH segments AS (
  SELECT system, tod, sdffn, 'saved' AS what FROM monitor.stoshs
  UNION ALL
  SELECT system, tod, sdffn, 'purged' AS what FROM monitor.stoshp
  UNION ALL
  SELECT system, tod, sdffn, 'loaded' AS what FROM monitor.stoshl
  UNION ALL
  SELECT system, tod, sdffn, 'unloaded' AS what FROM monitor.stoshd
),
terminals AS (
  SELECT system, tod, rdevsid, 'enabled' AS what FROM monitor.iodenb
  UNION ALL
  SELECT system, tod, rdevsid, 'disabled' AS what FROM monitor.ioddsb
),
spaces AS (
  SELECT system, tod, ascname, ascusrid, 'created' AS what FROM monitor.stoasc
  UNION ALL
  SELECT system, tod, ascname, ascusrid, 'deleted' AS what FROM monitor.stoasd
),
links AS (
  SELECT system, tod, nicowner, lanname, 'up' AS what FROM monitor.vndlsu
  UNION ALL
  SELECT system, tod, nicowner, lanname, 'down' AS what FROM monitor.vndlsd
),
switches AS (
  SELECT system, tod, lanname, lanrdd_rdev, 'failed' AS what
  FROM monitor.iodvsf
  UNION ALL
  SELECT system, tod, lanname, lanrdd_rdev, 'recovered' AS what
  FROM monitor.iodvsr
),
-- About nobody and no device.
alone AS (
  SELECT system, tod, 'saved segment' AS kind, sdffn AS object, what
  FROM segments
  UNION ALL
  SELECT system,
         tod,
         'terminal' AS kind,
         'subchannel ' || upper(lpad(to_hex(CAST(rdevsid AS BIGINT)), 4, '0'))
           AS object,
         what
  FROM terminals
  UNION ALL
  SELECT system,
         tod,
         'channel path' AS kind,
         'path ' || upper(lpad(to_hex(CAST(calchpid AS BIGINT)), 2, '0'))
           AS object,
         'deleted' AS what
  FROM monitor.ioddch
  UNION ALL
  SELECT system,
         tod,
         'CPU pool' AS kind,
         limpool AS object,
         CASE command WHEN 1 THEN 'defined' WHEN 2 THEN 'set'
           WHEN 3 THEN 'deleted' ELSE 'changed' END AS what
  FROM monitor.mtrcpd
  UNION ALL
  SELECT system,
         tod,
         'cluster' AS kind,
         calsysnm AS object,
         'state of the member changed' AS what
  FROM monitor.ssisch
),
of_users AS (
  SELECT system,
         tod,
         'address space' AS kind,
         ascname AS object,
         ascusrid AS userid,
         what || ' by ' || ascusrid AS what
  FROM spaces
  UNION ALL
  SELECT system,
         tod,
         'minidisk cache' AS kind,
         mdiouser || ' '
           || upper(lpad(to_hex(CAST(mdiovdev AS BIGINT)), 4, '0')) AS object,
         mdiouser AS userid,
         'setting changed by CP' AS what
  FROM monitor.iodmde
  UNION ALL
  SELECT system,
         tod,
         'guest link' AS kind,
         nicowner AS object,
         nicowner AS userid,
         'link to ' || lanname || ' ' || what AS what
  FROM links
),
of_devices AS (
  SELECT system,
         tod,
         'CP volume' AS kind,
         cpvolser AS object,
         CAST(NULL AS VARCHAR) AS userid,
         CAST(rdevdev AS BIGINT) AS device,
         caltype || ' area attached' AS what
  FROM monitor.stoatc
  UNION ALL
  SELECT system,
         tod,
         'QDIO' AS kind,
         'device ' || upper(lpad(to_hex(CAST(rdevdev AS BIGINT)), 4, '0'))
           AS object,
         vmduser AS userid,
         CAST(rdevdev AS BIGINT) AS device,
         'QDIO started by ' || vmduser AS what
  FROM monitor.iodqda
  UNION ALL
  SELECT system,
         tod,
         'virtual switch' AS kind,
         lanname AS object,
         CAST(NULL AS VARCHAR) AS userid,
         CAST(lanrdd_rdev AS BIGINT) AS device,
         what || ' at device '
           || upper(lpad(to_hex(CAST(lanrdd_rdev AS BIGINT)), 4, '0')) AS what
  FROM switches
)
SELECT system,
       -- When it happened, UTC.
       tod AS event_at,
       -- What kind of thing happened.
       kind,
       -- What it happened to.
       object,
       -- User it is about. NULL where it is about none.
       CAST(NULL AS VARCHAR) AS userid,
       -- Number of the device it is about. NULL where it is about none.
       CAST(NULL AS BIGINT) AS device,
       -- What happened, in words.
       what AS event_text
FROM alone
UNION
SELECT system,
       tod AS event_at,
       kind,
       object,
       userid,
       CAST(NULL AS BIGINT) AS device,
       what AS event_text
FROM of_users
UNION
SELECT system,
       tod AS event_at,
       kind,
       object,
       userid,
       device,
       what AS event_text
FROM of_devices;
