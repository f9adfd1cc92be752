-- Users that CP says are logged on, one row per system and interval (D0R8):
-- MONITOR SAMPLE can leave users out, and then no sum over those that were
-- sampled is that of all (schemas/members.csv).
CREATE OR REPLACE VIEW _stated_users AS
SELECT system,
       interval_end,
       -- Users logged on (SYSUSRS). NULL where the record does not tell it.
       MAX(CAST(sysusrs AS BIGINT)) AS users
FROM monitor.sytusr
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end;
