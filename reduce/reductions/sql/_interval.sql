-- The intervals of a system, one row each, whichever records they hold: what
-- the reductions by time hang their columns on.
CREATE OR REPLACE VIEW _interval AS
WITH closed AS (
  SELECT system,
         interval_end,
         MAX(CASE WHEN previous_end IS NOT NULL THEN seconds END) AS seconds
  FROM meta.interval
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
)
SELECT c.system,
       c.interval_end,
       -- Elapsed seconds: T of the processor records, or of the closing records
       -- where no processor record was taken. NULL at a first sample and behind
       -- a gap.
       COALESCE(p.seconds, c.seconds) AS seconds
FROM closed AS c
LEFT JOIN _processor_totals AS p
  ON p.system = c.system
  AND p.interval_end = c.interval_end;
