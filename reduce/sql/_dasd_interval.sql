-- What each disk device did in each interval, before any division by its starts
-- or by time, one row per system, interval and device (D6R3, IODDEV).
CREATE OR REPLACE VIEW _dasd_interval (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Device number.
  device,
  -- Volume serial. NULL for a device without a label.
  volser,
  -- Type and model, such as 3390-3. NULL while MTRDEV and IODVON records do not
  -- say.
  device_type,
  -- Type and hexadecimal model of the control unit, such as 3990-6. NULL while
  -- MTRDEV and IODVON records do not say.
  control_unit,
  -- Ids of the channel paths, such as 1A 2A. NULL while MTRDEV and IODVON
  -- records do not say.
  paths,
  -- Subchannel number.
  subchannel,
  -- Elapsed seconds T of the device. NULL at a first sample.
  seconds,
  -- Start and resume subchannels. NULL without an IODDEV delta.
  starts,
  -- I/Os that the minidisk cache saved. NULL without an IODDEV delta.
  avoided,
  -- Function pending, seconds. NULL without timed I/Os.
  pending_seconds,
  -- Disconnected, seconds. NULL without timed I/Os.
  disconnect_seconds,
  -- Connected, seconds. NULL without timed I/Os.
  connect_seconds,
  -- Pending, disconnected and connected, seconds. NULL without timed I/Os.
  busy_seconds,
  -- Queued in the control unit, seconds, part of these. NULL without timed
  -- I/Os, and where IODDEV records end before SCMCQTIM.
  unit_queue_seconds,
  -- Busy and queued, seconds of I/Os. NULL without timed I/Os and
  -- high-frequency samples.
  response_seconds,
  -- I/Os that high-frequency samples found queued. NULL without an IODDEV
  -- delta.
  queued_samples,
  -- High-frequency samples. NULL without an IODDEV delta.
  queue_samples
) AS
SELECT d.system,
       d.interval_end,
       d.device,
       d.volser,
       c.device_type,
       c.control_unit,
       c.paths,
       d.subchannel,
       d.seconds,
       d.starts,
       d.avoided,
       d.pending_seconds,
       d.disconnect_seconds,
       d.connect_seconds,
       d.pending_seconds + d.disconnect_seconds + d.connect_seconds
         AS busy_seconds,
       d.unit_queue_seconds,
       d.pending_seconds + d.disconnect_seconds + d.connect_seconds
         + CAST(d.queued_samples AS DOUBLE) / nullif(d.queue_samples, 0)
         * d.seconds
         AS response_seconds,
       d.queued_samples,
       d.queue_samples
FROM _device_interval AS d
LEFT JOIN _device_configuration AS c
  ON c.system = d.system
  AND c.device = d.device
  AND c.valid_from <= d.interval_end
  AND (c.valid_until IS NULL OR c.valid_until > d.interval_end)
WHERE c.device_class IS NULL OR c.device_class <> 2;
