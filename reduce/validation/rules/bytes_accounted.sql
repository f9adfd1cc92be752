-- Every byte of a dump is accounted for
-- What was decoded, kept raw, quarantined and skipped as filler sums up to the
-- size of the dump (meta.dump).
-- severity: critical
-- remedy: Land the dump again from the original, in a new store; if the sum
-- stays open, it is an error of cpmon: report it with the dump.
SELECT system,
       last_tod AS interval_end,
       'dump ' || dump AS object,
       bytes.decoded + bytes.raw + bytes.quarantined + bytes.filler AS value,
       bytes."size" AS least,
       bytes."size" AS most
FROM meta.dump;
