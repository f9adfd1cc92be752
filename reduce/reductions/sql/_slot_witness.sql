-- Whether the volumes have other slots in use than CP counts in all, one row
-- per system and interval: STOASP (D3R4) is by volume, SYTASG (D0R9) of the
-- system.
CREATE OR REPLACE VIEW _slot_witness AS
WITH volume AS (
  -- Several records are of the exposures of one device: its slots count once.
  SELECT system,
         interval_end,
         rdevdev,
         MAX(CAST(cpvalocd AS DOUBLE)) AS slots
  FROM monitor.stoasp
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, rdevdev
),
volumes AS (
  SELECT system, interval_end, complete_sum(slots) AS slots
  FROM volume
  GROUP BY system, interval_end
),
stated AS (
  SELECT system,
         interval_end,
         MAX(CAST(calslti1 AS DOUBLE)) + MAX(CAST(calslti2 AS DOUBLE)) AS slots
  FROM monitor.sytasg
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end
),
compared AS (
  SELECT v.system,
         v.interval_end,
         v.slots,
         s.slots * 0.98e0 - 1000 AS least_slots,
         s.slots * 1.02e0 + 1000 AS most_slots
  FROM volumes AS v
  JOIN stated AS s
    ON s.system = v.system
    AND s.interval_end = v.interval_end
)
SELECT system,
       interval_end,
       -- Slots in use on all volumes. NULL where records do not tell it.
       slots,
       -- What that can be at least: the slots that CP counts, less 2 % and
       -- 1000, since the records are taken one after another. NULL without
       -- SYTASG records.
       least_slots,
       -- What that can be at most. NULL likewise.
       most_slots,
       CASE WHEN slots < least_slots OR slots > most_slots
            THEN 'SYTASG contradicts STOASP' END AS doubts
FROM compared;
