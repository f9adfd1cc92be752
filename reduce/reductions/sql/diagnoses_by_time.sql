-- DIAGNOSEs by code, one row per system, interval and code that the system had
-- used by the end of that UTC day (D5R12). DIAGNOSE X'44' also has a fast path,
-- on which CP does not count it with the others: row '44 fast', from CP 5.2.0
-- on.
CREATE OR REPLACE VIEW diagnoses_by_time AS
WITH used AS (
  -- Most of the 193 codes are never used: without them there is little to do.
  SELECT system, entry
  FROM monitor.prcdia_diagnose
  WHERE diagnoses > 0
  GROUP BY system, entry
),
counted AS (
  SELECT d.system,
         d.dump,
         d.interval_end,
         d.record_offset,
         d.pfxcpuad,
         d.entry,
         d.code,
         CAST(d.diagnoses AS BIGINT) AS diagnoses
  FROM monitor.prcdia_diagnose AS d
  JOIN used AS u
    ON u.system = d.system
    AND u.entry = d.entry
  WHERE d.interval_end IS NOT NULL
),
sampled AS (
  -- The record of a processor, and where the one before is: there are far fewer
  -- of them than of counters. A record that a dump holds twice has two places.
  SELECT system,
         dump,
         interval_end,
         record_offset,
         pfxcpuad,
         seconds,
         MAX(doubts) OVER (PARTITION BY system, interval_end) AS doubts,
         COUNT(seconds) OVER (PARTITION BY system, interval_end)
           = COUNT(*) OVER (PARTITION BY system, interval_end) AS is_whole,
         LAG(dump) OVER (
           PARTITION BY system, pfxcpuad
           ORDER BY interval_end, dump, record_offset
         ) AS dump_before,
         LAG(interval_end) OVER (
           PARTITION BY system, pfxcpuad
           ORDER BY interval_end, dump, record_offset
         ) AS end_before,
         LAG(record_offset) OVER (
           PARTITION BY system, pfxcpuad
           ORDER BY interval_end, dump, record_offset
         ) AS offset_before
  FROM interval.prcdia
),
stepped AS (
  -- That the sample before is the one directly before, the record itself says;
  -- its counters have 32 bits.
  SELECT s.system,
         s.interval_end,
         d.code,
         s.seconds,
         d.diagnoses AS counter,
         s.is_whole,
         s.doubts,
         counter_delta(
           d.diagnoses, b.diagnoses, 4294967296, 1e7 * s.seconds
         ) AS diagnoses
  FROM sampled AS s
  JOIN counted AS d
    ON d.system = s.system
    AND d.dump = s.dump
    AND d.interval_end = s.interval_end
    AND d.record_offset = s.record_offset
    AND d.pfxcpuad = s.pfxcpuad
  LEFT JOIN counted AS b
    ON b.system = s.system
    AND b.dump = s.dump_before
    AND b.interval_end = s.end_before
    AND b.record_offset = s.offset_before
    AND b.pfxcpuad = s.pfxcpuad
    AND b.entry = d.entry
),
by_code AS (
  SELECT system,
         interval_end,
         code,
         AVG(seconds) AS seconds,
         CASE WHEN MIN(CAST(is_whole AS INTEGER)) = 1
              THEN complete_sum(diagnoses) END AS diagnoses,
         all_doubts(doubts) AS doubts,
         -- Those used later that day have a row: rates are over all its time.
         -- Those used on later days have none: rows of a day stay the same.
         -- An interval that ends within a second of a day counts to it.
         MAX(MAX(counter)) OVER (
           PARTITION BY
             system,
             code,
             CAST(interval_end - INTERVAL '1000001' MICROSECOND AS DATE)
         ) AS counter
  FROM stepped
  GROUP BY system, interval_end, code
),
coded AS (
  SELECT system, interval_end, code, seconds, diagnoses, doubts
  FROM by_code
  WHERE counter > 0
  UNION ALL
  SELECT p.system,
         p.interval_end,
         '44 fast' AS code,
         p.seconds,
         p.fast_entries AS diagnoses,
         p.doubts
  FROM _processor_totals AS p
  JOIN _system_configuration AS c
    ON c.system = p.system
    AND as_of(p.interval_end, c.valid_from, c.valid_until)
  WHERE c.cp_level >= '0502'
    -- A level that does not begin with digits says nothing.
    AND c.cp_level < ':'
)
SELECT system,
       interval_end,
       -- Code in hexadecimal; user for those that the installation defined; 44
       -- fast for what is told of the fast path of 44.
       code,
       -- Elapsed seconds T, mean over the processors. NULL at a first sample.
       seconds,
       -- Uses. NULL without a delta of PRCDIA or SYTPRP.
       diagnoses,
       doubts
FROM coded;
