-- What each user did and held in each interval, before any division, one row
-- per system, interval and user (D4R3, USEACT), over all virtual processors.
-- Levels belong to the user, so the highest of several virtual processors is
-- taken. A user who logs off has a row for the time since the last sample
-- (D4R2), without levels.
CREATE OR REPLACE VIEW _user_interval (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- User id.
  userid,
  -- Elapsed seconds T of the user. NULL at a first sample.
  seconds,
  -- Virtual and CP time (VMDTTIME), TOD units of 1/4096 microsecond. NULL
  -- without USEACT deltas.
  cpu_tod,
  -- Virtual time (VMDVTIME), TOD units. NULL without USEACT deltas.
  virtual_tod,
  -- Virtual I/Os to DASD (VMDVDSCT). NULL without USEACT deltas.
  dasd_ios,
  -- Virtual I/Os to unit record devices (VMDVUSCT). NULL without USEACT deltas.
  unit_record_ios,
  -- Virtual I/Os to tapes (VMDVTSCT). NULL without USEACT deltas.
  tape_ios,
  -- Virtual I/Os to consoles (VMDVCSCT). NULL without USEACT deltas.
  console_ios,
  -- Other virtual I/Os (VMDVOSCT), networks among them. NULL without USEACT
  -- deltas.
  other_ios,
  -- Pages read from DASD for paging (CALCPPGR). NULL without USEACT deltas.
  page_reads,
  -- Pages written to DASD for paging (CALCPPGW). NULL without USEACT deltas.
  page_writes,
  -- Pages brought in from expanded storage (CALCPXRD). NULL without USEACT
  -- deltas.
  xstor_ins,
  -- Pages moved out to expanded storage (CALCPXWT). NULL without USEACT deltas.
  xstor_outs,
  -- Pages migrated from expanded storage to DASD (CALCPMIG). NULL without
  -- USEACT deltas.
  migrations,
  -- Pages stolen from the user (CALCPPST). NULL without USEACT deltas.
  steals,
  -- Virtual I/Os of all kinds. NULL without USEACT deltas.
  ios,
  -- Pages read from and written to DASD. NULL without USEACT deltas.
  pages_moved,
  -- Resident pages (VMDCTPVR: frames below 2 GB). NULL without a USEACT sample.
  resident_pages,
  -- Locked pages below 2 GB (VMDCTPVL). NULL without a USEACT sample.
  locked_pages,
  -- Projected working set, pages (VMDWSSPR). NULL without a USEACT sample.
  working_set_pages,
  -- Pages in expanded storage (VMDCTXBK). NULL without a USEACT sample.
  xstor_pages,
  -- Page slots on DASD (CALCTPGS). NULL without a USEACT sample.
  dasd_pages,
  -- Resident pages above 2 GB. NULL because no field of USEACT is known to hold
  -- them.
  resident_above_pages,
  -- Relative share. NULL without MTRUSR or USELON records, or while the share
  -- is absolute.
  relative_share,
  -- Absolute share of the system, 0..1. NULL without MTRUSR or USELON records,
  -- or while the share is relative.
  absolute_share,
  -- Virtual storage, MiB. NULL without MTRUSR or USELON records.
  storage_mib
) AS
WITH sampled AS (
  SELECT system,
         interval_end,
         vmduser AS userid,
         seconds,
         vmdttime AS cpu_tod,
         vmdvtime AS virtual_tod,
         vmdvdsct AS dasd_ios,
         vmdvusct AS unit_record_ios,
         vmdvtsct AS tape_ios,
         vmdvcsct AS console_ios,
         vmdvosct AS other_ios,
         calcppgr AS page_reads,
         calcppgw AS page_writes,
         calcpxrd AS xstor_ins,
         calcpxwt AS xstor_outs,
         calcpmig AS migrations,
         calcppst AS steals,
         CAST(vmdctpvr AS BIGINT) AS resident_pages,
         CAST(vmdctpvl AS BIGINT) AS locked_pages,
         CAST(vmdwsspr AS BIGINT) AS working_set_pages,
         CAST(vmdctxbk AS BIGINT) AS xstor_pages,
         CAST(calctpgs AS BIGINT) AS dasd_pages
  FROM interval.useact
  WHERE interval_end IS NOT NULL
  UNION ALL
  SELECT system,
         interval_end,
         userid,
         seconds,
         cpu_tod,
         virtual_tod,
         dasd_ios,
         unit_record_ios,
         tape_ios,
         console_ios,
         other_ios,
         page_reads,
         page_writes,
         xstor_ins,
         xstor_outs,
         migrations,
         steals,
         CAST(NULL AS BIGINT) AS resident_pages,
         CAST(NULL AS BIGINT) AS locked_pages,
         CAST(NULL AS BIGINT) AS working_set_pages,
         CAST(NULL AS BIGINT) AS xstor_pages,
         CAST(NULL AS BIGINT) AS dasd_pages
  FROM _user_session_end
),
used AS (
  SELECT system,
         interval_end,
         userid,
         MAX(seconds) AS seconds,
         CAST(SUM(cpu_tod) AS BIGINT) AS cpu_tod,
         CAST(SUM(virtual_tod) AS BIGINT) AS virtual_tod,
         CAST(SUM(dasd_ios) AS BIGINT) AS dasd_ios,
         CAST(SUM(unit_record_ios) AS BIGINT) AS unit_record_ios,
         CAST(SUM(tape_ios) AS BIGINT) AS tape_ios,
         CAST(SUM(console_ios) AS BIGINT) AS console_ios,
         CAST(SUM(other_ios) AS BIGINT) AS other_ios,
         CAST(SUM(page_reads) AS BIGINT) AS page_reads,
         CAST(SUM(page_writes) AS BIGINT) AS page_writes,
         CAST(SUM(xstor_ins) AS BIGINT) AS xstor_ins,
         CAST(SUM(xstor_outs) AS BIGINT) AS xstor_outs,
         CAST(SUM(migrations) AS BIGINT) AS migrations,
         CAST(SUM(steals) AS BIGINT) AS steals,
         MAX(resident_pages) AS resident_pages,
         MAX(locked_pages) AS locked_pages,
         MAX(working_set_pages) AS working_set_pages,
         MAX(xstor_pages) AS xstor_pages,
         MAX(dasd_pages) AS dasd_pages
  FROM sampled
  GROUP BY system, interval_end, userid
)
SELECT u.system,
       u.interval_end,
       u.userid,
       u.seconds,
       u.cpu_tod,
       u.virtual_tod,
       u.dasd_ios,
       u.unit_record_ios,
       u.tape_ios,
       u.console_ios,
       u.other_ios,
       u.page_reads,
       u.page_writes,
       u.xstor_ins,
       u.xstor_outs,
       u.migrations,
       u.steals,
       u.dasd_ios + u.unit_record_ios + u.tape_ios + u.console_ios
         + u.other_ios AS ios,
       u.page_reads + u.page_writes AS pages_moved,
       u.resident_pages,
       u.locked_pages,
       u.working_set_pages,
       u.xstor_pages,
       u.dasd_pages,
       CAST(NULL AS BIGINT) AS resident_above_pages,
       c.relative_share,
       c.absolute_share,
       c.storage_mib
FROM used AS u
LEFT JOIN _user_configuration AS c
  ON c.system = u.system
  AND c.userid = u.userid
  AND c.valid_from <= u.interval_end
  AND (c.valid_until IS NULL OR c.valid_until > u.interval_end);
