-- Hits of the control unit's cache by volume
-- Requests of each volume to the cache of its control unit, a second, and the
-- percent of them that the cache answered: reads, sequential reads and writes.
-- What the fields of IODCAD (6.4) mean is believed; a volume without them, or
-- behind a control unit without a cache, is in no row.
-- param: top = 20 -- how many volumes
-- param: run = '' -- only this run; empty for everything in the store
-- param: system = '*' -- only this system, or those of a pattern
-- param: since = '1900-01-01' -- only intervals that end after it, UTC
-- param: until = '9999-01-01' -- only intervals that end up to it, UTC
WITH volume AS (
  SELECT d.system,
         d.rdevdev,
         arg_max(nullif(trim(d.rdevser), ''), d.interval_end) AS volume,
         sum(c.seconds) AS seconds,
         sum(c.nr_read_normal) AS reads,
         sum(c.nr_read_normal_hits) AS read_hits,
         sum(c.nr_read_seq) AS sequential,
         sum(c.nr_read_seq_hits) AS sequential_hits,
         sum(c.nr_write_normal + c.nr_write_seq) AS writes,
         sum(c.nr_write_fast_normal_hits + c.nr_write_fast_seq_hits)
           AS write_hits
  FROM interval.iodcad AS c
  JOIN interval.ioddev AS d USING (system, interval_end, rdevsid)
  LEFT JOIN meta.run AS r ON r.run_id = $run AND r.system = c.system
  WHERE ($run = '' OR ends_within(c.interval_end, r.since, r.until))
    AND c.system GLOB $system
    AND ends_within(
      c.interval_end, CAST($since AS TIMESTAMP), CAST($until AS TIMESTAMP)
    )
    AND c.nr_read_normal + c.nr_read_normal_hits + c.nr_read_seq
      + c.nr_read_seq_hits + c.nr_write_normal + c.nr_write_seq
      + c.nr_write_fast_normal_hits + c.nr_write_fast_seq_hits IS NOT NULL
  GROUP BY ALL
)
SELECT system,
       format('{:04X}', CAST(rdevdev AS INTEGER)) AS device,
       volume,
       round((reads + sequential + writes) / nullif(seconds, 0), 1)
         AS requests_per_s,
       round(100 * read_hits / nullif(reads, 0), 1) AS read_hit_percent,
       round(100 * sequential_hits / nullif(sequential, 0), 1)
         AS sequential_hit_percent,
       round(100 * write_hits / nullif(writes, 0), 1) AS write_hit_percent,
       round(seconds, 1) AS measured_s
FROM volume
ORDER BY requests_per_s DESC NULLS LAST, system, device
LIMIT $top;
