-- Master processor, lock spinning, 2 GB moves and pages per user, by interval.
-- Shares are 0..1 of one processor, rates per second. The columns from
-- processor_seconds on are the sums behind them: over a longer span, divide the
-- sum of one by the sum of the other.
CREATE OR REPLACE VIEW system_summary2_by_time AS
WITH named AS (
  SELECT system, MIN(valid_from) AS since
  FROM _processor_configuration
  WHERE is_master
  GROUP BY system
)
SELECT i.system,
       i.interval_end,
       -- Elapsed seconds T. NULL at a first sample and behind a gap.
       i.seconds,
       -- Processors with a delta in the interval. NULL without SYTPRP records.
       p.processors,
       -- Elapsed seconds summed over the processors. NULL without SYTPRP
       -- deltas.
       p.processor_seconds,
       -- Elapsed seconds of the master processor. NULL while it is not known.
       p.master_seconds,
       -- Master processor running, TOD units of 1/4096 microsecond. NULL while
       -- it is not known.
       p.master_busy_tod,
       -- Master processor under SIE, TOD units. NULL while it is not known.
       p.master_emulation_tod,
       -- Master processor in CP, TOD units. NULL while it is not known.
       p.master_cp_tod,
       -- Spinning, TOD units. NULL without SYTPRP deltas.
       p.spin_tod,
       -- Spins. NULL without SYTPRP deltas.
       p.spins,
       -- Pages moved below the 2 GB line. NULL without SYTRSP deltas.
       r.moves_2g,
       -- Frames stolen. NULL without SYTRSP deltas.
       r.steals,
       -- Elapsed seconds of the real-storage records. NULL without SYTRSP
       -- deltas.
       r.seconds AS storage_seconds,
       -- Users with a record. NULL without USEACT records.
       u.users,
       -- Resident pages of all users. NULL without USEACT records.
       u.resident_pages,
       -- Resident pages of all users above 2 GB. NULL while the place of
       -- USEACT_VMDCTPVG is not known.
       u.resident_above_pages,
       -- Expanded-storage pages of all users. NULL without USEACT records.
       u.xstor_pages,
       -- DASD page slots of all users. NULL without USEACT records.
       u.dasd_pages,
       nullif(concat_ws(', ', p.doubts, r.doubts, u.doubts, w.doubts,
         CASE WHEN p.processor_seconds > 0 AND p.master_seconds IS NULL
              AND n.since < i.interval_end
              THEN 'the master processor is not known since VARY OFF' END
       ), '') AS doubts
FROM _interval AS i
LEFT JOIN _processor_totals AS p
  ON p.system = i.system AND p.interval_end = i.interval_end
LEFT JOIN _storage_totals AS r
  ON r.system = i.system AND r.interval_end = i.interval_end
LEFT JOIN _user_totals AS u
  ON u.system = i.system AND u.interval_end = i.interval_end
LEFT JOIN _processor_witness AS w
  ON w.system = i.system AND w.interval_end = i.interval_end
LEFT JOIN named AS n
  ON n.system = i.system;
