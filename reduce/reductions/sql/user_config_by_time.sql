-- How each user was set up, one row per system, interval and user that was
-- sampled in it (D4R3).
CREATE OR REPLACE VIEW user_config_by_time AS
WITH sampled AS (
  SELECT system,
         interval_end,
         vmduser AS userid,
         MAX(seconds) AS seconds,
         COUNT(DISTINCT vmdcpuad) AS virtual_processors,
         MAX(CASE WHEN calmesam THEN 'z'
                  WHEN calmxc THEN 'XC'
                  WHEN calmesa THEN 'ESA'
                  WHEN calmxa THEN 'XA'
                  WHEN calm370 THEN '370' END) AS machine_mode,
         all_doubts(doubts) AS doubts
  FROM interval.useact
  WHERE interval_end IS NOT NULL
    AND vmdctpvr IS NOT NULL
  GROUP BY system, interval_end, vmduser
)
SELECT s.system,
       s.interval_end,
       -- User id.
       s.userid,
       -- Elapsed seconds T of the user. NULL at a first sample.
       s.seconds,
       -- Virtual processors that were sampled.
       s.virtual_processors,
       -- Architecture of the virtual machine (CALMODE): 370, XA, ESA, XC, or z
       -- once it has entered it. NULL while the record says none.
       s.machine_mode,
       -- Virtual storage, MiB. NULL without MTRUSR or USELON records.
       c.storage_mib,
       -- Relative share. NULL without MTRUSR or USELON records, or while the
       -- share is absolute.
       c.relative_share,
       -- Absolute share of the system, 0..1. NULL likewise, or while the share
       -- is relative.
       c.absolute_share,
       -- Pages that CP keeps resident for the user (VMDMXRVP, believed). NULL
       -- without MTRUSR or USELON records.
       d.reserved_pages,
       -- Accounting number. NULL where no record has one.
       d.account,
       -- ACI group. NULL where no record has one.
       d.group_name,
       -- Who logged on in the name of the user. NULL where no record names
       -- anybody.
       d.by_user,
       nullif(
         concat_ws(
           ', ', s.doubts,
           CASE WHEN c.stretch < g.stretch
                THEN 'shares may have changed: lost events' END
         ), ''
       ) AS doubts
FROM sampled AS s
LEFT JOIN _event_stretch AS g
  ON g.system = s.system
  AND g.interval_end = s.interval_end
LEFT JOIN _user_configuration AS c
  ON c.system = s.system
  AND c.userid = s.userid
  AND as_of(s.interval_end, c.valid_from, c.valid_until)
LEFT JOIN _user_directory AS d
  ON d.system = s.system
  AND d.userid = s.userid
  AND as_of(s.interval_end, d.valid_from, d.valid_until);
