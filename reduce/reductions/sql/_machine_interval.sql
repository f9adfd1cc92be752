-- The machine as it shows itself to a partition, one row per system and
-- interval (D0R15).
CREATE OR REPLACE VIEW _machine_interval AS
SELECT system,
       interval_end,
       -- Name of the partition of this system. NULL where it is not told.
       MAX(nullif(lparname, '')) AS own_name,
       -- Physical processors of the machine; cores, where it has threads.
       MAX(CAST(lcutpcct AS BIGINT)) AS processors
FROM monitor.sytcug
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end;
