-- Whether the processors ran for longer than the machine dispatched those of
-- the partition, one row per system and interval: SYTCUP (D0R16) is counted by
-- the machine, SYTPRP (D0R2) by CP. Two threads of a core count as one there.
CREATE OR REPLACE VIEW _processor_witness AS
WITH own AS (
  SELECT system,
         interval_end,
         MAX(nullif(lparname, '')) AS partition_name
  FROM monitor.sytcug
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
dispatched AS (
  SELECT c.system,
         c.interval_end,
         COUNT(*) AS cores,
         complete_sum(c.lcucactm) AS active_us
  FROM interval.sytcup_cpu AS c
  JOIN own AS o
    ON o.system = c.system
    AND o.interval_end = c.interval_end
    AND o.partition_name = c.lcupname
  GROUP BY c.system, c.interval_end
),
compared AS (
  SELECT p.system,
         p.interval_end,
         CAST(p.busy_tod AS DOUBLE) / 4096e6 AS busy_s,
         1.02e0 * CAST(d.active_us AS DOUBLE) / 1e6
           * CASE WHEN p.processors > d.cores THEN 2 ELSE 1 END
           + p.processors AS most_s
  FROM _processor_totals AS p
  JOIN dispatched AS d
    ON d.system = p.system
    AND d.interval_end = p.interval_end
)
SELECT system,
       interval_end,
       -- Running of all processors, seconds. NULL without SYTPRP deltas.
       busy_s,
       -- What that can be at most: the time of the logical processors, and 2 %
       -- and a second of each processor, since the records are taken one after
       -- another. NULL without SYTCUP deltas.
       most_s,
       CASE WHEN busy_s > most_s THEN 'SYTCUP contradicts SYTPRP' END AS doubts
FROM compared;
