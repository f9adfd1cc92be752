-- Real storage, and the virtual storage that is defined on it, one row per
-- system and interval. Frames are of 4 KB and as at the end of the interval.
CREATE OR REPLACE VIEW storage_by_time AS
WITH frames AS (
  SELECT system,
         interval_end,
         MAX(CAST(rsanonpg AS BIGINT)) AS nonpageable,
         MAX(CAST(sysrsvpg AS BIGINT)) AS reserved,
         all_doubts(doubts) AS doubts
  FROM interval.sytrsg
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
-- Users as sampled; of one that is still logged on and was not, no row says
-- so but that without figures.
sampled AS (
  SELECT system,
         interval_end,
         vmduser AS userid,
         COUNT(vmdctpvr) > 0 AS is_sampled,
         all_doubts(doubts) AS doubts
  FROM interval.useact
  WHERE interval_end IS NOT NULL
    AND (cause IS NULL OR cause <> 'ended')
  GROUP BY system, interval_end, vmduser
),
defined AS (
  SELECT s.system,
         s.interval_end,
         CASE WHEN COUNT(*) = COUNT(CASE WHEN s.is_sampled THEN 1 END)
              THEN COUNT(*) END AS users,
         COUNT(CASE WHEN s.is_sampled THEN 1 END) AS sampled,
         complete_sum(
           CASE WHEN s.is_sampled THEN c.storage_mib END
         ) AS virtual_mib,
         all_doubts(
           CASE WHEN s.is_sampled AND c.storage_mib IS NULL
                THEN 'storage of users is not known'
                WHEN NOT s.is_sampled THEN s.doubts END
         ) AS doubts
  FROM sampled AS s
  LEFT JOIN _user_configuration AS c
    ON c.system = s.system
    AND c.userid = s.userid
    AND as_of(s.interval_end, c.valid_from, c.valid_until)
  GROUP BY s.system, s.interval_end
)
SELECT p.system,
       p.interval_end,
       p.seconds,
       -- Users with a record (D4R3). NULL where one that is logged on was not
       -- sampled.
       CASE WHEN COALESCE(w.users <= d.sampled, TRUE) THEN d.users END AS users,
       -- Virtual storage of all users as defined (D1R15, D4R1), MiB. NULL where
       -- that of one is not known.
       CASE WHEN COALESCE(w.users <= d.sampled, TRUE) THEN d.virtual_mib
       END AS virtual_mib,
       -- Real storage (MTRMEM_RSAGSTOR, STOADD_CALMEMAD), MiB. NULL without
       -- MTRMEM records, and once storage was removed, since no record says how
       -- much.
       m.real_mib,
       -- Frames below 2 GB that cannot be paged (RSANONPG). NULL without SYTRSG
       -- records.
       f.nonpageable AS nonpageable_below_2g,
       p.pageable_below_2g,
       p.pageable_above_2g,
       p.available_below_2g,
       p.available_above_2g,
       p.locked_below_2g,
       p.locked_above_2g,
       -- Pages that CP keeps resident for users by SET RESERVED (SYSRSVPG).
       -- NULL without SYTRSG records.
       f.reserved AS reserved_pages,
       nullif(
         concat_ws(
           ', ', f.doubts, d.doubts, m.doubts,
           CASE WHEN w.users > d.sampled THEN 'users were not sampled' END,
           u.doubts
         ), ''
       ) AS doubts
FROM paging_by_time AS p
LEFT JOIN frames AS f
  ON f.system = p.system AND f.interval_end = p.interval_end
LEFT JOIN defined AS d
  ON d.system = p.system AND d.interval_end = p.interval_end
LEFT JOIN _stated_users AS w
  ON w.system = p.system AND w.interval_end = p.interval_end
LEFT JOIN _logon_witness AS u
  ON u.system = p.system AND u.interval_end = p.interval_end
LEFT JOIN _memory_configuration AS m
  ON m.system = p.system
  AND as_of(p.interval_end, m.valid_from, m.valid_until);
