-- Sessions of users, changes of their virtual machines and of what the
-- scheduler is told about them, one row each. A logon or logoff of all
-- virtual processors of a user is one. Ends of transactions and moves between
-- the scheduler's lists are left out: there are too many. Two dumps that both
-- hold a record give one row.
CREATE OR REPLACE VIEW _user_events AS
WITH told AS (
  SELECT 'logon' AS kind,
         system,
         vmduser,
         vmdcpuad,
         tod_us,
         MIN(tod) AS event_at,
         MAX(CASE WHEN ascdefsz > 0 THEN ascdefsz + 1e0
                  ELSE vmdssize + 0e0
             END) / 1048576 AS mib,
         MAX(CAST(vmdrelsh AS BIGINT)) AS relative_share,
         MAX(CAST(vmdabssh AS BIGINT)) AS absolute_share,
         CAST(NULL AS DOUBLE) AS cpu_s,
         CAST(NULL AS DOUBLE) AS virtual_s,
         CAST(NULL AS DOUBLE) AS session_s
  FROM monitor.uselon
  GROUP BY system, vmduser, vmdcpuad, tod_us
  UNION ALL
  SELECT 'logoff',
         system,
         vmduser,
         vmdcpuad,
         tod_us,
         MIN(tod),
         NULL,
         NULL,
         NULL,
         MAX(CAST(vmdttime AS DOUBLE)) / 4096e6,
         MAX(CAST(vmdvtime AS DOUBLE)) / 4096e6,
         MAX(date_diff('microsecond', caltodon_at, tod) / 1e6)
  FROM monitor.uselof
  GROUP BY system, vmduser, vmdcpuad, tod_us
),
apart AS (
  -- A user's virtual processors come at once: what lies apart is a session.
  SELECT kind, system, vmduser, vmdcpuad, tod_us, event_at, mib, relative_share,
         absolute_share, cpu_s, virtual_s, session_s,
         CASE WHEN tod_us - LAG(tod_us) OVER (
                PARTITION BY kind, system, vmduser ORDER BY tod_us, vmdcpuad
              ) <= 1000000 THEN 0 ELSE 1
         END AS begins
  FROM told
),
numbered AS (
  SELECT kind, system, vmduser, event_at, mib, relative_share, absolute_share,
         cpu_s, virtual_s, session_s,
         SUM(begins) OVER (
           PARTITION BY kind, system, vmduser ORDER BY tod_us, vmdcpuad
           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
         ) AS session
  FROM apart
),
sessions AS (
  SELECT kind,
         system,
         vmduser,
         MIN(event_at) AS event_at,
         COUNT(*) AS processors,
         CAST(ROUND(MAX(mib)) AS BIGINT) AS mib,
         MAX(relative_share) AS relative_share,
         MAX(absolute_share) AS absolute_share,
         SUM(cpu_s) AS cpu_s,
         SUM(virtual_s) AS virtual_s,
         MAX(session_s) AS session_s
  FROM numbered
  GROUP BY kind, system, vmduser, session
)
SELECT system,
       -- When it happened, UTC.
       event_at AS event_at,
       -- What kind of thing happened.
       kind,
       -- User.
       vmduser AS userid,
       -- What happened, in words.
       COALESCE('storage ' || mib || ' MB, ', '')
         || CASE WHEN absolute_share > 0
                 THEN 'share absolute '
                   || CAST(absolute_share / 655.36e0 AS DECIMAL(9, 1)) || ' %, '
                 WHEN relative_share > 0
                 THEN 'share relative '
         || relative_share || ', '
                 ELSE ''
            END
         || processors || ' virtual processor'
         || CASE WHEN processors = 1 THEN '' ELSE 's' END AS event_text
FROM sessions
WHERE kind = 'logon'
UNION
SELECT system,
       event_at AS event_at,
       kind,
       vmduser AS userid,
       COALESCE(
         'CPU ' || CAST(cpu_s AS DECIMAL(18, 2))
         || ' s, virtual '
         || CAST(virtual_s AS DECIMAL(18, 2)) || ' s',
         'logged off'
       ) || COALESCE(
         ', session of '
         || CAST(ROUND(session_s / 60) AS BIGINT) || ' min',
         ''
       ) AS event_text
FROM sessions
WHERE kind = 'logoff'
UNION
SELECT system,
       tod AS event_at,
       'virtual processor' AS kind,
       vmduser AS userid,
       'processor ' || vmdcpuad || ' defined' AS event_text
FROM monitor.usedfc
UNION
SELECT system,
       tod AS event_at,
       'virtual processor' AS kind,
       vmduser AS userid,
       'processor ' || vmdcpuad || ' detached' AS event_text
FROM monitor.usedtc
UNION
SELECT system,
       tod AS event_at,
       'virtual processor' AS kind,
       vmduser AS userid,
       'processor ' || vmdcpuad || ' is now '
         || newcpuad AS event_text
FROM monitor.userdc
UNION
SELECT system,
       tod AS event_at,
       'guest system' AS kind,
       vmduser AS userid,
       concat_ws(
         ' ', nullif(scptype, ''), nullif(scpname, ''), nullif(callevel, '')
       ) AS event_text
FROM monitor.usescp
UNION
SELECT system,
       tod AS event_at,
       'SET SHARE' AS kind,
       vmduser AS userid,
       CASE WHEN vmdabssh > 0
                 THEN 'share absolute '
                   || CAST(vmdabssh / 655.36e0 AS DECIMAL(9, 1)) || ' %'
                 WHEN vmdrelsh > 0
                 THEN 'share relative ' || vmdrelsh
                 ELSE 'share changed'
            END AS event_text
FROM monitor.sclshr
UNION
SELECT system,
       tod AS event_at,
       'SET QUICKDSP' AS kind,
       vmduser AS userid,
       CASE WHEN vmdqdspu THEN 'quick dispatch on'
            WHEN NOT vmdqdspu THEN 'quick dispatch off'
            ELSE 'quick dispatch set'
       END AS event_text
FROM monitor.sclsqd
UNION
SELECT system,
       tod AS event_at,
       'SET IOPRIORITY' AS kind,
       vmduser AS userid,
       'I/O priority ' || newrqlo || ' to '
         || newrqhi AS event_text
FROM monitor.scliop
WHERE newrqlo IS NOT NULL
UNION
SELECT system,
       tod AS event_at,
       'CPU affinity' AS kind,
       vmduser AS userid,
       CASE WHEN vmdafsup THEN 'asked for but suppressed'
            WHEN vmdcpuaf THEN 'on'
            ELSE 'off'
       END AS event_text
FROM monitor.sclsca;
