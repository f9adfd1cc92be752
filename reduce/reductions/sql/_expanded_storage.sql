-- Expanded storage of a system, one row per system and configuration record.
-- A system without expanded storage has no record of it: what an earlier
-- configuration says does not hold any more.
CREATE OR REPLACE VIEW _expanded_storage AS
SELECT c.system,
       c.valid_from,
       -- Size, bytes (SYSXTSIZ, blocks of 4 KB). NULL without a record.
       MAX(CAST(x.sysxtsiz AS DOUBLE)) * 4096 AS bytes
FROM _system_configuration AS c
LEFT JOIN monitor.mtrxsg AS x
  ON x.system = c.system
  AND as_of(x.tod, c.valid_from, c.valid_until)
GROUP BY c.system, c.valid_from;
