-- Pages held by the users of a system, one row per interval (D4R3).
-- A user counts once: of several virtual CPUs, and of several dumps that hold
-- the interval, the highest value is taken, since pages belong to the user.
-- They are NULL where a user that is still logged on was not sampled, or fewer
-- were than SYTUSR counts: the pages of the others are not those of all.
CREATE OR REPLACE VIEW _user_totals AS
WITH per_user AS (
  SELECT system,
         interval_end,
         vmduser,
         MAX(CAST(vmdctpvr AS BIGINT)) AS resident_pages,
         MAX(CAST(vmdctpvg AS BIGINT)) AS resident_above_pages,
         MAX(CAST(vmdctxbk AS BIGINT)) AS xstor_pages,
         MAX(CAST(calctpgs AS BIGINT)) AS dasd_pages,
         all_doubts(doubts) AS doubts
  FROM interval.useact
  WHERE interval_end IS NOT NULL
    -- What a virtual processor did that has ended is no level.
    AND (cause IS NULL OR cause <> 'ended')
  GROUP BY system, interval_end, vmduser
),
summed AS (
  SELECT system,
         interval_end,
         CASE WHEN COUNT(resident_pages) = COUNT(*) THEN COUNT(*) END AS users,
         COUNT(resident_pages) AS sampled,
         complete_sum(resident_pages) AS resident_pages,
         complete_sum(resident_above_pages) AS resident_above_pages,
         complete_sum(xstor_pages) AS xstor_pages,
         complete_sum(dasd_pages) AS dasd_pages,
         all_doubts(doubts) AS doubts
  FROM per_user
  GROUP BY system, interval_end
),
held AS (
  SELECT s.system,
         s.interval_end,
         s.users,
         s.resident_pages,
         s.resident_above_pages,
         s.xstor_pages,
         s.dasd_pages,
         s.doubts,
         COALESCE(c.users <= s.sampled, TRUE) AS is_whole
  FROM summed AS s
  LEFT JOIN _stated_users AS c
    ON c.system = s.system AND c.interval_end = s.interval_end
)
SELECT t.system,
       t.interval_end,
       -- Users with a record.
       CASE WHEN t.is_whole THEN t.users END AS users,
       -- Resident pages of all users (VMDCTPVR: frames below 2 GB), 4 KB each.
       CASE WHEN t.is_whole THEN t.resident_pages
       END AS resident_pages,
       -- Resident pages of all users above 2 GB (VMDCTPVG), 4 KB each. NULL
       -- unless the place of the field is known for the records of all users.
       CASE WHEN t.is_whole THEN t.resident_above_pages
       END AS resident_above_pages,
       -- Expanded-storage blocks of all users (VMDCTXBK), 4 KB each.
       CASE WHEN t.is_whole THEN t.xstor_pages
       END AS xstor_pages,
       -- DASD page slots of all users (CALCTPGS), 4 KB each.
       CASE WHEN t.is_whole THEN t.dasd_pages
       END AS dasd_pages,
       nullif(
         concat_ws(
           ', ', t.doubts,
           CASE WHEN NOT t.is_whole THEN 'users were not sampled' END,
           w.doubts
         ), ''
       ) AS doubts
FROM held AS t
LEFT JOIN _logon_witness AS w
  ON w.system = t.system AND w.interval_end = t.interval_end;
