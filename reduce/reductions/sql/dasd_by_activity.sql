-- I/Os and service times of disks, one row per system, interval and device.
-- Devices that configuration records call network or FCP devices are left out.
-- The columns from starts on are the sums behind the others: over a longer
-- span, divide the sum of one by the sum of the other.
CREATE OR REPLACE VIEW dasd_by_activity AS
SELECT d.system,
       d.interval_end,
       d.device,
       -- Volume serial. NULL for a device without a label.
       d.volser,
       -- Type and model, such as 3390-3. NULL while MTRDEV and IODVON records
       -- do not say.
       c.device_type,
       -- Type and hexadecimal model of the control unit, such as 3990-6. NULL
       -- while MTRDEV and IODVON records do not say.
       c.control_unit,
       -- Ids of the channel paths, such as 1A 2A, at the end of the interval.
       -- NULL where neither IODDEV nor MTRDEV and IODVON records say.
       COALESCE(d.paths, c.paths) AS paths,
       -- Subchannel number; of a device without a record the one that
       -- configuration tells.
       COALESCE(d.subchannel, c.subchannel) AS subchannel,
       -- Elapsed seconds T of the device. NULL at a first sample.
       d.seconds,
       -- Start and resume subchannels. NULL without an IODDEV delta.
       d.starts,
       -- I/Os that the minidisk cache saved. NULL without an IODDEV delta.
       d.avoided,
       -- I/Os that read (RDEVRDCT). NULL without an IODDEV delta.
       d.reads,
       -- I/Os that read or wrote. NULL without an IODDEV delta.
       d.transfers,
       -- Links of users to minidisks on the device, at the end of the interval.
       d.links,
       -- Function pending, seconds. NULL without timed I/Os.
       d.pending_seconds,
       -- Disconnected, seconds. NULL without timed I/Os.
       d.disconnect_seconds,
       -- Connected, seconds. NULL without timed I/Os.
       d.connect_seconds,
       -- The device alone active, seconds. NULL without timed I/Os, and where
       -- IODDEV records end before SCMDATIM.
       d.active_seconds,
       -- Pending, disconnected, connected and, as far as it is known, active
       -- alone: seconds. NULL without timed I/Os.
       d.busy_seconds,
       -- Queued in the control unit, seconds, part of these. NULL without timed
       -- I/Os, and where IODDEV records end before SCMCQTIM.
       d.unit_queue_seconds,
       -- Busy and queued, seconds of I/Os. NULL without timed I/Os and
       -- high-frequency samples.
       d.busy_seconds
         + FLOOR(
           CAST(d.queued_samples AS DOUBLE) / nullif(d.queue_samples, 0)
           * d.seconds * 4294967296e0 + 5e-1
         ) / 4294967296e0
         AS response_seconds,
       -- I/Os that high-frequency samples found queued. NULL without an IODDEV
       -- delta.
       d.queued_samples,
       -- High-frequency samples. NULL without an IODDEV delta.
       d.queue_samples,
       nullif(
         concat_ws(
           ', ', d.doubts, w.doubts,
           CASE WHEN g.is_suspended THEN 'events were lost' END
         ), ''
       ) AS doubts
FROM _device_interval AS d
LEFT JOIN _device_witness AS w
  ON w.system = d.system
  AND w.interval_end = d.interval_end
LEFT JOIN _event_stretch AS g
  ON g.system = d.system
  AND g.interval_end = d.interval_end
LEFT JOIN _device_configuration AS c
  ON c.system = d.system
  AND c.device = d.device
  AND as_of(d.interval_end, c.valid_from, c.valid_until)
WHERE c.device_class IS NULL OR c.device_class <> 2;
