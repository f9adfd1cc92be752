-- Share and storage of each user (D1R15, D4R1; share changes of D2R9; storage
-- of D4R9), one row per user and time that they hold. A row that says the same
-- as the one before is left out, so that a user who logs on every day has one
-- row between gaps.
CREATE OR REPLACE VIEW _user_configuration AS
WITH recorded AS (
  SELECT system, vmduser, tod, tod_us, vmdrelsh, vmdabssh, vmdssize, ascdefsz
  FROM monitor.mtrusr
  UNION ALL
  SELECT system, vmduser, tod, tod_us, vmdrelsh, vmdabssh, vmdssize, ascdefsz
  FROM monitor.uselon
  UNION ALL
  SELECT system, vmduser, tod, tod_us, vmdrelsh, vmdabssh, NULL, NULL
  FROM monitor.sclshr
),
-- No event tells of DEFINE STORAGE, but the end of a transaction does.
used AS (
  SELECT system, vmduser, tod, tod_us, vmdrelsh, vmdabssh, vmdssize, ascdefsz
  FROM monitor.useate
  WHERE vmdssize > 0
),
redefined AS (
  SELECT system, vmduser
  FROM (
    SELECT system, vmduser, vmdssize, ascdefsz FROM recorded
    UNION ALL
    SELECT system, vmduser, vmdssize, ascdefsz FROM used
  ) AS each
  WHERE vmdssize > 0
  GROUP BY system, vmduser
  HAVING MIN(vmdssize) <> MAX(vmdssize) OR MIN(ascdefsz) <> MAX(ascdefsz)
),
told AS (
  SELECT system, vmduser, tod, tod_us, vmdrelsh, vmdabssh, vmdssize, ascdefsz
  FROM recorded
  UNION ALL
  SELECT u.system,
         u.vmduser,
         u.tod,
         u.tod_us,
         u.vmdrelsh,
         u.vmdabssh,
         u.vmdssize,
         u.ascdefsz
  FROM used AS u
  JOIN redefined AS r
    ON r.system = u.system
    AND r.vmduser = u.vmduser
),
placed AS (
  SELECT system,
         vmduser,
         tod,
         vmdrelsh,
         vmdabssh,
         vmdssize,
         ascdefsz,
         is_gap,
         TRY_CAST(SUM(is_gap) OVER (
           PARTITION BY system ORDER BY tod_us
         ) AS BIGINT) AS stretch
  FROM (
    SELECT system, vmduser, tod, tod_us, vmdrelsh, vmdabssh, vmdssize, ascdefsz,
           0 AS is_gap
    FROM told
    UNION ALL
    SELECT system, NULL, interval_end, complete_us, NULL, NULL, NULL, NULL, 1
    FROM _event_stretch
    WHERE complete_us IS NOT NULL
  )
),
once AS (
  SELECT system,
         vmduser AS userid,
         tod,
         CAST(MAX(nullif(vmdrelsh, 0)) AS DOUBLE) AS relative_share,
         MAX(nullif(vmdabssh, 0)) / 65536e0 AS absolute_share,
         MAX(CASE WHEN ascdefsz > 0 THEN (ascdefsz + 1) / 1048576e0
                  ELSE vmdssize / 1048576e0 END) AS storage_mib,
         MAX(stretch) AS stretch
  FROM placed
  WHERE is_gap = 0
  GROUP BY system, vmduser, tod
),
filled AS (
  SELECT system,
         userid,
         tod,
         relative_share,
         absolute_share,
         storage_mib,
         stretch,
         COUNT(storage_mib) OVER (
           PARTITION BY system, userid ORDER BY tod
         ) AS logon
  FROM once
),
known AS (
  SELECT system,
         userid,
         tod,
         relative_share,
         absolute_share,
         stretch,
         MAX(storage_mib) OVER (
           PARTITION BY system, userid, logon
         ) AS storage_mib
  FROM filled
),
followed AS (
  SELECT system,
         userid,
         tod,
         relative_share,
         absolute_share,
         storage_mib,
         stretch,
         LAG(stretch) OVER w AS stretch_before,
         LAG(tod) OVER w AS earlier,
         LAG(relative_share) OVER w AS relative_before,
         LAG(absolute_share) OVER w AS absolute_before,
         LAG(storage_mib) OVER w AS storage_before
  FROM known
  WINDOW w AS (PARTITION BY system, userid ORDER BY tod)
)
SELECT system,
       -- User id.
       userid,
       -- From when on, UTC.
       tod AS valid_from,
       -- Until when, UTC. NULL in the latest row of a user.
       LEAD(tod) OVER (PARTITION BY system, userid ORDER BY tod) AS valid_until,
       -- Relative share (VMDRELSH). NULL while the share is absolute.
       relative_share,
       -- Absolute share of the system (VMDABSSH; X'00010000' is the whole),
       -- 0..1. NULL while the share is relative.
       absolute_share,
       -- Virtual storage, MiB: the size of the primary address space
       -- (ASCDEFSZ), or VMDSSIZE where the record ends before it. NULL in a row
       -- that only a share change has made.
       storage_mib,
       -- Number of gaps before it was told, or changed last.
       stretch
FROM followed
WHERE earlier IS NULL
  OR stretch <> stretch_before
  OR COALESCE(relative_share, -1) <> COALESCE(relative_before, -1)
  OR COALESCE(absolute_share, -1) <> COALESCE(absolute_before, -1)
  OR COALESCE(storage_mib, -1) <> COALESCE(storage_before, -1);
