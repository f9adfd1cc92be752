-- Pages held by the users of a system, one row per interval (D4R3).
-- A user counts once: of several virtual CPUs, and of several dumps that hold
-- the interval, the highest value is taken, since pages belong to the user.
-- They are NULL where a user that is still logged on was not sampled: the
-- pages of the others are not those of all.
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
  GROUP BY system, interval_end, vmduser
)
SELECT system,
       interval_end,
       -- Users with a record.
       CASE WHEN COUNT(resident_pages) = COUNT(*) THEN COUNT(*) END AS users,
       -- Resident pages of all users (VMDCTPVR: frames below 2 GB), 4 KB each.
       complete_sum(resident_pages) AS resident_pages,
       -- Resident pages of all users above 2 GB (VMDCTPVG), 4 KB each. NULL
       -- unless the place of the field is known for the records of all users.
       complete_sum(resident_above_pages) AS resident_above_pages,
       -- Expanded-storage blocks of all users (VMDCTXBK), 4 KB each.
       complete_sum(xstor_pages) AS xstor_pages,
       -- DASD page slots of all users (CALCTPGS), 4 KB each.
       complete_sum(dasd_pages) AS dasd_pages,
       all_doubts(doubts) AS doubts
FROM per_user
GROUP BY system, interval_end;
