-- Whether all users that are logged on were sampled, one row per system and
-- interval (D0R8, D4R3): MONITOR SAMPLE can leave users out, and then no sum
-- over those that were sampled is that of all (schemas/members.csv).
CREATE OR REPLACE VIEW _user_membership AS
WITH sampled AS (
  SELECT system, interval_end, COUNT(DISTINCT vmduser) AS users
  FROM monitor.useact
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT s.system,
       s.interval_end,
       -- Whether no more users are logged on (SYSUSRS) than were sampled.
       t.users <= s.users AS is_whole,
       CASE WHEN t.users > s.users THEN 'users were not sampled' END AS doubts
FROM sampled AS s
JOIN _stated_users AS t
  ON t.system = s.system AND t.interval_end = s.interval_end;
