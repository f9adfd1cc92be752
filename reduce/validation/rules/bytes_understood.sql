-- No byte of a dump had to be put into quarantine
-- Bytes that could not be understood, by dump (meta.dump); cpmon keeps them in
-- table quarantine. What stands around them has landed.
-- severity: warning
-- remedy: Transfer the dump again in binary. If cpmon check finds it better,
-- move the folder of this one (records/system=S/date=D/dump=N) out of the
-- store, run cpmon store repair, and land that; the findings (meta.finding,
-- cpmon check) tell what is wrong where.
SELECT system,
       last_tod AS interval_end,
       'dump ' || dump AS object,
       bytes.quarantined AS value,
       0 AS least,
       0 AS most
FROM meta.dump;
