-- Whether more users have a record than CP says are logged on, one row per
-- system and interval: USEACT (D4R3) against SYSUSRS of SYTUSR (D0R8). Records
-- of a sample are not simultaneous: 1 % and one user are left to that.
CREATE OR REPLACE VIEW _logon_witness AS
WITH sampled AS (
  SELECT system, interval_end, COUNT(DISTINCT vmduser) AS users
  FROM monitor.useact
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT s.system,
       s.interval_end,
       -- Users with a record.
       s.users,
       -- What that can be at most. NULL where no record tells it.
       c.users * 1.01e0 + 1 AS most,
       CASE WHEN s.users > c.users * 1.01e0 + 1
            THEN 'SYTUSR contradicts USEACT' END AS doubts
FROM sampled AS s
JOIN _stated_users AS c
  ON c.system = s.system
  AND c.interval_end = s.interval_end;
