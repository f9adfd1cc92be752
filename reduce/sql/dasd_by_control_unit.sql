-- I/Os and service times of the disks behind each control unit, one row per
-- system, interval and control unit. No record names control units: devices
-- whose control units have the same type, channel paths and subsystem id are
-- taken to share one. Times are means over the I/Os, so devices count by their
-- rates. The columns from starts on are the sums behind the others: over a
-- longer span, divide the sum of one by the sum of the other.
CREATE OR REPLACE VIEW dasd_by_control_unit (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Type and hexadecimal model, such as 3990-6. NULL while MTRDEV and IODVON
  -- records do not say.
  control_unit,
  -- Subsystem id, four hexadecimal digits. NULL without IODCAD records: the
  -- control unit has no cache, or monitoring of I/O was off.
  subsystem,
  -- Ids of the channel paths, such as 1A 2A. NULL while MTRDEV and IODVON
  -- records do not say.
  paths,
  -- Elapsed seconds T, mean over the devices. NULL at a first sample.
  seconds,
  -- Devices, 1 or more.
  devices,
  -- Start and resume subchannels per second, all devices. NULL without IODDEV
  -- deltas.
  ssch_rate,
  -- Function pending, milliseconds per I/O. NULL without timed I/Os.
  pending_ms,
  -- Disconnected, milliseconds per I/O. NULL without timed I/Os.
  disconnect_ms,
  -- Connected, milliseconds per I/O. NULL without timed I/Os.
  connect_ms,
  -- Pending, disconnected and connected, milliseconds per I/O. NULL without
  -- timed I/Os.
  service_ms,
  -- Queued in the control unit, milliseconds per I/O, part of the service.
  -- NULL without timed I/Os, and where IODDEV records end before SCMCQTIM.
  unit_queue_ms,
  -- Share of time that a device was busy, mean over the devices, 0..1. NULL
  -- without timed I/Os.
  busy_util,
  -- Start and resume subchannels. NULL without IODDEV deltas.
  starts,
  -- Function pending, seconds. NULL without timed I/Os.
  pending_seconds,
  -- Disconnected, seconds. NULL without timed I/Os.
  disconnect_seconds,
  -- Connected, seconds. NULL without timed I/Os.
  connect_seconds,
  -- Pending, disconnected and connected, seconds. NULL without timed I/Os.
  busy_seconds,
  -- Queued in the control unit, seconds. NULL without timed I/Os, and where
  -- IODDEV records end before SCMCQTIM.
  unit_queue_seconds,
  -- Elapsed seconds summed over the devices. NULL without IODDEV deltas.
  device_seconds
) AS
WITH cached AS (
  SELECT system,
         interval_end,
         rdevsid AS subchannel,
         MAX(CAST(nullif(ssid, 0) AS BIGINT)) AS ssid
  FROM monitor.iodcad
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, rdevsid
),
unit AS (
  SELECT d.system,
         d.interval_end,
         c.control_unit,
         k.ssid,
         c.paths,
         AVG(d.seconds) AS seconds,
         COUNT(d.device) AS devices,
         CAST(SUM(d.starts) AS BIGINT) AS starts,
         SUM(d.pending_seconds) AS pending_seconds,
         SUM(d.disconnect_seconds) AS disconnect_seconds,
         SUM(d.connect_seconds) AS connect_seconds,
         SUM(d.unit_queue_seconds) AS unit_queue_seconds,
         SUM(d.seconds) AS device_seconds
  FROM _device_interval AS d
  LEFT JOIN _device_configuration AS c
    ON c.system = d.system
    AND c.device = d.device
    AND c.valid_from <= d.interval_end
    AND (c.valid_until IS NULL OR c.valid_until > d.interval_end)
  LEFT JOIN cached AS k
    ON k.system = d.system
    AND k.interval_end = d.interval_end
    AND k.subchannel = d.subchannel
  WHERE c.device_class IS NULL OR c.device_class <> 2
  GROUP BY d.system, d.interval_end, c.control_unit, k.ssid, c.paths
)
SELECT system,
       interval_end,
       control_unit,
       upper(lpad(to_hex(ssid), 4, '0')) AS subsystem,
       paths,
       seconds,
       devices,
       starts / nullif(seconds, 0) AS ssch_rate,
       1e3 * pending_seconds / nullif(starts, 0) AS pending_ms,
       1e3 * disconnect_seconds / nullif(starts, 0) AS disconnect_ms,
       1e3 * connect_seconds / nullif(starts, 0) AS connect_ms,
       1e3 * (pending_seconds + disconnect_seconds + connect_seconds)
         / nullif(starts, 0) AS service_ms,
       1e3 * unit_queue_seconds / nullif(starts, 0) AS unit_queue_ms,
       (pending_seconds + disconnect_seconds + connect_seconds)
         / nullif(device_seconds, 0) AS busy_util,
       starts,
       pending_seconds,
       disconnect_seconds,
       connect_seconds,
       pending_seconds + disconnect_seconds + connect_seconds AS busy_seconds,
       unit_queue_seconds,
       device_seconds
FROM unit;
