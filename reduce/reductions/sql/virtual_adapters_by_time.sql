-- What sessions of virtual network adapters sent and received, one row per
-- system, interval, owner, adapter and session device (D8R1).
CREATE OR REPLACE VIEW virtual_adapters_by_time AS
SELECT system,
       interval_end,
       -- User id that owns the virtual adapter.
       owner,
       -- Virtual device number of the adapter (NICBASE).
       nicbase AS adapter,
       -- Virtual device number of the session (VDEVDEV).
       vdevdev AS virtual_device,
       -- Elapsed seconds T of the record. NULL at a first sample.
       MAX(seconds) AS seconds,
       -- Owner and name of the virtual network (LANID). NULL without a sample.
       MAX(lanid) AS network,
       -- Bytes sent (SESTXBYT). NULL without VNDSES deltas.
       MAX(sestxbyt) AS sent_bytes,
       -- Bytes received (SESRXBYT). NULL without VNDSES deltas.
       MAX(sesrxbyt) AS received_bytes,
       -- Bytes sent and received. NULL without VNDSES deltas.
       MAX(sestxbyt) + MAX(sesrxbyt) AS moved_bytes,
       -- Packets sent (SESTXPKT). NULL without VNDSES deltas.
       MAX(sestxpkt) AS sent_packets,
       -- Packets received (SESRXPKT). NULL without VNDSES deltas.
       MAX(sesrxpkt) AS received_packets,
       -- Packets to send that were discarded (SESTXDSC). NULL without VNDSES
       -- deltas.
       MAX(sestxdsc) AS sent_discards,
       -- Received packets that were discarded (SESRXDSC). NULL without VNDSES
       -- deltas.
       MAX(sesrxdsc) AS received_discards,
       -- Errors in sending and receiving (SESTXERR, SESRXERR). NULL without
       -- VNDSES deltas.
       MAX(sestxerr) + MAX(sesrxerr) AS errors,
       all_doubts(doubts) AS doubts
FROM interval.vndses
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end, owner, nicbase, vdevdev;
