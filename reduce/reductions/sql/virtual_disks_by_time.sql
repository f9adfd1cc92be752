-- Virtual disks in storage, one row per system, interval and disk (D3R17).
CREATE OR REPLACE VIEW virtual_disks_by_time AS
SELECT system,
       interval_end,
       -- User id of the owner.
       mdiouser AS owner,
       -- Virtual device number at the owner.
       mdiovdev AS virtual_device,
       -- Elapsed seconds T of the record. NULL at a first sample.
       MAX(seconds) AS seconds,
       -- Address space that holds the disk (QDISNAME). NULL without a sample.
       MAX(qdisname) AS address_space,
       -- Links to the disk (MDILINKS). NULL without a sample.
       MAX(mdilinks) AS links,
       -- Size, MiB (CALSIZE blocks of 512 bytes). NULL without a sample.
       MAX(CAST(calsize AS DOUBLE)) / 2048e0 AS size_mib,
       -- Virtual I/Os to the disk (QDIIOCNT). NULL without STOVDK deltas.
       MAX(qdiiocnt) AS ios,
       all_doubts(doubts) AS doubts
FROM interval.stovdk
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end, mdiouser, mdiovdev;
