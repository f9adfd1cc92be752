-- Busy time of the volumes with page slots, one row per volume and interval:
-- device activity (D6R3) of the devices that paging space lies on (D3R4).
CREATE OR REPLACE VIEW _page_volume_interval AS
WITH volume AS (
  SELECT system, interval_end, rdevdev AS device
  FROM interval.stoasp
  WHERE interval_end IS NOT NULL
    AND calpage > 0
  GROUP BY system, interval_end, rdevdev
),
activity AS (
  SELECT system,
         interval_end,
         rdevdev AS device,
         SUM(seconds) AS seconds,
         SUM(scmfptim + scmddtim + scmcntim) * 128e-6 AS busy_seconds
  FROM interval.ioddev
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, rdevdev
)
SELECT v.system,
       v.interval_end,
       -- Device number.
       v.device,
       -- Elapsed seconds between the device's samples. NULL without a delta.
       a.seconds,
       -- Pending, disconnected and connected, seconds. NULL without a delta.
       a.busy_seconds
FROM volume AS v
LEFT JOIN activity AS a
  ON a.system = v.system
  AND a.interval_end = v.interval_end
  AND a.device = v.device;
