-- Privileged instructions that CP simulated for users, one row per system,
-- interval and instruction that the system had used by the end of that UTC day
-- (D5R11).
CREATE OR REPLACE VIEW instructions_by_time AS
WITH used AS (
  -- Those used on later days have no row: rows of a day stay the same. An
  -- interval that ends within a second of a day counts to it.
  SELECT system,
         entry,
         MAX(code) AS code,
         CAST(interval_end - INTERVAL '1000001' MICROSECOND AS DATE) AS day
  FROM monitor.prcins_instruction
  WHERE interval_end IS NOT NULL
  GROUP BY ALL
  HAVING MAX(instructions) > 0
)
SELECT i.system,
       i.interval_end,
       -- Mnemonic of the instruction; place 16 for that counted at entry 16 of
       -- the record, whose instruction is not known.
       COALESCE(MAX(u.code), 'place ' || i.entry) AS instruction,
       -- Elapsed seconds T, mean over the processors. NULL at a first sample.
       AVG(i.seconds) AS seconds,
       -- Times that CP simulated it, all processors. NULL without a delta of
       -- PRCINS.
       complete_sum(i.instructions) AS simulations,
       all_doubts(i.doubts) AS doubts
FROM interval.prcins_instruction AS i
JOIN used AS u
  ON u.system = i.system
  AND u.entry = i.entry
  AND u.day
    = CAST(i.interval_end - INTERVAL '1000001' MICROSECOND AS DATE)
WHERE i.interval_end IS NOT NULL
GROUP BY i.system, i.interval_end, i.entry;
