-- CPU time of all processors of a system, one row per system and interval.
CREATE OR REPLACE VIEW _processor_totals AS
SELECT system,
       interval_end,
       -- Processors with a delta, 0 or more.
       COUNT(seconds) AS processors,
       -- Elapsed seconds T, mean over the processors. NULL at a first sample.
       AVG(seconds) AS seconds,
       -- Elapsed seconds, sum over the processors. NULL at a first sample.
       SUM(seconds) AS processor_seconds,
       -- Running, TOD units. NULL at a first sample.
       TRY_CAST(SUM(busy_tod) AS BIGINT) AS busy_tod,
       -- Running guests under SIE, TOD units. NULL at a first sample.
       TRY_CAST(SUM(emulation_tod) AS BIGINT) AS emulation_tod,
       -- Running CP: busy less emulation, TOD units. NULL at a first sample.
       TRY_CAST(SUM(busy_tod - emulation_tod) AS BIGINT) AS cp_tod,
       -- Spinning on CP locks, TOD units. NULL at a first sample.
       TRY_CAST(SUM(spin_tod) AS BIGINT) AS spin_tod,
       -- Spins on CP locks. NULL at a first sample.
       TRY_CAST(SUM(spins) AS BIGINT) AS spins,
       -- Entries into guests by the fast path of DIAGNOSE X'44', or by any
       -- where records do not tell them apart. NULL at a first sample.
       TRY_CAST(SUM(fast_entries) AS BIGINT) AS fast_entries,
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
       ) AS master_cp_tod
FROM _processor_interval
GROUP BY system, interval_end;
