-- What the users of each class did together, one row per system, interval and
-- class (meta.user_class, by the classes.txt of the store; all others are of
-- class OTHER). Rates of a class are sums over its members over T, also "per
-- member" ones are sums over sums: of amounts over the time that members were
-- there. A class has no row while none of its members is logged on.
CREATE OR REPLACE VIEW user_classes_by_time AS
WITH grouped AS (
  SELECT u.system,
         u.interval_end,
         c.class,
         MAX(u.seconds) AS seconds,
         -- A row without time and pages stands for a user whose record is
         -- missing.
         CASE WHEN COUNT(COALESCE(u.seconds, u.resident_pages)) = COUNT(*)
              THEN COUNT(u.resident_pages) END AS members,
         SUM(u.seconds) AS member_seconds,
         MAX(u.system_seconds) AS system_seconds,
         complete_sum(u.cpu_tod) AS cpu_tod,
         complete_sum(u.virtual_tod) AS virtual_tod,
         complete_sum(u.ios) AS ios,
         complete_sum(u.pages_moved) AS pages_moved,
         complete_sum(u.xstor_ins + u.xstor_outs) AS xstor_moves,
         TRY_CAST(SUM(u.working_set_pages) AS BIGINT) AS working_set_pages,
         TRY_CAST(SUM(u.resident_pages) AS BIGINT) AS resident_pages,
         TRY_CAST(SUM(u.xstor_pages) AS BIGINT) AS xstor_pages,
         TRY_CAST(SUM(u.dasd_pages) AS BIGINT) AS dasd_pages,
         SUM(u.relative_share) AS share_sum,
         COUNT(u.relative_share) AS sharers,
         SUM(u.storage_mib) AS storage_sum,
         COUNT(u.storage_mib) AS storage_members,
         -- Of all members, or not at all.
         CASE WHEN COUNT(u.storage_mib) = COUNT(*)
              THEN SUM(u.storage_mib * u.seconds) END AS storage_mib_seconds,
         CASE WHEN COUNT(u.resident_above_pages) = COUNT(u.resident_pages)
              THEN SUM((u.resident_pages + u.resident_above_pages) * u.seconds)
              END AS resident_page_seconds,
         nullif(
           concat_ws(
             ', ', all_doubts(u.doubts),
             CASE WHEN COUNT(u.storage_mib) > 0
                  AND COUNT(u.storage_mib) < COUNT(u.resident_pages)
                  THEN 'MTRUSR or USELON of users is missing' END
           ), ''
         ) AS doubts
  FROM _users_by_time AS u
  INNER JOIN meta.user_class AS c
    ON c.userid = u.userid
  GROUP BY u.system, u.interval_end, c.class
)
SELECT system,
       interval_end,
       -- Class of the users.
       class,
       -- Elapsed seconds T: the longest of a member. NULL at a first sample.
       seconds,
       -- Members with a sample. 0 where the last one has just logged off.
       members,
       -- Elapsed seconds summed over the members. NULL without USEACT deltas.
       member_seconds,
       -- Seconds of all processors in T. NULL without SYTPRP deltas.
       system_seconds,
       -- Processor time of all members, TOD units of 1/4096 microsecond. NULL
       -- without USEACT deltas.
       cpu_tod,
       -- Virtual time of all members, TOD units. NULL without USEACT deltas.
       virtual_tod,
       -- Virtual I/Os of all members. NULL without USEACT deltas.
       ios,
       -- Pages of all members read from and written to DASD. NULL without
       -- USEACT deltas.
       pages_moved,
       -- Pages of all members into and out of expanded storage. NULL without
       -- USEACT deltas.
       xstor_moves,
       -- Projected working sets of all members, pages. NULL without a USEACT
       -- sample.
       working_set_pages,
       -- Resident pages of all members, below 2 GB. NULL without a USEACT
       -- sample.
       resident_pages,
       -- Pages of all members in expanded storage. NULL without a USEACT
       -- sample.
       xstor_pages,
       -- Page slots of all members on DASD. NULL without a USEACT sample.
       dasd_pages,
       -- Relative shares of all members that have one. NULL without MTRUSR or
       -- USELON records.
       share_sum,
       -- Members with a relative share.
       sharers,
       -- Virtual storage of all members, MiB. NULL without MTRUSR or USELON
       -- records.
       storage_sum,
       -- Members whose virtual storage is known.
       storage_members,
       -- Virtual storage of all members times their elapsed seconds, MiB s.
       -- NULL where that of one of them is not known.
       storage_mib_seconds,
       -- Resident pages of all members times their elapsed seconds, page s.
       -- NULL where those above 2 GB of one of them are not known.
       resident_page_seconds,
       doubts
FROM grouped;
