-- IUCV, VMCF and DIAGNOSE X'98' by user
-- What users sent each other and to CP by IUCV and VMCF, a second, and how
-- often they used DIAGNOSE X'98', by which guests do real I/O. What the fields
-- of USEACT (4.3) mean is believed. A user with several virtual CPUs is one
-- row, of the intervals in which all of them are known.
-- param: top = 20 -- how many users
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH by_interval AS (
  SELECT u.system,
         u.vmduser,
         max(u.seconds) AS seconds,
         complete_sum(u.vmdisevm + u.vmdistvm + u.vmdisuvm) AS iucv,
         complete_sum(u.vmdvsevm + u.vmdvstvm + u.vmdvsuvm) AS vmcf,
         complete_sum(u.vmdx98ct) AS diagnoses
  FROM interval.useact AS u
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = u.system
  WHERE ($run = '' OR ends_within(u.interval_end, r.since, r.until))
    AND u.system GLOB $system
    AND ends_within(
      u.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
  GROUP BY u.system, u.vmduser, u.interval_end
),
by_user AS (
  SELECT system,
         vmduser,
         sum(seconds) AS seconds,
         sum(iucv) AS iucv,
         sum(vmcf) AS vmcf,
         sum(diagnoses) AS diagnoses
  FROM by_interval
  WHERE iucv + vmcf + diagnoses IS NOT NULL
  GROUP BY system, vmduser
)
SELECT system,
       vmduser AS user,
       round(iucv / nullif(seconds, 0), 2) AS iucv_per_s,
       round(vmcf / nullif(seconds, 0), 2) AS vmcf_per_s,
       round(diagnoses / nullif(seconds, 0), 2) AS diagnose_98_per_s,
       round(seconds, 1) AS measured_s
FROM by_user
ORDER BY iucv + vmcf + diagnoses DESC, system, user
LIMIT $top;
