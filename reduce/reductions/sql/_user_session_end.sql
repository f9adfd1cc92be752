-- What users did between their last sample and their logoff, which no sample
-- shows (D4R2, USELOF), one row per user and interval with a logoff. The
-- counters at logoff less those of the last sample; of a session that began
-- behind it, all of them. A 32-bit counter that fell has wrapped.
CREATE OR REPLACE VIEW _user_session_end AS
WITH closed AS (
  SELECT DISTINCT system, interval_end, previous_end
  FROM meta.interval
  WHERE previous_end IS NOT NULL
),
ended AS (
  SELECT l.system,
         c.interval_end,
         c.previous_end,
         l.vmduser,
         l.vmdcpuad,
         l.tod_us,
         MAX(l.caltodon_at) AS logon_at,
         MAX(CAST(l.caltodon AS DOUBLE)) / 4096 - 2208988800000000 AS logon_us,
         MAX(CAST(l.vmdttime AS BIGINT)) AS vmdttime,
         MAX(CAST(l.vmdvtime AS BIGINT)) AS vmdvtime,
         MAX(CAST(l.vmdvdsct AS BIGINT)) AS vmdvdsct,
         MAX(CAST(l.vmdvusct AS BIGINT)) AS vmdvusct,
         MAX(CAST(l.vmdvtsct AS BIGINT)) AS vmdvtsct,
         MAX(CAST(l.vmdvcsct AS BIGINT)) AS vmdvcsct,
         MAX(CAST(l.vmdvosct AS BIGINT)) AS vmdvosct,
         MAX(CAST(l.calcppgr AS BIGINT)) AS calcppgr,
         MAX(CAST(l.calcppgw AS BIGINT)) AS calcppgw,
         MAX(CAST(l.calcpxrd AS BIGINT)) AS calcpxrd,
         MAX(CAST(l.calcpxwt AS BIGINT)) AS calcpxwt,
         MAX(CAST(l.calcpmig AS BIGINT)) AS calcpmig,
         MAX(CAST(l.calcppst AS BIGINT)) AS calcppst
  FROM monitor.uselof AS l
  INNER JOIN closed AS c
    ON c.system = l.system
    AND l.tod > c.previous_end
    AND l.tod <= c.interval_end
  GROUP BY l.system, c.interval_end, c.previous_end, l.vmduser, l.vmdcpuad,
           l.tod_us
),
grown AS (
  SELECT e.system,
         e.interval_end,
         e.vmduser,
         e.vmdcpuad,
         e.tod_us,
         MAX(e.tod_us - COALESCE(u.tod_us, e.logon_us)) / 1e6 AS seconds,
         MAX(e.vmdttime - COALESCE(CAST(u.vmdttime AS BIGINT), 0)) AS vmdttime,
         MAX(e.vmdvtime - COALESCE(CAST(u.vmdvtime AS BIGINT), 0)) AS vmdvtime,
         MAX((e.vmdvdsct - COALESCE(CAST(u.vmdvdsct AS BIGINT), 0)
              + 4294967296) % 4294967296) AS vmdvdsct,
         MAX((e.vmdvusct - COALESCE(CAST(u.vmdvusct AS BIGINT), 0)
              + 4294967296) % 4294967296) AS vmdvusct,
         MAX((e.vmdvtsct - COALESCE(CAST(u.vmdvtsct AS BIGINT), 0)
              + 4294967296) % 4294967296) AS vmdvtsct,
         MAX((e.vmdvcsct - COALESCE(CAST(u.vmdvcsct AS BIGINT), 0)
              + 4294967296) % 4294967296) AS vmdvcsct,
         MAX((e.vmdvosct - COALESCE(CAST(u.vmdvosct AS BIGINT), 0)
              + 4294967296) % 4294967296) AS vmdvosct,
         MAX((e.calcppgr - COALESCE(CAST(u.calcppgr AS BIGINT), 0)
              + 4294967296) % 4294967296) AS calcppgr,
         MAX((e.calcppgw - COALESCE(CAST(u.calcppgw AS BIGINT), 0)
              + 4294967296) % 4294967296) AS calcppgw,
         MAX((e.calcpxrd - COALESCE(CAST(u.calcpxrd AS BIGINT), 0)
              + 4294967296) % 4294967296) AS calcpxrd,
         MAX((e.calcpxwt - COALESCE(CAST(u.calcpxwt AS BIGINT), 0)
              + 4294967296) % 4294967296) AS calcpxwt,
         MAX((e.calcpmig - COALESCE(CAST(u.calcpmig AS BIGINT), 0)
              + 4294967296) % 4294967296) AS calcpmig,
         MAX((e.calcppst - COALESCE(CAST(u.calcppst AS BIGINT), 0)
              + 4294967296) % 4294967296) AS calcppst
  FROM ended AS e
  LEFT JOIN monitor.useact AS u
    ON u.system = e.system
    AND u.vmduser = e.vmduser
    AND u.vmdcpuad = e.vmdcpuad
    AND u.interval_end = e.previous_end
    AND (e.logon_at IS NULL OR e.logon_at <= e.previous_end)
  WHERE u.vmduser IS NOT NULL OR e.logon_at > e.previous_end
  GROUP BY e.system, e.interval_end, e.vmduser, e.vmdcpuad, e.tod_us
),
of_session AS (
  SELECT system,
         interval_end,
         vmduser,
         tod_us,
         MAX(seconds) AS seconds,
         SUM(vmdttime) AS vmdttime,
         SUM(vmdvtime) AS vmdvtime,
         SUM(vmdvdsct) AS vmdvdsct,
         SUM(vmdvusct) AS vmdvusct,
         SUM(vmdvtsct) AS vmdvtsct,
         SUM(vmdvcsct) AS vmdvcsct,
         SUM(vmdvosct) AS vmdvosct,
         SUM(calcppgr) AS calcppgr,
         SUM(calcppgw) AS calcppgw,
         SUM(calcpxrd) AS calcpxrd,
         SUM(calcpxwt) AS calcpxwt,
         SUM(calcpmig) AS calcpmig,
         SUM(calcppst) AS calcppst
  FROM grown
  GROUP BY system, interval_end, vmduser, tod_us
)
SELECT system,
       interval_end,
       -- User id.
       vmduser AS userid,
       -- Seconds from the last sample, or from logon, to logoff.
       SUM(seconds) AS seconds,
       -- Virtual and CP time (VMDTTIME), TOD units of 1/4096 microsecond.
       TRY_CAST(SUM(vmdttime) AS BIGINT) AS cpu_tod,
       -- Virtual time (VMDVTIME), TOD units.
       TRY_CAST(SUM(vmdvtime) AS BIGINT) AS virtual_tod,
       -- Virtual I/Os to DASD (VMDVDSCT).
       TRY_CAST(SUM(vmdvdsct) AS BIGINT) AS dasd_ios,
       -- Virtual I/Os to unit record devices (VMDVUSCT).
       TRY_CAST(SUM(vmdvusct) AS BIGINT) AS unit_record_ios,
       -- Virtual I/Os to tapes (VMDVTSCT).
       TRY_CAST(SUM(vmdvtsct) AS BIGINT) AS tape_ios,
       -- Virtual I/Os to consoles (VMDVCSCT).
       TRY_CAST(SUM(vmdvcsct) AS BIGINT) AS console_ios,
       -- Other virtual I/Os (VMDVOSCT), networks among them.
       TRY_CAST(SUM(vmdvosct) AS BIGINT) AS other_ios,
       -- Pages read from DASD for paging (CALCPPGR).
       TRY_CAST(SUM(calcppgr) AS BIGINT) AS page_reads,
       -- Pages written to DASD for paging (CALCPPGW).
       TRY_CAST(SUM(calcppgw) AS BIGINT) AS page_writes,
       -- Pages brought in from expanded storage (CALCPXRD).
       TRY_CAST(SUM(calcpxrd) AS BIGINT) AS xstor_ins,
       -- Pages moved out to expanded storage (CALCPXWT).
       TRY_CAST(SUM(calcpxwt) AS BIGINT) AS xstor_outs,
       -- Pages migrated from expanded storage to DASD (CALCPMIG).
       TRY_CAST(SUM(calcpmig) AS BIGINT) AS migrations,
       -- Pages stolen from the user (CALCPPST).
       TRY_CAST(SUM(calcppst) AS BIGINT) AS steals
FROM of_session
GROUP BY system, interval_end, vmduser;
