-- What the cores of the partition of this system were dispatched for, one row
-- per system, interval and core (D0R16); processors are cores of one thread
-- where the system does not run multithreaded.
CREATE OR REPLACE VIEW _core_interval AS
SELECT l.system,
       l.interval_end,
       -- Number of the core.
       CAST(l.lcucpuid AS BIGINT) AS core,
       -- Elapsed seconds T. NULL at a first sample.
       MAX(l.seconds) AS seconds,
       -- Dispatched time, all threads, microseconds. NULL at a first sample.
       MAX(l.lcucactm) AS active_us,
       all_doubts(l.doubts) AS doubts
FROM interval.sytcup_cpu AS l
JOIN monitor.sytcug AS m
  ON m.system = l.system
  AND m.interval_end = l.interval_end
  AND m.lparname = l.lcupname
WHERE m.lparname <> ''
GROUP BY l.system, l.interval_end, l.lcucpuid;
