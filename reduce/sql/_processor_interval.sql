-- CPU time of each processor and interval as sums, before any division.
-- Times are in TOD units, 4096 to the microsecond. Two dumps that both hold
-- the interval give one row: the deltas of the second copy are NULL and add
-- nothing.
CREATE OR REPLACE VIEW _processor_interval (
  -- System the processor belongs to.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Address of the processor.
  cpu,
  -- Type code of the processor (SYTPRP_PFXCPUTY). NULL in records of releases
  -- that do not write it.
  cpu_type,
  -- Whether it is the master processor. NULL without a configuration record.
  is_master,
  -- Elapsed seconds between its two samples. NULL at a first sample.
  seconds,
  -- Running: user time and system time, TOD units. NULL at a first sample.
  busy_tod,
  -- Running a guest under SIE, TOD units. NULL at a first sample.
  emulation_tod,
  -- CP work charged to users, TOD units. NULL at a first sample.
  cp_user_tod,
  -- CP work charged to nobody, TOD units. NULL at a first sample.
  cp_system_tod,
  -- Waiting, TOD units. NULL at a first sample.
  wait_tod,
  -- Spinning on CP locks, TOD units; part of CP work. NULL at a first sample.
  spin_tod,
  -- Spins on CP locks. NULL at a first sample.
  spins,
  -- Times that CP ran a user (SYTPRP_PFXRUNCP). NULL at a first sample.
  sie_entries,
  -- Entries into guests by a fast path (SYTPRP_CALFSTPH). NULL at a first
  -- sample.
  fast_entries
) AS
WITH sampled AS (
  SELECT system,
         interval_end,
         pfxcpuad AS cpu,
         MAX(CAST(pfxcputy AS INTEGER)) AS cpu_type,
         SUM(seconds) AS seconds,
         CAST(SUM(pfxutime + pfxtmsys) AS BIGINT) AS busy_tod,
         CAST(SUM(pfxprbtm) AS BIGINT) AS emulation_tod,
         CAST(SUM(pfxutime - pfxprbtm) AS BIGINT) AS cp_user_tod,
         CAST(SUM(pfxtmsys) AS BIGINT) AS cp_system_tod,
         CAST(SUM(pfxtotwt) AS BIGINT) AS wait_tod,
         CAST(SUM(pfxspint) AS BIGINT) AS spin_tod,
         CAST(SUM(pfxspinc) AS BIGINT) AS spins,
         CAST(SUM(pfxruncp) AS BIGINT) AS sie_entries,
         CAST(SUM(calfstph) AS BIGINT) AS fast_entries
  FROM interval.sytprp
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, pfxcpuad
)
SELECT s.system,
       s.interval_end,
       s.cpu,
       s.cpu_type,
       c.is_master,
       s.seconds,
       s.busy_tod,
       s.emulation_tod,
       s.cp_user_tod,
       s.cp_system_tod,
       s.wait_tod,
       s.spin_tod,
       s.spins,
       s.sie_entries,
       s.fast_entries
FROM sampled AS s
LEFT JOIN _processor_configuration AS c
  ON c.system = s.system
  AND c.cpu = s.cpu
  AND c.valid_from <= s.interval_end
  AND (c.valid_until IS NULL OR c.valid_until > s.interval_end);
