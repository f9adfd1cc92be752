-- What each processor did, one row per system, interval and processor.
-- Shares are 0..1 of this processor, rates per second. The columns from
-- busy_tod on are the sums behind them: over a longer span, divide the sum of
-- one by the sum of the other.
CREATE OR REPLACE VIEW processors_by_time AS
SELECT -- System.
       p.system,
       p.interval_end,
       -- Address of the processor.
       p.cpu,
       -- Type of the processor: CP, IFL, zIIP, zAAP, ICF, or its code. NULL in
       -- records of releases that do not write it.
       COALESCE(t.processor_type, CAST(p.cpu_type AS VARCHAR)) AS cpu_type,
       -- Core that it is a thread of: CP gives each core two addresses where
       -- multithreading is enabled. NULL unless the system is known to run
       -- multithreaded.
       CASE WHEN s.is_multithreaded
            THEN CAST(FLOOR(p.cpu / 2e0) AS BIGINT) END AS core,
       -- Time for which the machine dispatched the core, all of its threads,
       -- microseconds. NULL without core, or without a SYTCUP delta.
       c.active_us AS core_active_us,
       -- Elapsed seconds of the SYTCUP record. NULL likewise.
       c.seconds AS core_seconds,
       -- Whether it is the master processor. NULL while MTRPRP records do not
       -- say.
       p.is_master,
       -- Elapsed seconds T of this processor. NULL at a first sample.
       p.seconds,
       -- Running, TOD units of 1/4096 microsecond. NULL without a SYTPRP delta.
       p.busy_tod,
       -- Under SIE, TOD units. NULL without a SYTPRP delta.
       p.emulation_tod,
       -- In CP, charged to users, TOD units. NULL without a SYTPRP delta.
       p.cp_user_tod,
       -- In CP, charged to nobody, TOD units. NULL without a SYTPRP delta.
       p.cp_system_tod,
       -- Waiting, TOD units. NULL without a SYTPRP delta.
       p.wait_tod,
       -- Spinning on CP locks, TOD units. NULL without a SYTPRP delta.
       p.spin_tod,
       -- Neither running nor waiting, TOD units. NULL without a SYTPRP delta.
       p.seconds * 4096e6 - p.busy_tod - p.wait_tod AS suspended_tod,
       -- Running or waiting, TOD units: the time in which it had a physical
       -- processor, or needed none. NULL without a SYTPRP delta.
       p.busy_tod + p.wait_tod AS accounted_tod,
       -- Entries into SIE, as far as records count them. NULL without a SYTPRP
       -- delta.
       p.sie_entries,
       -- Pages into and out of expanded storage. NULL without a SYTXSP delta.
       x.xstor_pages,
       -- Elapsed seconds of the expanded-storage record. NULL without a SYTXSP
       -- delta.
       x.seconds AS xstor_seconds,
       -- Pages read from and written to DASD. NULL without a SYTSYP delta.
       g.dasd_pages,
       -- DIAGNOSEs. NULL without a SYTSYP delta.
       g.diagnoses,
       -- Start and resume subchannels. NULL without a SYTSYP delta.
       g.starts,
       -- Elapsed seconds of the paging and I/O record. NULL without a SYTSYP
       -- delta.
       g.seconds AS paging_seconds,
       nullif(
         concat_ws(', ', p.doubts, c.doubts, x.doubts, g.doubts, w.doubts), ''
       ) AS doubts
FROM _processor_interval AS p
LEFT JOIN _processor_types AS t
  ON t.code = p.cpu_type
LEFT JOIN _system_configuration AS s
  ON s.system = p.system
  AND as_of(p.interval_end, s.valid_from, s.valid_until)
LEFT JOIN _core_interval AS c
  ON c.system = p.system
  AND c.interval_end = p.interval_end
  AND c.core = FLOOR(p.cpu / 2e0)
  AND s.is_multithreaded
LEFT JOIN _xstor_interval AS x
  ON x.system = p.system
  AND x.interval_end = p.interval_end
  AND x.cpu = p.cpu
LEFT JOIN _paging_interval AS g
  ON g.system = p.system
  AND g.interval_end = p.interval_end
  AND g.cpu = p.cpu
LEFT JOIN _processor_witness AS w
  ON w.system = p.system
  AND w.interval_end = p.interval_end
WHERE p.cpu IS NOT NULL;
