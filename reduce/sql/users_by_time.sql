-- What each user did, one row per system, interval and user, over all virtual
-- processors of the user. Shares are of one processor, rates per second, levels
-- are those of the sample. The columns from cpu_tod on are the sums behind
-- them. A user who logs off has a row for the time since the last sample
-- (D4R2), without levels; the time from logon to the first sample is in no row.
CREATE OR REPLACE VIEW users_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- User id.
  userid,
  -- Elapsed seconds T of the user. NULL at a first sample.
  seconds,
  -- Share of one processor used, virtual and CP time, 0 to the number of
  -- virtual processors. NULL without USEACT deltas.
  cpu_util,
  -- Processor time, virtual and CP, seconds. NULL without USEACT deltas.
  cpu_s,
  -- Virtual processor time, seconds. NULL without USEACT deltas.
  virtual_s,
  -- Processor time over virtual time, 1 or more. NULL without virtual time.
  tv_ratio,
  -- Virtual I/Os to DASD per second. NULL without USEACT deltas.
  dasd_io_rate,
  -- Virtual unit record I/Os per second. NULL without USEACT deltas.
  unit_record_io_rate,
  -- Virtual tape I/Os per second. NULL without USEACT deltas.
  tape_io_rate,
  -- Virtual console I/Os per second. NULL without USEACT deltas.
  console_io_rate,
  -- Other virtual I/Os per second. NULL without USEACT deltas.
  other_io_rate,
  -- Virtual I/Os of all kinds per second. NULL without USEACT deltas.
  io_rate,
  -- Pages read from DASD per second. NULL without USEACT deltas.
  page_read_rate,
  -- Pages written to DASD per second. NULL without USEACT deltas.
  page_write_rate,
  -- Pages read from and written to DASD per second. NULL without USEACT deltas.
  page_rate,
  -- Pages brought in from expanded storage per second. NULL without USEACT
  -- deltas.
  xstor_in_rate,
  -- Pages moved out to expanded storage per second. NULL without USEACT deltas.
  xstor_out_rate,
  -- Pages migrated from expanded storage to DASD per second. NULL without
  -- USEACT deltas.
  migration_rate,
  -- Pages stolen from the user per second. NULL without USEACT deltas.
  steal_rate,
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
  storage_mib,
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
  pages_moved
) AS
SELECT system,
       interval_end,
       userid,
       seconds,
       cpu_tod / nullif(seconds * 4096e6, 0) AS cpu_util,
       cpu_tod / 4096e6 AS cpu_s,
       virtual_tod / 4096e6 AS virtual_s,
       CAST(cpu_tod AS DOUBLE) / nullif(virtual_tod, 0) AS tv_ratio,
       dasd_ios / nullif(seconds, 0) AS dasd_io_rate,
       unit_record_ios / nullif(seconds, 0) AS unit_record_io_rate,
       tape_ios / nullif(seconds, 0) AS tape_io_rate,
       console_ios / nullif(seconds, 0) AS console_io_rate,
       other_ios / nullif(seconds, 0) AS other_io_rate,
       ios / nullif(seconds, 0) AS io_rate,
       page_reads / nullif(seconds, 0) AS page_read_rate,
       page_writes / nullif(seconds, 0) AS page_write_rate,
       pages_moved / nullif(seconds, 0) AS page_rate,
       xstor_ins / nullif(seconds, 0) AS xstor_in_rate,
       xstor_outs / nullif(seconds, 0) AS xstor_out_rate,
       migrations / nullif(seconds, 0) AS migration_rate,
       steals / nullif(seconds, 0) AS steal_rate,
       resident_pages,
       locked_pages,
       working_set_pages,
       xstor_pages,
       dasd_pages,
       resident_above_pages,
       relative_share,
       absolute_share,
       storage_mib,
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
       ios,
       pages_moved
FROM _user_interval;
