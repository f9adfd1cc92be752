-- CPU time of each processor and interval as sums, before any division.
-- Times are in TOD units, 4096 to the microsecond. Two dumps that both hold
-- the interval give one row: the deltas of the second copy are NULL and add
-- nothing.
CREATE OR REPLACE VIEW _processor_interval AS
WITH sampled AS (
  SELECT system,
         interval_end,
         pfxcpuad AS cpu,
         MAX(CAST(pfxcputy AS INTEGER)) AS cpu_type,
         SUM(seconds) AS seconds,
         complete_sum(pfxutime + pfxtmsys) AS busy_tod,
         complete_sum(pfxprbtm) AS emulation_tod,
         complete_sum(pfxutime - pfxprbtm) AS cp_user_tod,
         complete_sum(pfxtmsys) AS cp_system_tod,
         -- Of one that neither ran nor waited nobody can say whether it is
         -- parked, or in a wait that CP adds when it ends.
         CASE WHEN MAX(pfxutime + pfxtmsys + pfxtotwt) > 0
              THEN complete_sum(pfxtotwt) END AS wait_tod,
         complete_sum(pfxspint) AS spin_tod,
         complete_sum(pfxspinc) AS spins,
         -- IBM's page of 7.3 names the seven counters that add up to the
         -- entries into SIE. Records that lack some leave these out.
         complete_sum(pfxruncp + COALESCE(plsfppfsuccess, 0)
                      + COALESCE(pfxfstpx, 0) + COALESCE(pfxfstxc, 0)
                      + COALESCE(pfxfstsg, 0) + COALESCE(pfxfst44, 0)
                      + COALESCE(plswrucp, 0)) AS sie_entries,
         complete_sum(COALESCE(pfxfst44, calfstph)) AS fast_entries,
         all_doubts(doubts) AS doubts
  FROM interval.sytprp
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, pfxcpuad
)
SELECT s.system,
       s.interval_end,
       -- Address of the processor. NULL in the row of those that SYTCUG counts
       -- and that have no record.
       s.cpu,
       -- Type code of the processor (SYTPRP_PFXCPUTY). NULL in records of
       -- releases that do not write it.
       s.cpu_type,
       -- Whether it is the master processor. NULL without a configuration
       -- record.
       c.is_master,
       -- Elapsed seconds between its two samples. NULL at a first sample.
       s.seconds,
       -- Running: user time and system time, TOD units. NULL at a first sample.
       s.busy_tod,
       -- Running a guest under SIE, TOD units. NULL at a first sample.
       s.emulation_tod,
       -- CP work charged to users, TOD units. NULL at a first sample.
       s.cp_user_tod,
       -- CP work charged to nobody, TOD units. NULL at a first sample.
       s.cp_system_tod,
       -- Waiting, TOD units. NULL at a first sample, and where it neither ran
       -- nor waited.
       s.wait_tod,
       -- Spinning on CP locks, TOD units; part of CP work. NULL at a first
       -- sample.
       s.spin_tod,
       -- Spins on CP locks. NULL at a first sample.
       s.spins,
       -- Entries into SIE: PFXRUNCP, PLSFPPFSUCCESS, PFXFSTPX, PFXFSTXC,
       -- PFXFSTSG, PFXFST44 and PLSWRUCP of SYTPRP, as far as its records have
       -- them. NULL at a first sample.
       s.sie_entries,
       -- Entries into guests by the fast path of DIAGNOSE X'44'
       -- (SYTPRP_PFXFST44); where records lack it, by any fast path
       -- (SYTPRP_CALFSTPH). NULL at a first sample.
       s.fast_entries,
       s.doubts
FROM sampled AS s
LEFT JOIN _processor_configuration AS c
  ON c.system = s.system
  AND c.cpu = s.cpu
  AND as_of(s.interval_end, c.valid_from, c.valid_until);
