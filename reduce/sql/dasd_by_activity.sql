-- I/Os and service times of disks, one row per system, interval and device.
-- Devices that configuration records call network or FCP devices are left out.
-- The columns from starts on are the sums behind the others: over a longer
-- span, divide the sum of one by the sum of the other.
CREATE OR REPLACE VIEW dasd_by_activity (
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
  -- Start and resume subchannels per second. NULL without an IODDEV delta.
  ssch_rate,
  -- I/Os per second that the minidisk cache saved. NULL without an IODDEV
  -- delta.
  avoided_rate,
  -- Function pending, milliseconds per I/O. NULL without timed I/Os.
  pending_ms,
  -- Disconnected, milliseconds per I/O. NULL without timed I/Os.
  disconnect_ms,
  -- Connected, milliseconds per I/O. NULL without timed I/Os.
  connect_ms,
  -- Pending, disconnected and connected, milliseconds per I/O. NULL without
  -- timed I/Os.
  service_ms,
  -- Service and time in CP's queue, milliseconds per I/O. NULL without timed
  -- I/Os and high-frequency samples.
  response_ms,
  -- I/Os in CP's queue of the device, 0 or more, mean of the high-frequency
  -- samples. NULL without high-frequency samples.
  queue_length,
  -- Share of time the device was busy: I/Os per second times service, 0..1.
  -- NULL without timed I/Os.
  busy_util,
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
SELECT system,
       interval_end,
       device,
       volser,
       device_type,
       control_unit,
       paths,
       subchannel,
       seconds,
       starts / nullif(seconds, 0) AS ssch_rate,
       avoided / nullif(seconds, 0) AS avoided_rate,
       1e3 * pending_seconds / nullif(starts, 0) AS pending_ms,
       1e3 * disconnect_seconds / nullif(starts, 0) AS disconnect_ms,
       1e3 * connect_seconds / nullif(starts, 0) AS connect_ms,
       1e3 * busy_seconds / nullif(starts, 0) AS service_ms,
       1e3 * response_seconds / nullif(starts, 0) AS response_ms,
       CAST(queued_samples AS DOUBLE) / nullif(queue_samples, 0)
         AS queue_length,
       busy_seconds / nullif(seconds, 0) AS busy_util,
       starts,
       avoided,
       pending_seconds,
       disconnect_seconds,
       connect_seconds,
       busy_seconds,
       unit_queue_seconds,
       response_seconds,
       queued_samples,
       queue_samples
FROM _dasd_interval;
