-- Virtual time of a user is part of his total time
-- VMDVTIME and VMDTTIME of USEACT, both since logon: total time is virtual time
-- and what CP did for the user. 1 % and 1 ms are left.
-- severity: warning
-- remedy: Compare the layout of USEACT with your release.
SELECT system,
       interval_end,
       vmduser || ' ' || vmdcpuad AS object,
       CAST(vmdvtime AS DOUBLE) AS value,
       0 AS least,
       CAST(vmdttime AS DOUBLE) * 1.01 + 4096e3 AS most
FROM monitor.useact;
