-- The users' processor time is what the processors have charged to users
-- Delta of VMDTTIME (USEACT) between two samples, by interval: that of all
-- users as a share of the delta of PFXUTIME over all processors (SYTPRP), and
-- that of the busiest virtual processor as a share of the elapsed time. More
-- than all of it there never is; less is missing where users logged on or off
-- in the interval, so that only less than half is told. The sum is not looked
-- at where less than 1 s was charged, nor where that of a processor is not
-- known. 2 % are left to the time that sampling takes.
-- severity: warning
-- remedy: If the users have more: compare the layouts of USEACT and SYTPRP with
-- your release. If they have less: look whether MONITOR SAMPLE ENABLE USER
-- names all users, and for frames that are missing (cpmon check).
WITH used AS (
  SELECT system,
         interval_end,
         CAST(SUM(vmdttime) AS DOUBLE) AS all_tod,
         MAX(vmdttime / nullif(seconds * 4096e6, 0)) AS most_busy,
         arg_max(vmduser, vmdttime / nullif(seconds * 4096e6, 0)) AS busiest
  FROM interval.useact
  GROUP BY system, interval_end
),
charged AS (
  SELECT system,
         interval_end,
         CAST(complete_sum(pfxutime) AS DOUBLE) AS charged_tod
  FROM interval.sytprp
  GROUP BY system, interval_end
)
SELECT u.system,
       u.interval_end,
       'all users' AS object,
       CASE WHEN c.charged_tod > 4096e6
            THEN u.all_tod / nullif(c.charged_tod, 0)
       END AS value,
       0.5 AS least,
       1.02 AS most
FROM used AS u
JOIN charged AS c USING (system, interval_end)
UNION ALL
SELECT system,
       interval_end,
       'user ' || busiest AS object,
       most_busy AS value,
       NULL AS least,
       1.02 AS most
FROM used;
