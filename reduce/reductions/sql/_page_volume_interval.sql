-- Busy time of the volumes with page slots, one row per volume and interval:
-- device activity (D6R3) of the devices that paging space lies on (D3R4).
CREATE OR REPLACE VIEW _page_volume_interval AS
WITH volume AS (
  SELECT system,
         interval_end,
         rdevdev AS device,
         MAX(calpage) AS calpage,
         all_doubts(doubts) AS doubts
  FROM interval.stoasp
  WHERE interval_end IS NOT NULL
    AND (calpage > 0 OR cause IN ('missing', 'ended'))
  GROUP BY system, interval_end, rdevdev
)
SELECT v.system,
       v.interval_end,
       -- Device number.
       v.device,
       -- Elapsed seconds between the device's samples. NULL without a delta, if
       -- no I/O was timed, if the record of its space is missing, or if it was
       -- busy for longer: then one of the counters is not what it was. Half a
       -- percent is left to the time that sampling takes.
       CASE WHEN a.busy_seconds <= 1.005e0 * a.seconds AND v.calpage > 0
            THEN a.seconds END AS seconds,
       -- What the service of all its I/Os took, seconds: that of the timed ones
       -- in proportion. NULL likewise.
       CASE WHEN a.busy_seconds <= 1.005e0 * a.seconds AND v.calpage > 0
            THEN a.busy_seconds END AS busy_seconds,
       nullif(
         concat_ws(
           ', ', v.doubts, a.doubts,
           CASE WHEN a.busy_seconds > 1.005e0 * a.seconds
                THEN 'IODDEV busy time is not possible' END
         ), ''
       ) AS doubts
FROM volume AS v
LEFT JOIN _device_interval AS a
  ON a.system = v.system
  AND a.interval_end = v.interval_end
  AND a.device = v.device;
