-- File systems of Linux guests that run mon_fsstatd (D10R2, APLSDT), one row
-- per system, interval, guest and file system. Figures are those of the latest
-- block that the guest wrote, at intervals of its own. The columns from
-- size_bytes on are the sums behind the shares.
CREATE OR REPLACE VIEW linux_file_systems_by_time AS
WITH sampled AS (
  SELECT system,
         interval_end,
         userid,
         fs_dir,
         fs_name,
         fs_type,
         -- Blocks are counted in units of FS_FRSIZE; 2^53 bytes are 8 PiB.
         CAST(fs_blocks AS DOUBLE) * fs_frsize AS size_bytes,
         CAST(fs_blocks - fs_bfree AS DOUBLE) * fs_frsize AS used_bytes,
         CAST(fs_bavail AS DOUBLE) * fs_frsize AS available_bytes,
         CASE WHEN fs_files > 0 THEN CAST(fs_files AS DOUBLE) END AS inodes,
         CASE WHEN fs_files > 0
              THEN CAST(fs_files - fs_ffree AS DOUBLE)
         END AS inodes_used,
         CAST(tod_us - time_stamp AS DOUBLE) / 1e6 AS age_s,
         cause,
         COUNT(fs_blocks) OVER (PARTITION BY system, interval_end, userid)
           AS mounted,
         -- A file system that is mounted is no doubt.
         CASE WHEN cause = 'appeared' THEN NULL ELSE doubts END AS doubts
  FROM interval.aplsdt_fs
  WHERE interval_end IS NOT NULL
)
SELECT s.system,
       s.interval_end,
       -- User id of the guest.
       userid,
       -- Directory that the file system is mounted on.
       fs_dir AS mount_point,
       -- Device, or other name of the file system.
       fs_name AS mounted_device,
       -- Elapsed seconds T of the interval. NULL at a first sample.
       i.seconds,
       -- Type of the file system, such as ext4.
       fs_type AS file_system_type,
       -- Size, MiB. NULL where the block is too short.
       size_bytes / 1048576 AS size_mib,
       -- What is used, MiB. NULL where the block is too short, or has more
       -- free blocks than blocks.
       CASE WHEN used_bytes >= 0 THEN used_bytes / 1048576 END AS used_mib,
       -- What users other than root can still take, MiB. NULL where the block
       -- is too short.
       available_bytes / 1048576 AS available_mib,
       -- Seconds from the guest's block to the record, 0 where the guest's
       -- clock is ahead. NULL where the block is too short.
       GREATEST(age_s, 0) AS block_age_s,
       -- Size, bytes. NULL where the block is too short.
       size_bytes,
       -- What is used, bytes. NULL where the block is too short, or has more
       -- free blocks than blocks.
       CASE WHEN used_bytes >= 0 THEN used_bytes END AS used_bytes,
       -- What is used and what users other than root can still take, bytes.
       -- NULL where the block is too short, or has more free blocks than
       -- blocks.
       CASE WHEN used_bytes >= 0
            THEN used_bytes + available_bytes
       END AS reachable_bytes,
       -- Inodes. NULL where the file system has no fixed number of them.
       inodes,
       -- Inodes used. NULL where the file system has no fixed number of them,
       -- or has more free ones.
       CASE WHEN inodes_used >= 0 THEN inodes_used END AS inodes_used,
       s.doubts
FROM sampled AS s
JOIN _interval AS i
  ON i.system = s.system
  AND i.interval_end = s.interval_end
-- One of several that is not there has been unmounted; without any the record
-- of the guest is missing.
WHERE cause IS NULL
  OR cause <> 'missing'
  OR mounted = 0;
