-- Every single sample of a run, from its companions, in long form: what N,
-- mean and standard deviation, differences of runs and t-tests rest on.
CREATE OR REPLACE VIEW run_samples AS
WITH asked AS (
  SELECT run_id,
         sample,
         CAST(SUM(virtual_ios) AS DOUBLE) AS virtual_ios,
         CAST(SUM(page_reads) AS DOUBLE) AS page_reads,
         CAST(SUM(page_writes) AS DOUBLE) AS page_writes,
         CAST(SUM(resident_pages) AS DOUBLE) AS resident_pages,
         CAST(SUM(working_set_pages) AS DOUBLE) AS working_set_pages
  FROM meta.indicate_user
  GROUP BY run_id, sample
),
moved AS (
  SELECT run_id,
         sample,
         operation,
         CAST(kb_per_s AS DOUBLE) AS kb_per_s,
         CAST(kb AS DOUBLE) AS kb,
         CAST(passes AS DOUBLE) AS passes,
         CAST(kb AS DOUBLE) / nullif(kb_per_s, 0) AS seconds
  FROM meta.exerciser
)
SELECT run_id,
       -- What was measured. By CP QUERY TIME: duration_s (seconds),
       -- virtual_cpu_cs, cp_cpu_cs and total_cpu_cs (hundredths of a second).
       -- By CP INDICATE USER, summed over users: virtual_ios, page_reads,
       -- page_writes, resident_pages, working_set_pages. By the exerciser, for
       -- read and for write: read_kb_per_s (the rate it reports), read_kb,
       -- read_passes, read_s (KB over rate). By thrasher and burner:
       -- thrasher_score, burner_score.
       'duration_s' AS measure,
       -- Number of the sample or period, from 1.
       sample,
       -- Its value, in the unit of the measure.
       CAST(seconds AS DOUBLE) AS value
FROM meta.query_time
UNION ALL
SELECT run_id, 'virtual_cpu_cs', sample, CAST(virtual_cs AS DOUBLE)
FROM meta.query_time
UNION ALL
SELECT run_id, 'cp_cpu_cs', sample, CAST(cp_cs AS DOUBLE) FROM meta.query_time
UNION ALL
SELECT run_id, 'total_cpu_cs', sample, CAST(total_cs AS DOUBLE)
FROM meta.query_time
UNION ALL
SELECT run_id, 'virtual_ios', sample, virtual_ios FROM asked
UNION ALL
SELECT run_id, 'page_reads', sample, page_reads FROM asked
UNION ALL
SELECT run_id, 'page_writes', sample, page_writes FROM asked
UNION ALL
SELECT run_id, 'resident_pages', sample, resident_pages FROM asked
UNION ALL
SELECT run_id, 'working_set_pages', sample, working_set_pages FROM asked
UNION ALL
SELECT run_id, operation || '_kb_per_s', sample, kb_per_s FROM moved
UNION ALL
SELECT run_id, operation || '_kb', sample, kb FROM moved
UNION ALL
SELECT run_id, operation || '_passes', sample, passes FROM moved
UNION ALL
SELECT run_id, operation || '_s', sample, seconds FROM moved
UNION ALL
SELECT run_id, tool || '_score', period, CAST(score AS DOUBLE) FROM meta.score;
