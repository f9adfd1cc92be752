-- What happened to a system and its monitoring, one row each. Two dumps that
-- both hold a record give one row.
CREATE OR REPLACE VIEW _system_events AS
SELECT system,
       -- When it happened, UTC.
       tod AS event_at,
       -- What kind of thing happened.
       'monitor' AS kind,
       -- What happened, in words.
       calcmd AS event_text
FROM monitor.mtrecm
WHERE calcmd IS NOT NULL
UNION
SELECT system,
       COALESCE(caltod_at, tod) AS event_at,
       'monitor' AS kind,
       calcmd AS event_text
FROM monitor.mtrscm
WHERE calcmd IS NOT NULL
UNION
SELECT system,
       tod AS event_at,
       'data loss' AS kind,
       lostrcct || ' event records lost' AS event_text
FROM monitor.mtrsus
WHERE lostrcct IS NOT NULL
UNION
SELECT system,
       tod AS event_at,
       'data loss' AS kind,
       'recording of events suspended' AS event_text
FROM monitor.mtrsos
UNION
SELECT system,
       interval_end AS event_at,
       'gap' AS kind,
       'no samples for ' || CASE WHEN seconds < 600
              THEN CAST(ROUND(seconds) AS BIGINT) || ' s'
              ELSE CAST(ROUND(seconds / 60) AS BIGINT)
                || ' min'
         END
         AS event_text
FROM meta.interval
WHERE gap AND seconds IS NOT NULL
UNION
SELECT system,
       interval_end AS event_at,
       'IPL' AS kind,
       'CP was loaded since the previous sample' AS event_text
FROM meta.interval
WHERE restart
UNION
SELECT system,
       interval_end AS event_at,
       'clock' AS kind,
       'the clock was set, or two intervals have this time' AS event_text
FROM meta.interval
WHERE clock_set
UNION
SELECT system,
       tod AS event_at,
       'SET SRM' AS kind,
       'IABIAS '
         || srmbiasi || ' ' || srmbiasd
         || ', DSPSLICE '
         || CAST(CAST(srmtslic AS DOUBLE) / 4096e3 AS DECIMAL(18, 3)) || ' ms'
         || ', LDUBUF ' || srmp1ldg
         || ' ' || srmp2ldg
         || ' ' || srmp3ldg
         || ', STORBUF ' || srmp1wss
         || ' ' || srmp2wss
         || ' ' || srmp3wss
         || ', DSPBUF ' || srml1dsp
         || ' ' || srml2dsp
         || ' ' || srml3dsp
         || ', MAXWSS ' || srmwssmp
         || COALESCE(', XSTORE ' || srmxpctg, '') AS event_text
FROM monitor.sclsrm
WHERE srmbiasi IS NOT NULL
UNION
SELECT system,
       tod AS event_at,
       'capability' AS kind,
       'CPU capability ' || cpucapab AS event_text
FROM monitor.mtrccc
WHERE cpucapab IS NOT NULL
UNION
SELECT system,
       tod AS event_at,
       'storage' AS kind,
       'standby '
         || CAST(ROUND(sysgstby / 1048576e0) AS BIGINT)
         || ' MB, reserved '
         || CAST(ROUND(sysgstrs / 1048576e0) AS BIGINT)
         || ' MB'
         AS event_text
FROM monitor.mtrmcc
WHERE sysgstby IS NOT NULL
UNION
SELECT system,
       tod AS event_at,
       'storage' AS kind,
       'central storage added'
         || COALESCE(
           ': ' || CAST(ROUND(calmemad / 1048576e0) AS BIGINT) || ' MB', ''
         ) AS event_text
FROM monitor.stoadd
UNION
SELECT system,
       tod AS event_at,
       'storage' AS kind,
       'central storage is about to be added or removed' AS event_text
FROM monitor.storst;
