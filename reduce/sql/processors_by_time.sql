-- What each processor did, one row per system, interval and processor.
-- Shares are 0..1 of this processor, rates per second. The columns from
-- busy_tod on are the sums behind them: over a longer span, divide the sum of
-- one by the sum of the other.
CREATE OR REPLACE VIEW processors_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Address of the processor.
  cpu,
  -- Type code of the processor. NULL in records of releases that do not write
  -- it.
  cpu_type,
  -- Whether it is the master processor. NULL while MTRPRP records do not say.
  is_master,
  -- Elapsed seconds T of this processor. NULL at a first sample.
  seconds,
  -- Share of time running, 0..1. NULL without a SYTPRP delta.
  total_util,
  -- Share of time under SIE, 0..1. NULL without a SYTPRP delta.
  emul_util,
  -- Share of time in CP, charged to users, 0..1. NULL without a SYTPRP delta.
  cp_user_util,
  -- Share of time in CP, charged to nobody, 0..1. NULL without a SYTPRP delta.
  cp_system_util,
  -- Share of time waiting, 0..1. NULL without a SYTPRP delta.
  wait_util,
  -- Share of time spinning on CP locks, part of CP, 0..1. NULL without a SYTPRP
  -- delta.
  spin_util,
  -- Share of time neither running nor waiting, because the partition was not
  -- dispatched, 0..1; about 0 when dedicated. NULL without a SYTPRP delta.
  suspended_util,
  -- Times per second that CP ran a user (SYTPRP_PFXRUNCP, inferred). NULL
  -- without a SYTPRP delta.
  sie_rate,
  -- Pages per second into and out of expanded storage. NULL without a SYTXSP
  -- delta.
  xstor_page_rate,
  -- Pages per second read from and written to DASD. NULL without a SYTSYP
  -- delta.
  dasd_page_rate,
  -- DIAGNOSEs per second. NULL without a SYTSYP delta.
  diagnose_rate,
  -- Start and resume subchannels per second. NULL without a SYTSYP delta.
  ssch_rate,
  -- Running, TOD units of 1/4096 microsecond. NULL without a SYTPRP delta.
  busy_tod,
  -- Under SIE, TOD units. NULL without a SYTPRP delta.
  emulation_tod,
  -- In CP, charged to users, TOD units. NULL without a SYTPRP delta.
  cp_user_tod,
  -- In CP, charged to nobody, TOD units. NULL without a SYTPRP delta.
  cp_system_tod,
  -- Waiting, TOD units. NULL without a SYTPRP delta.
  wait_tod,
  -- Spinning on CP locks, TOD units. NULL without a SYTPRP delta.
  spin_tod,
  -- Neither running nor waiting, TOD units. NULL without a SYTPRP delta.
  suspended_tod,
  -- Times that CP ran a user. NULL without a SYTPRP delta.
  sie_entries,
  -- Pages into and out of expanded storage. NULL without a SYTXSP delta.
  xstor_pages,
  -- Elapsed seconds of the expanded-storage record. NULL without a SYTXSP
  -- delta.
  xstor_seconds,
  -- Pages read from and written to DASD. NULL without a SYTSYP delta.
  dasd_pages,
  -- DIAGNOSEs. NULL without a SYTSYP delta.
  diagnoses,
  -- Start and resume subchannels. NULL without a SYTSYP delta.
  starts,
  -- Elapsed seconds of the paging and I/O record. NULL without a SYTSYP delta.
  paging_seconds
) AS
SELECT p.system,
       p.interval_end,
       p.cpu,
       p.cpu_type,
       p.is_master,
       p.seconds,
       p.busy_tod / nullif(p.seconds * 4096e6, 0) AS total_util,
       p.emulation_tod / nullif(p.seconds * 4096e6, 0) AS emul_util,
       p.cp_user_tod / nullif(p.seconds * 4096e6, 0) AS cp_user_util,
       p.cp_system_tod / nullif(p.seconds * 4096e6, 0) AS cp_system_util,
       p.wait_tod / nullif(p.seconds * 4096e6, 0) AS wait_util,
       p.spin_tod / nullif(p.seconds * 4096e6, 0) AS spin_util,
       1 - (p.busy_tod + p.wait_tod) / nullif(p.seconds * 4096e6, 0)
         AS suspended_util,
       p.sie_entries / nullif(p.seconds, 0) AS sie_rate,
       x.xstor_pages / nullif(x.seconds, 0) AS xstor_page_rate,
       g.dasd_pages / nullif(g.seconds, 0) AS dasd_page_rate,
       g.diagnoses / nullif(g.seconds, 0) AS diagnose_rate,
       g.starts / nullif(g.seconds, 0) AS ssch_rate,
       p.busy_tod,
       p.emulation_tod,
       p.cp_user_tod,
       p.cp_system_tod,
       p.wait_tod,
       p.spin_tod,
       p.seconds * 4096e6 - p.busy_tod - p.wait_tod AS suspended_tod,
       p.sie_entries,
       x.xstor_pages,
       x.seconds AS xstor_seconds,
       g.dasd_pages,
       g.diagnoses,
       g.starts,
       g.seconds AS paging_seconds
FROM _processor_interval AS p
LEFT JOIN _xstor_interval AS x
  ON x.system = p.system
  AND x.interval_end = p.interval_end
  AND x.cpu = p.cpu
LEFT JOIN _paging_interval AS g
  ON g.system = p.system
  AND g.interval_end = p.interval_end
  AND g.cpu = p.cpu;
