-- CPU time of all processors of a system, one row per system and interval.
CREATE OR REPLACE VIEW _processor_totals AS
SELECT system,
       interval_end,
       -- Processors with a delta, 0 or more. NULL where some have none: a part
       -- is not the whole. So is every sum below.
       CASE WHEN COUNT(seconds) IN (0, COUNT(*)) THEN COUNT(seconds)
       END AS processors,
       -- Elapsed seconds T, mean over the processors. NULL at a first sample.
       AVG(seconds) AS seconds,
       -- Elapsed seconds, sum over the processors. NULL at a first sample.
       CASE WHEN COUNT(seconds) = COUNT(*) THEN SUM(seconds)
       END AS processor_seconds,
       -- Running, TOD units. NULL at a first sample.
       complete_sum(busy_tod) AS busy_tod,
       -- Running guests under SIE, TOD units. NULL at a first sample.
       complete_sum(emulation_tod) AS emulation_tod,
       -- Running CP: busy less emulation, TOD units. NULL at a first sample.
       complete_sum(busy_tod - emulation_tod) AS cp_tod,
       -- Running or waiting, TOD units. NULL at a first sample, and where one
       -- processor neither ran nor waited.
       complete_sum(busy_tod + wait_tod) AS accounted_tod,
       -- Spinning on CP locks, TOD units. NULL at a first sample.
       complete_sum(spin_tod) AS spin_tod,
       -- Spins on CP locks. NULL at a first sample.
       complete_sum(spins) AS spins,
       -- Entries into guests by the fast path of DIAGNOSE X'44', or by any
       -- where records do not tell them apart. NULL at a first sample.
       complete_sum(fast_entries) AS fast_entries,
       -- Elapsed seconds of the master processor. NULL when it is not known.
       SUM(CASE WHEN is_master THEN seconds END) AS master_seconds,
       -- Master processor running, TOD units. NULL when it is not known.
       TRY_CAST(SUM(CASE WHEN is_master THEN busy_tod END) AS BIGINT)
         AS master_busy_tod,
       -- Master processor under SIE, TOD units. NULL when it is not known.
       TRY_CAST(SUM(CASE WHEN is_master THEN emulation_tod END) AS BIGINT)
         AS master_emulation_tod,
       -- Master processor running CP, TOD units. NULL when it is not known.
       TRY_CAST(
         SUM(CASE WHEN is_master THEN busy_tod - emulation_tod END) AS BIGINT
       ) AS master_cp_tod,
       all_doubts(doubts) AS doubts
FROM _processor_interval
GROUP BY system, interval_end;
