-- What the users of each class did together, one row per system, interval and
-- class (meta.user_class, by the classes.txt of the store; all others are of
-- class OTHER). Rates of a class are sums over its members over T, also "per
-- member" ones are sums over sums: of amounts over the time that members were
-- there. A class has no row while none of its members is logged on.
CREATE OR REPLACE VIEW user_classes_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Class of the users.
  class,
  -- Elapsed seconds T: the longest of a member. NULL at a first sample.
  seconds,
  -- Members with a sample. 0 where the last one has just logged off.
  members,
  -- Processors used by all members, virtual and CP time, 0 or more: 1 is one
  -- processor. NULL without USEACT deltas.
  cpu_util,
  -- Share of one processor that a member used, 0 to its virtual processors.
  -- NULL without USEACT deltas.
  cpu_util_per_member,
  -- Processor time of all members, seconds. NULL without USEACT deltas.
  cpu_s,
  -- Virtual processor time of all members, seconds. NULL without USEACT deltas.
  virtual_s,
  -- Processor time over virtual time, 1 or more. NULL without virtual time.
  tv_ratio,
  -- Virtual I/Os of all members per second. NULL without USEACT deltas.
  io_rate,
  -- Virtual I/Os of a member per second. NULL without USEACT deltas.
  io_rate_per_member,
  -- Pages of all members read from and written to DASD per second. NULL without
  -- USEACT deltas.
  page_rate,
  -- Pages of a member read from and written to DASD per second. NULL without
  -- USEACT deltas.
  page_rate_per_member,
  -- Pages of all members into and out of expanded storage per second. NULL
  -- without USEACT deltas.
  xstor_rate,
  -- Projected working set of a member, pages. NULL without a USEACT sample.
  working_set_per_member,
  -- Resident pages of a member, below 2 GB. NULL without a USEACT sample.
  resident_per_member,
  -- Pages of a member in expanded storage. NULL without a USEACT sample.
  xstor_per_member,
  -- Page slots of a member on DASD. NULL without a USEACT sample.
  dasd_per_member,
  -- Relative share of a member that has one. NULL without MTRUSR or USELON
  -- records.
  share_per_member,
  -- Virtual storage of a member, MiB. NULL without MTRUSR or USELON records.
  storage_per_member,
  -- Elapsed seconds summed over the members. NULL without USEACT deltas.
  member_seconds,
  -- Processor time of all members, TOD units of 1/4096 microsecond. NULL
  -- without USEACT deltas.
  cpu_tod,
  -- Virtual time of all members, TOD units. NULL without USEACT deltas.
  virtual_tod,
  -- Virtual I/Os of all members. NULL without USEACT deltas.
  ios,
  -- Pages of all members read from and written to DASD. NULL without USEACT
  -- deltas.
  pages_moved,
  -- Pages of all members into and out of expanded storage. NULL without USEACT
  -- deltas.
  xstor_moves,
  -- Projected working sets of all members, pages. NULL without a USEACT sample.
  working_set_pages,
  -- Resident pages of all members, below 2 GB. NULL without a USEACT sample.
  resident_pages,
  -- Pages of all members in expanded storage. NULL without a USEACT sample.
  xstor_pages,
  -- Page slots of all members on DASD. NULL without a USEACT sample.
  dasd_pages,
  -- Relative shares of all members that have one. NULL without MTRUSR or USELON
  -- records.
  share_sum,
  -- Members with a relative share.
  sharers,
  -- Virtual storage of all members, MiB. NULL without MTRUSR or USELON records.
  storage_sum,
  -- Members whose virtual storage is known.
  storage_members
) AS
WITH grouped AS (
  SELECT u.system,
         u.interval_end,
         c.class,
         MAX(u.seconds) AS seconds,
         COUNT(u.resident_pages) AS members,
         SUM(u.seconds) AS member_seconds,
         CAST(SUM(u.cpu_tod) AS BIGINT) AS cpu_tod,
         CAST(SUM(u.virtual_tod) AS BIGINT) AS virtual_tod,
         CAST(SUM(u.ios) AS BIGINT) AS ios,
         CAST(SUM(u.pages_moved) AS BIGINT) AS pages_moved,
         CAST(SUM(u.xstor_ins + u.xstor_outs) AS BIGINT) AS xstor_moves,
         CAST(SUM(u.working_set_pages) AS BIGINT) AS working_set_pages,
         CAST(SUM(u.resident_pages) AS BIGINT) AS resident_pages,
         CAST(SUM(u.xstor_pages) AS BIGINT) AS xstor_pages,
         CAST(SUM(u.dasd_pages) AS BIGINT) AS dasd_pages,
         SUM(u.relative_share) AS share_sum,
         COUNT(u.relative_share) AS sharers,
         SUM(u.storage_mib) AS storage_sum,
         COUNT(u.storage_mib) AS storage_members
  FROM _user_interval AS u
  INNER JOIN meta.user_class AS c
    ON c.userid = u.userid
  GROUP BY u.system, u.interval_end, c.class
)
SELECT system,
       interval_end,
       class,
       seconds,
       members,
       cpu_tod / nullif(seconds * 4096e6, 0) AS cpu_util,
       cpu_tod / nullif(member_seconds * 4096e6, 0) AS cpu_util_per_member,
       cpu_tod / 4096e6 AS cpu_s,
       virtual_tod / 4096e6 AS virtual_s,
       CAST(cpu_tod AS DOUBLE) / nullif(virtual_tod, 0) AS tv_ratio,
       ios / nullif(seconds, 0) AS io_rate,
       ios / nullif(member_seconds, 0) AS io_rate_per_member,
       pages_moved / nullif(seconds, 0) AS page_rate,
       pages_moved / nullif(member_seconds, 0) AS page_rate_per_member,
       xstor_moves / nullif(seconds, 0) AS xstor_rate,
       CAST(working_set_pages AS DOUBLE) / nullif(members, 0)
         AS working_set_per_member,
       CAST(resident_pages AS DOUBLE) / nullif(members, 0)
         AS resident_per_member,
       CAST(xstor_pages AS DOUBLE) / nullif(members, 0) AS xstor_per_member,
       CAST(dasd_pages AS DOUBLE) / nullif(members, 0) AS dasd_per_member,
       share_sum / nullif(sharers, 0) AS share_per_member,
       storage_sum / nullif(storage_members, 0) AS storage_per_member,
       member_seconds,
       cpu_tod,
       virtual_tod,
       ios,
       pages_moved,
       xstor_moves,
       working_set_pages,
       resident_pages,
       xstor_pages,
       dasd_pages,
       share_sum,
       sharers,
       storage_sum,
       storage_members
FROM grouped;
