-- What the cores of the partition of this system were dispatched for, one row
-- per system, interval and core (D0R16); processors are cores of one thread
-- where the system does not run multithreaded.
CREATE OR REPLACE VIEW _core_interval AS
SELECT l.system,
       l.interval_end,
       -- Number of the core.
       l.logical_processor AS core,
       -- Elapsed seconds T. NULL at a first sample.
       MAX(l.seconds) AS seconds,
       -- Dispatched time, all threads, microseconds. NULL at a first sample.
       MAX(l.active_us) AS active_us
FROM _logical_processor_interval AS l
JOIN _machine_interval AS m
  ON m.system = l.system
  AND m.interval_end = l.interval_end
  AND m.own_name = l.partition_name
GROUP BY l.system, l.interval_end, l.logical_processor;
