-- I/Os and service times of the disks behind each control unit, one row per
-- system, interval and control unit. No record names control units: devices
-- whose control units have the same type, channel paths and subsystem id are
-- taken to share one; an alias belongs to that of its base. Times are means
-- over the I/Os, so devices count by their rates. The columns from starts on
-- are the sums behind the others: over a longer span, divide the sum of one by
-- the sum of the other.
CREATE OR REPLACE VIEW dasd_by_control_unit AS
WITH cached AS (
  SELECT system,
         interval_end,
         rdevsid AS subchannel,
         MAX(CAST(nullif(ssid, 0) AS BIGINT)) AS ssid
  FROM monitor.iodcad
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, rdevsid
),
lasting AS (
  -- Also of a device that has no record for a time.
  SELECT system, subchannel, MAX(ssid) AS ssid
  FROM cached
  GROUP BY system, subchannel
  HAVING MIN(ssid) = MAX(ssid)
),
varied AS (
  SELECT system, tod, rdevdev AS device FROM monitor.iodvof
  UNION ALL
  SELECT system, tod, rdevdev AS device FROM monitor.iodsof
  UNION ALL
  SELECT system, tod, rdevdev AS device FROM monitor.iodddv
),
online AS (
  -- Disks that configuration tells to be there: of one that is offline, its
  -- control unit and paths are not valid.
  SELECT c.system,
         c.device,
         c.subchannel,
         c.control_unit,
         c.paths,
         c.valid_from,
         LEAST(c.valid_until, MIN(v.tod)) AS valid_until
  FROM _device_configuration AS c
  LEFT JOIN varied AS v
    ON v.system = c.system
    AND v.device = c.device
    AND v.tod >= c.valid_from
  WHERE c.device_class = 4
    AND c.control_unit IS NOT NULL
    AND c.paths <> ''
  GROUP BY c.system, c.device, c.subchannel, c.control_unit, c.paths,
           c.valid_from, c.valid_until
),
sampled AS (
  SELECT system, interval_end, MAX(seconds) AS seconds
  FROM _dasd_by_activity
  GROUP BY system, interval_end
),
unsampled AS (
  -- MONITOR SAMPLE can leave devices out, from the start on.
  SELECT i.system,
         i.interval_end,
         i.seconds,
         o.device,
         o.subchannel,
         o.control_unit,
         o.paths
  FROM sampled AS i
  JOIN online AS o
    ON o.system = i.system
    AND as_of(i.interval_end, o.valid_from, o.valid_until)
  LEFT JOIN _dasd_by_activity AS d
    ON d.system = i.system
    AND d.interval_end = i.interval_end
    AND d.device = o.device
  WHERE d.device IS NULL
),
every AS (
  SELECT system,
         interval_end,
         device,
         control_unit,
         paths,
         subchannel,
         seconds,
         starts,
         pending_seconds,
         disconnect_seconds,
         connect_seconds,
         busy_seconds,
         unit_queue_seconds,
         doubts
  FROM _dasd_by_activity
  UNION ALL
  SELECT system,
         interval_end,
         device,
         control_unit,
         paths,
         subchannel,
         seconds,
         CAST(NULL AS BIGINT) AS starts,
         CAST(NULL AS DOUBLE) AS pending_seconds,
         CAST(NULL AS DOUBLE) AS disconnect_seconds,
         CAST(NULL AS DOUBLE) AS connect_seconds,
         CAST(NULL AS DOUBLE) AS busy_seconds,
         CAST(NULL AS DOUBLE) AS unit_queue_seconds,
         'disks were not sampled' AS doubts
  FROM unsampled
),
placed AS (
  -- Only what an alias does is its own.
  SELECT d.system,
         d.interval_end,
         d.device,
         COALESCE(c.control_unit, d.control_unit) AS control_unit,
         COALESCE(c.paths, d.paths) AS paths,
         COALESCE(b.base_subchannel, d.subchannel) AS subchannel,
         d.seconds,
         d.starts,
         d.pending_seconds,
         d.disconnect_seconds,
         d.connect_seconds,
         d.busy_seconds,
         d.unit_queue_seconds,
         d.doubts
  FROM every AS d
  LEFT JOIN _device_base AS b
    ON b.system = d.system
    AND b.device = d.device
    AND as_of(d.interval_end, b.valid_from, b.valid_until)
  LEFT JOIN _device_configuration AS c
    ON c.system = b.system
    AND c.device = b.base_device
    AND as_of(d.interval_end, c.valid_from, c.valid_until)
),
identified AS (
  -- `lost`: devices of which neither the work nor the subsystem is known. They
  -- may belong to any control unit of the type and paths.
  SELECT d.system,
         d.interval_end,
         d.device,
         d.control_unit,
         d.paths,
         COALESCE(k.ssid, l.ssid) AS ssid,
         COUNT(
           CASE WHEN d.starts IS NULL AND COALESCE(k.ssid, l.ssid) IS NULL
                THEN 1 END
         ) OVER (
           PARTITION BY d.system, d.interval_end, d.control_unit, d.paths
         ) AS lost,
         d.seconds,
         d.starts,
         d.pending_seconds,
         d.disconnect_seconds,
         d.connect_seconds,
         d.busy_seconds,
         d.unit_queue_seconds,
         d.doubts
  FROM placed AS d
  LEFT JOIN cached AS k
    ON k.system = d.system
    AND k.interval_end = d.interval_end
    AND k.subchannel = d.subchannel
  LEFT JOIN lasting AS l
    ON l.system = d.system
    AND l.subchannel = d.subchannel
),
unit AS (
  SELECT d.system,
         d.interval_end,
         d.control_unit,
         d.ssid,
         d.paths,
         AVG(d.seconds) AS seconds,
         CASE WHEN MAX(d.lost) = 0 THEN COUNT(d.device) END AS devices,
         CASE WHEN MAX(d.lost) = 0 THEN complete_sum(d.starts) END AS starts,
         SUM(d.pending_seconds) AS pending_seconds,
         SUM(d.disconnect_seconds) AS disconnect_seconds,
         SUM(d.connect_seconds) AS connect_seconds,
         SUM(d.busy_seconds) AS busy_seconds,
         SUM(d.unit_queue_seconds) AS unit_queue_seconds,
         TRY_CAST(SUM(CASE WHEN d.busy_seconds IS NOT NULL THEN d.starts END)
              AS BIGINT) AS timed_starts,
         SUM(CASE WHEN d.busy_seconds IS NOT NULL THEN d.seconds END)
           AS device_seconds,
         all_doubts(d.doubts) AS doubts
  FROM identified AS d
  GROUP BY d.system, d.interval_end, d.control_unit, d.ssid, d.paths
)
SELECT system,
       interval_end,
       -- Type and hexadecimal model, such as 3990-6. NULL while MTRDEV and
       -- IODVON records do not say.
       control_unit,
       -- Subsystem id, four hexadecimal digits. NULL without IODCAD records:
       -- the control unit has no cache, or monitoring of I/O was off.
       upper(lpad(to_hex(ssid), 4, '0')) AS subsystem,
       -- Ids of the channel paths, such as 1A 2A. NULL while MTRDEV and IODVON
       -- records do not say.
       paths,
       -- Elapsed seconds T, mean over the devices. NULL at a first sample.
       seconds,
       -- Devices, 1 or more. NULL where the control unit of one is not known.
       devices,
       -- Start and resume subchannels. NULL without an IODDEV delta of each.
       starts,
       -- Start and resume subchannels of the devices whose I/Os were timed.
       -- NULL without IODDEV deltas.
       timed_starts,
       -- Function pending, seconds. NULL without timed I/Os.
       pending_seconds,
       -- Disconnected, seconds. NULL without timed I/Os.
       disconnect_seconds,
       -- Connected, seconds. NULL without timed I/Os.
       connect_seconds,
       -- Pending, disconnected, connected and, as far as it is known, active
       -- alone: seconds. NULL without timed I/Os.
       busy_seconds,
       -- Queued in the control unit, seconds. NULL without timed I/Os, and
       -- where IODDEV records end before SCMCQTIM.
       unit_queue_seconds,
       -- Elapsed seconds summed over the devices, less those whose I/Os were
       -- not timed. NULL without IODDEV deltas.
       device_seconds,
       doubts
FROM unit;
