-- The users' resident pages fit into real storage
-- VMDCTPVR of USEACT, over all users of an interval, against the frames of 4
-- KiB in the storage that configuration records (RSAGSTOR of MTRMEM) tell. A
-- user's figure stands in the record of each of his virtual processors; where
-- the sum of all is too much, each user is counted once. 1 % is left to the
-- time that sampling takes.
-- severity: critical
-- needs: useact mtrmem
-- remedy: Compare the layouts of USEACT and MTRMEM with your release; if
-- storage was added, look for the record that says so (MTRMEM, STOADD).
WITH storage AS (
  SELECT system,
         CAST(MAX(rsagstor) / 4096 AS DOUBLE) * 1.01 AS most
  FROM monitor.mtrmem
  WHERE rsagstor > 0
  GROUP BY system
),
resident AS (
  SELECT system,
         interval_end,
         CAST(SUM(vmdctpvr) AS DOUBLE) AS pages
  FROM monitor.useact
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
judged AS (
  SELECT r.system,
         r.interval_end,
         r.pages,
         s.most
  FROM resident AS r
  JOIN storage AS s USING (system)
),
once AS (
  SELECT u.system,
         u.interval_end,
         u.vmduser,
         MAX(u.vmdctpvr) AS pages
  FROM monitor.useact AS u
  JOIN judged AS j USING (system, interval_end)
  WHERE j.pages > j.most
  GROUP BY u.system, u.interval_end, u.vmduser
),
exact AS (
  SELECT system,
         interval_end,
         CAST(SUM(pages) AS DOUBLE) AS pages
  FROM once
  GROUP BY system, interval_end
)
SELECT j.system,
       j.interval_end,
       'all users' AS object,
       coalesce(e.pages, j.pages) AS value,
       NULL AS least,
       j.most
FROM judged AS j
LEFT JOIN exact AS e USING (system, interval_end);
