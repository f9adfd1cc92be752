-- What the directory and the logon say of each user (D1R15, D4R1), one row per
-- user and record; a row holds until the next record of the user.
CREATE OR REPLACE VIEW _user_directory AS
WITH told AS (
  SELECT system, vmduser, tod, vmdmxrvp, vmdactno, vmdgrpn, vmdbyval
  FROM monitor.mtrusr
  UNION ALL
  SELECT system, vmduser, tod, vmdmxrvp, vmdactno, vmdgrpn, vmdbyval
  FROM monitor.uselon
),
once AS (
  SELECT system,
         vmduser AS userid,
         tod,
         MAX(CAST(vmdmxrvp AS BIGINT)) AS reserved_pages,
         MAX(nullif(vmdactno, '')) AS account,
         MAX(nullif(vmdgrpn, '')) AS group_name,
         MAX(nullif(vmdbyval, '')) AS by_user
  FROM told
  GROUP BY system, vmduser, tod
)
SELECT system,
       -- User id.
       userid,
       -- From when on, UTC.
       tod AS valid_from,
       -- Until when, UTC. NULL in the latest row of a user.
       LEAD(tod) OVER (PARTITION BY system, userid ORDER BY tod) AS valid_until,
       -- Pages that CP keeps resident for the user (VMDMXRVP, believed).
       reserved_pages,
       -- Accounting number (VMDACTNO). NULL where the record has none.
       account,
       -- ACI group (VMDGRPN). NULL where the record has none.
       group_name,
       -- Who logged on in the name of the user (VMDBYVAL, believed). NULL where
       -- the record names nobody.
       by_user
FROM once;
