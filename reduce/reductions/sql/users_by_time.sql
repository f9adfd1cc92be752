-- What each user did, one row per system, interval and user, over all virtual
-- processors of the user. Shares are of one processor, rates per second, levels
-- are those of the sample. The columns from cpu_tod on are the sums behind
-- them. A user who logs off has a row for the time since the last sample
-- (D4R2), without levels; the time from logon to the first sample is in no row.
CREATE OR REPLACE VIEW users_by_time AS
WITH closed AS (
  SELECT DISTINCT system, interval_end, previous_end
  FROM meta.interval
  WHERE previous_end IS NOT NULL
),
-- What the counters at logoff are beyond those of the last sample; of a session
-- or a virtual processor that began behind it, all of them. A counter of 32
-- bits that fell by more than half of its range has wrapped.
session_end AS (
  SELECT l.system,
         c.interval_end,
         l.vmduser,
         l.caltodon_at,
         -- Whole parts of 2**-26 s, as the seconds of samples are.
         FLOOR(MAX(l.tod_us - COALESCE(
           u.tod_us, d.tod_us,
           l.tod_us - date_diff('microsecond', l.caltodon_at, l.tod)
         )) / 1e6 * 67108864e0 + 5e-1) / 67108864e0 AS seconds,
         MAX(counter_delta(
           l.vmdttime, COALESCE(u.vmdttime, 0), NULL, 9007199254740991
         )) AS vmdttime,
         MAX(l.vmdttime_mt1 - CASE WHEN u.vmduser IS NULL
             THEN 0 ELSE u.vmdttime_mt1 END) AS vmdttime_mt1,
         MAX(l.vmdttime_pro - CASE WHEN u.vmduser IS NULL
             THEN 0 ELSE u.vmdttime_pro END) AS vmdttime_pro,
         MAX(counter_delta(
           l.vmdvtime, COALESCE(u.vmdvtime, 0), NULL, 9007199254740991
         )) AS vmdvtime,
         MAX(counter_delta(
           l.vmdvdsct, COALESCE(u.vmdvdsct, 0), 4294967296, 2147483648
         )) AS vmdvdsct,
         MAX(counter_delta(
           l.vmdvusct, COALESCE(u.vmdvusct, 0), 4294967296, 2147483648
         )) AS vmdvusct,
         MAX(counter_delta(
           l.vmdvtsct, COALESCE(u.vmdvtsct, 0), 4294967296, 2147483648
         )) AS vmdvtsct,
         MAX(counter_delta(
           l.vmdvcsct, COALESCE(u.vmdvcsct, 0), 4294967296, 2147483648
         )) AS vmdvcsct,
         MAX(counter_delta(
           l.vmdvosct, COALESCE(u.vmdvosct, 0), 4294967296, 2147483648
         )) AS vmdvosct,
         MAX(counter_delta(
           l.calcppgr, COALESCE(u.calcppgr, 0), 4294967296, 2147483648
         )) AS calcppgr,
         MAX(counter_delta(
           l.calcppgw, COALESCE(u.calcppgw, 0), 4294967296, 2147483648
         )) AS calcppgw,
         MAX(counter_delta(
           l.calcpxrd, COALESCE(u.calcpxrd, 0), 4294967296, 2147483648
         )) AS calcpxrd,
         MAX(counter_delta(
           l.calcpxwt, COALESCE(u.calcpxwt, 0), 4294967296, 2147483648
         )) AS calcpxwt,
         MAX(counter_delta(
           l.calcpmig, COALESCE(u.calcpmig, 0), 4294967296, 2147483648
         )) AS calcpmig,
         MAX(counter_delta(
           l.calcppst, COALESCE(u.calcppst, 0), 4294967296, 2147483648
         )) AS calcppst
  FROM monitor.uselof AS l
  INNER JOIN closed AS c
    ON c.system = l.system
    AND l.tod > c.previous_end
    AND l.tod <= c.interval_end
  LEFT JOIN monitor.useact AS u
    ON u.system = l.system
    AND u.vmduser = l.vmduser
    AND u.vmdcpuad = l.vmdcpuad
    AND u.interval_end = c.previous_end
    AND (l.caltodon_at IS NULL OR l.caltodon_at <= c.previous_end)
  LEFT JOIN monitor.usedfc AS d
    ON d.system = l.system
    AND d.vmduser = l.vmduser
    AND d.vmdcpuad = l.vmdcpuad
    AND d.tod > c.previous_end
    AND d.tod <= l.tod
  WHERE u.vmduser IS NOT NULL
    OR d.vmduser IS NOT NULL
    OR l.caltodon_at > c.previous_end
  GROUP BY l.system, c.interval_end, l.vmduser, l.vmdcpuad, l.caltodon_at
),
-- Each virtual processor as sampled, and at logoff. A session, told by the time
-- of its logon, counts once: records of its processors differ by microseconds.
activity AS (
  SELECT system,
         interval_end,
         vmduser,
         seconds,
         CAST(NULL AS DOUBLE) AS session_seconds,
         vmdttime, vmdttime_mt1, vmdttime_pro, vmdvtime, vmdvdsct, vmdvusct,
         vmdvtsct, vmdvcsct, vmdvosct, calcppgr, calcppgw, calcpxrd, calcpxwt,
         calcpmig, calcppst, vmdctpvr, vmdctpvg, vmdctpvl, vmdwsspr, vmdctxbk,
         calctpgs, doubts
  FROM interval.useact
  WHERE interval_end IS NOT NULL
  UNION ALL
  SELECT system,
         interval_end,
         vmduser,
         CAST(NULL AS DOUBLE) AS seconds,
         CASE WHEN ROW_NUMBER() OVER (
                PARTITION BY system, interval_end, vmduser, caltodon_at
                ORDER BY seconds DESC
              ) = 1 THEN seconds END AS session_seconds,
         vmdttime, vmdttime_mt1, vmdttime_pro, vmdvtime, vmdvdsct, vmdvusct,
         vmdvtsct, vmdvcsct, vmdvosct, calcppgr, calcppgw, calcpxrd, calcpxwt,
         calcpmig, calcppst, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM session_end
),
used AS (
  SELECT system,
         interval_end,
         vmduser AS userid,
         CASE WHEN COUNT(session_seconds) = 0 THEN MAX(seconds)
              ELSE SUM(session_seconds) + COALESCE(MAX(seconds), 0)
         END AS seconds,
         complete_sum(vmdttime) AS cpu_tod,
         complete_sum(vmdttime_mt1) AS cpu_mt1_tod,
         complete_sum(vmdttime_pro) AS cpu_prorated_tod,
         complete_sum(vmdvtime) AS virtual_tod,
         complete_sum(vmdvdsct) AS dasd_ios,
         complete_sum(vmdvusct) AS unit_record_ios,
         complete_sum(vmdvtsct) AS tape_ios,
         complete_sum(vmdvcsct) AS console_ios,
         complete_sum(vmdvosct) AS other_ios,
         complete_sum(calcppgr) AS page_reads,
         complete_sum(calcppgw) AS page_writes,
         complete_sum(calcpxrd) AS xstor_ins,
         complete_sum(calcpxwt) AS xstor_outs,
         complete_sum(calcpmig) AS migrations,
         complete_sum(calcppst) AS steals,
         MAX(vmdctpvr) AS resident_pages,
         MAX(vmdctpvg) AS resident_above_pages,
         MAX(vmdctpvl) AS locked_pages,
         MAX(vmdwsspr) AS working_set_pages,
         MAX(vmdctxbk) AS xstor_pages,
         MAX(calctpgs) AS dasd_pages,
         all_doubts(doubts) AS doubts
  FROM activity
  GROUP BY system, interval_end, vmduser
),
-- Of processors of which some have no delta the number is not known.
online AS (
  SELECT system,
         interval_end,
         CASE WHEN COUNT(pfxcpuad) = COUNT(*)
              AND COUNT(DISTINCT pfxcpuad) = COUNT(
                DISTINCT CASE WHEN seconds IS NOT NULL THEN pfxcpuad END
              ) THEN COUNT(DISTINCT pfxcpuad) END AS processors,
         all_doubts(CASE WHEN seconds IS NULL THEN doubts END) AS doubts
  FROM interval.sytprp
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT u.system,
       u.interval_end,
       -- User id.
       u.userid,
       -- Elapsed seconds T of the user. NULL at a first sample.
       u.seconds,
       -- Seconds of all processors in that time: T times their number. NULL
       -- without SYTPRP deltas.
       u.seconds * p.processors AS system_seconds,
       -- Virtual and CP time (VMDTTIME), TOD units of 1/4096 microsecond. NULL
       -- without USEACT deltas.
       u.cpu_tod,
       -- The same as it would have been with one thread on each core
       -- (VMDTTIME_MT1). NULL where records lack it, or say 0 of time used.
       CASE WHEN u.cpu_mt1_tod > 0 OR u.cpu_mt1_tod = u.cpu_tod
            THEN u.cpu_mt1_tod END AS cpu_mt1_tod,
       -- Elapsed seconds for which that is known. NULL likewise.
       CASE WHEN u.cpu_mt1_tod > 0 OR u.cpu_mt1_tod = u.cpu_tod
            THEN u.seconds END AS mt1_seconds,
       -- The same in time of the core that threads share (VMDTTIME_PRO). NULL
       -- likewise.
       CASE WHEN u.cpu_prorated_tod > 0 OR u.cpu_prorated_tod = u.cpu_tod
            THEN u.cpu_prorated_tod END AS cpu_prorated_tod,
       -- Elapsed seconds for which that is known. NULL likewise.
       CASE WHEN u.cpu_prorated_tod > 0 OR u.cpu_prorated_tod = u.cpu_tod
            THEN u.seconds END AS prorated_seconds,
       -- Virtual time (VMDVTIME), TOD units. NULL without USEACT deltas.
       u.virtual_tod,
       -- Virtual I/Os to DASD (VMDVDSCT). NULL without USEACT deltas.
       u.dasd_ios,
       -- Virtual I/Os to unit record devices (VMDVUSCT). NULL without USEACT
       -- deltas.
       u.unit_record_ios,
       -- Virtual I/Os to tapes (VMDVTSCT). NULL without USEACT deltas.
       u.tape_ios,
       -- Virtual I/Os to consoles (VMDVCSCT). NULL without USEACT deltas.
       u.console_ios,
       -- Other virtual I/Os (VMDVOSCT), networks among them. NULL without
       -- USEACT deltas.
       u.other_ios,
       -- Pages read from DASD for paging (CALCPPGR). NULL without USEACT
       -- deltas.
       u.page_reads,
       -- Pages written to DASD for paging (CALCPPGW). NULL without USEACT
       -- deltas.
       u.page_writes,
       -- Pages brought in from expanded storage (CALCPXRD). NULL without USEACT
       -- deltas.
       u.xstor_ins,
       -- Pages moved out to expanded storage (CALCPXWT). NULL without USEACT
       -- deltas.
       u.xstor_outs,
       -- Pages migrated from expanded storage to DASD (CALCPMIG). NULL without
       -- USEACT deltas.
       u.migrations,
       -- Pages stolen from the user (CALCPPST). NULL without USEACT deltas.
       u.steals,
       -- Virtual I/Os of all kinds. NULL without USEACT deltas.
       u.dasd_ios + u.unit_record_ios + u.tape_ios + u.console_ios
         + u.other_ios AS ios,
       -- Pages read from and written to DASD. NULL without USEACT deltas.
       u.page_reads + u.page_writes AS pages_moved,
       -- Resident pages (VMDCTPVR: frames below 2 GB). NULL without a USEACT
       -- sample.
       u.resident_pages,
       -- Locked pages below 2 GB (VMDCTPVL). NULL without a USEACT sample.
       u.locked_pages,
       -- Projected working set, pages (VMDWSSPR). NULL without a USEACT sample.
       u.working_set_pages,
       -- Pages in expanded storage (VMDCTXBK). NULL without a USEACT sample.
       u.xstor_pages,
       -- Page slots on DASD (CALCTPGS). NULL without a USEACT sample.
       u.dasd_pages,
       -- Resident pages above 2 GB (VMDCTPVG). NULL while its place in USEACT
       -- records is not known.
       u.resident_above_pages,
       -- Relative share. NULL without MTRUSR or USELON records, or while the
       -- share is absolute.
       c.relative_share,
       -- Absolute share of the system, 0..1. NULL without MTRUSR or USELON
       -- records, or while the share is relative.
       c.absolute_share,
       -- Virtual storage, MiB. NULL without MTRUSR or USELON records.
       c.storage_mib,
       nullif(
         concat_ws(
           ', ', u.doubts, p.doubts, m.doubts,
           CASE WHEN c.stretch < g.stretch
                THEN 'shares may have changed: lost events' END,
           CASE WHEN g.is_suspended THEN 'events were lost' END
         ), ''
       ) AS doubts
FROM used AS u
LEFT JOIN _user_membership AS m
  ON m.system = u.system
  AND m.interval_end = u.interval_end
LEFT JOIN online AS p
  ON p.system = u.system
  AND p.interval_end = u.interval_end
LEFT JOIN _event_stretch AS g
  ON g.system = u.system
  AND g.interval_end = u.interval_end
LEFT JOIN _user_configuration AS c
  ON c.system = u.system
  AND c.userid = u.userid
  AND as_of(u.interval_end, c.valid_from, c.valid_until);
