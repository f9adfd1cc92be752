-- What each user did, one row per system, interval and user, over all virtual
-- processors of the user. Shares are of one processor, rates per second, levels
-- are those of the sample. The columns from cpu_tod on are the sums behind
-- them. A user who logs off has a row for the time since the last sample
-- (D4R2), without levels; the time from logon to the first sample is in no row.
CREATE OR REPLACE VIEW users_by_time AS
WITH sampled AS (
  SELECT system,
         interval_end,
         vmduser AS userid,
         MAX(seconds) AS seconds,
         TRY_CAST(SUM(vmdttime) AS BIGINT) AS cpu_tod,
         TRY_CAST(SUM(vmdvtime) AS BIGINT) AS virtual_tod,
         TRY_CAST(SUM(vmdvdsct) AS BIGINT) AS dasd_ios,
         TRY_CAST(SUM(vmdvusct) AS BIGINT) AS unit_record_ios,
         TRY_CAST(SUM(vmdvtsct) AS BIGINT) AS tape_ios,
         TRY_CAST(SUM(vmdvcsct) AS BIGINT) AS console_ios,
         TRY_CAST(SUM(vmdvosct) AS BIGINT) AS other_ios,
         TRY_CAST(SUM(calcppgr) AS BIGINT) AS page_reads,
         TRY_CAST(SUM(calcppgw) AS BIGINT) AS page_writes,
         TRY_CAST(SUM(calcpxrd) AS BIGINT) AS xstor_ins,
         TRY_CAST(SUM(calcpxwt) AS BIGINT) AS xstor_outs,
         TRY_CAST(SUM(calcpmig) AS BIGINT) AS migrations,
         TRY_CAST(SUM(calcppst) AS BIGINT) AS steals,
         CAST(MAX(vmdctpvr) AS BIGINT) AS resident_pages,
         CAST(MAX(vmdctpvg) AS BIGINT) AS resident_above_pages,
         CAST(MAX(vmdctpvl) AS BIGINT) AS locked_pages,
         CAST(MAX(vmdwsspr) AS BIGINT) AS working_set_pages,
         CAST(MAX(vmdctxbk) AS BIGINT) AS xstor_pages,
         CAST(MAX(calctpgs) AS BIGINT) AS dasd_pages
  FROM interval.useact
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, vmduser
),
-- Who logged off and on again within an interval has both: each sum is of what
-- is known.
used AS (
  SELECT COALESCE(s.system, e.system) AS system,
         COALESCE(s.interval_end, e.interval_end) AS interval_end,
         COALESCE(s.userid, e.userid) AS userid,
         CASE WHEN e.seconds > s.seconds THEN e.seconds
              ELSE COALESCE(s.seconds, e.seconds) END AS seconds,
         COALESCE(s.cpu_tod + e.cpu_tod, s.cpu_tod, e.cpu_tod) AS cpu_tod,
         COALESCE(s.virtual_tod + e.virtual_tod,
           s.virtual_tod, e.virtual_tod) AS virtual_tod,
         COALESCE(s.dasd_ios + e.dasd_ios, s.dasd_ios, e.dasd_ios) AS dasd_ios,
         COALESCE(s.unit_record_ios + e.unit_record_ios,
           s.unit_record_ios, e.unit_record_ios) AS unit_record_ios,
         COALESCE(s.tape_ios + e.tape_ios, s.tape_ios, e.tape_ios) AS tape_ios,
         COALESCE(s.console_ios + e.console_ios,
           s.console_ios, e.console_ios) AS console_ios,
         COALESCE(s.other_ios + e.other_ios,
           s.other_ios, e.other_ios) AS other_ios,
         COALESCE(s.page_reads + e.page_reads,
           s.page_reads, e.page_reads) AS page_reads,
         COALESCE(s.page_writes + e.page_writes,
           s.page_writes, e.page_writes) AS page_writes,
         COALESCE(s.xstor_ins + e.xstor_ins,
           s.xstor_ins, e.xstor_ins) AS xstor_ins,
         COALESCE(s.xstor_outs + e.xstor_outs,
           s.xstor_outs, e.xstor_outs) AS xstor_outs,
         COALESCE(s.migrations + e.migrations,
           s.migrations, e.migrations) AS migrations,
         COALESCE(s.steals + e.steals, s.steals, e.steals) AS steals,
         s.resident_pages,
         s.resident_above_pages,
         s.locked_pages,
         s.working_set_pages,
         s.xstor_pages,
         s.dasd_pages
  FROM sampled AS s
  FULL JOIN _user_session_end AS e
    ON e.system = s.system
    AND e.interval_end = s.interval_end
    AND e.userid = s.userid
)
SELECT u.system,
       u.interval_end,
       -- User id.
       u.userid,
       -- Elapsed seconds T of the user. NULL at a first sample.
       u.seconds,
       -- Virtual and CP time (VMDTTIME), TOD units of 1/4096 microsecond. NULL
       -- without USEACT deltas.
       u.cpu_tod,
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
       c.storage_mib
FROM used AS u
LEFT JOIN _user_configuration AS c
  ON c.system = u.system
  AND c.userid = u.userid
  AND c.valid_from <= u.interval_end
  AND (c.valid_until IS NULL OR c.valid_until > u.interval_end);
