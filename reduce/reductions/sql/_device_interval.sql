-- I/Os of each device and interval (D6R3). The channel subsystem may time only
-- some of the I/Os (SCGCOUNT of SCGSSCH): the times here are those of all, in
-- proportion. The counts of 16 bits stand in where those of 32 bits are not
-- kept. Times are whole parts of 2**-32 s: sums of them are exact in any order.
CREATE OR REPLACE VIEW _device_interval AS
WITH counted AS (
  SELECT system,
         interval_end,
         rdevdev AS device,
         MAX(CAST(rdevsid AS BIGINT)) AS subchannel,
         MAX(rdevser) AS volser,
         SUM(seconds) AS seconds,
         complete_sum(greatest(scgssch, scmssch)) AS starts,
         complete_sum(greatest(scgcount, scmcount)) AS timed,
         complete_sum(rdevmcia) AS avoided,
         complete_sum(rdevrdct) AS reads,
         complete_sum(rdevwrct) AS writes,
         MAX(CAST(rdevlcnt AS BIGINT)) AS links,
         -- As in _device_configuration; 0 of a record that does not have them.
         nullif(MAX(CAST(rdevlpm AS INTEGER)), 0) AS mask,
         MAX(CAST(rdevchps // 4294967296 AS BIGINT)) AS first_paths,
         MAX(CAST(rdevchps % 4294967296 AS BIGINT)) AS last_paths,
         CAST(SUM(scmfptim) AS DOUBLE) * 128e-6 AS pending,
         CAST(SUM(scmddtim) AS DOUBLE) * 128e-6 AS disconnect,
         CAST(SUM(scmcntim) AS DOUBLE) * 128e-6 AS connected,
         CAST(SUM(scmdatim) AS DOUBLE) * 128e-6 AS active_only,
         CAST(SUM(scmcqtim) AS DOUBLE) * 128e-6 AS unit_queue,
         complete_sum(hfctio) AS queued_samples,
         complete_sum(hfrdevct) AS queue_samples,
         all_doubts(doubts) AS doubts
  FROM interval.ioddev
  WHERE interval_end IS NOT NULL
  GROUP BY system, interval_end, rdevdev
),
scaled AS (
  SELECT system,
         interval_end,
         device,
         subchannel,
         volser,
         seconds,
         starts,
         avoided,
         reads,
         writes,
         links,
         nullif(
           path_ids(mask, hexadecimal_half(first_paths),
                    hexadecimal_half(last_paths)), ''
         ) AS paths,
         pending,
         disconnect,
         connected,
         active_only,
         unit_queue,
         queued_samples,
         queue_samples,
         doubts,
         CASE WHEN starts = 0 THEN 1e0
              ELSE CAST(starts AS DOUBLE) / nullif(timed, 0)
         END AS untimed
  FROM counted
)
SELECT system,
       interval_end,
       -- Device number.
       device,
       -- Subchannel number.
       subchannel,
       -- Volume serial. NULL for a device without one.
       nullif(trim(volser), '') AS volser,
       -- Elapsed seconds between its two samples. NULL at a first sample.
       seconds,
       -- Start and resume subchannels. NULL at a first sample.
       starts,
       -- I/Os that the minidisk cache saved. NULL at a first sample.
       avoided,
       -- I/Os that read (RDEVRDCT). NULL at a first sample.
       reads,
       -- I/Os that read or wrote (RDEVRDCT, RDEVWRCT). NULL at a first sample.
       reads + writes AS transfers,
       -- Links of users to minidisks on the device.
       links,
       -- Ids of the channel paths, such as 1A 2A. NULL without a path mask.
       paths,
       -- Function pending, seconds. NULL at a first sample, or if no I/O was
       -- timed.
       FLOOR(pending * untimed * 4294967296e0 + 5e-1) / 4294967296e0
         AS pending_seconds,
       -- Disconnected, seconds. NULL at a first sample, or if no I/O was timed.
       FLOOR(disconnect * untimed * 4294967296e0 + 5e-1) / 4294967296e0
         AS disconnect_seconds,
       -- Connected, seconds. NULL at a first sample, or if no I/O was timed.
       FLOOR(connected * untimed * 4294967296e0 + 5e-1) / 4294967296e0
         AS connect_seconds,
       -- The device alone active, seconds (SCMDATIM). NULL at a first sample,
       -- if no I/O was timed, or if the record ends before it.
       FLOOR(active_only * untimed * 4294967296e0 + 5e-1) / 4294967296e0
         AS active_seconds,
       -- What the service takes, seconds: pending, disconnected, connected and,
       -- as far as records have it, the device alone active. NULL at a first
       -- sample, or if no I/O was timed.
       FLOOR(
         (pending + disconnect + connected + COALESCE(active_only, 0)) * untimed
         * 4294967296e0 + 5e-1
       ) / 4294967296e0 AS busy_seconds,
       -- Queued in the control unit, seconds, part of the times above. NULL at
       -- a first sample, if no I/O was timed, or if the record ends before it.
       FLOOR(unit_queue * untimed * 4294967296e0 + 5e-1) / 4294967296e0
         AS unit_queue_seconds,
       -- I/Os that high-frequency samples found queued. NULL at a first sample.
       queued_samples,
       -- High-frequency samples. NULL at a first sample.
       queue_samples,
       doubts
FROM scaled;
