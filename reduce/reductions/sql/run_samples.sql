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
)
SELECT run_id,
       -- What was measured. By CP QUERY TIME: duration_s (seconds),
       -- virtual_cpu_cs, cp_cpu_cs and total_cpu_cs (hundredths of a second).
       -- By CP INDICATE USER, summed over users: virtual_ios, page_reads,
       -- page_writes, resident_pages, working_set_pages. Others by the samples
       -- of the run; where these have a rate and its KB (read_kb_per_s and
       -- read_kb, write_kb_per_s and write_kb), also read_s and write_s.
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
SELECT run_id, measure, sample, value FROM meta.run_sample
UNION ALL
SELECT moved.run_id,
       replace(moved.measure, '_kb', '_s'),
       moved.sample,
       moved.value / nullif(rate.value, 0)
FROM meta.run_sample AS moved
INNER JOIN meta.run_sample AS rate
  ON rate.run_id = moved.run_id AND rate.sample = moved.sample
  AND rate.measure = moved.measure || '_per_s'
WHERE moved.measure IN ('read_kb', 'write_kb');
