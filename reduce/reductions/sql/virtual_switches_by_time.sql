-- What real devices of virtual switches sent and received, one row per system,
-- interval, device and virtual network (D6R21).
CREATE OR REPLACE VIEW virtual_switches_by_time AS
SELECT system,
       interval_end,
       -- Owner and name of the virtual network (LANID).
       lanid AS network,
       -- Number of the real device.
       rdevdev AS device,
       -- Elapsed seconds T of the record. NULL at a first sample.
       MAX(seconds) AS seconds,
       -- User id of the controlling virtual machine (VMDUSER). NULL without a
       -- sample.
       MAX(vmduser) AS controller,
       -- Bytes sent (NICTXBYT). NULL without IODVSW deltas.
       MAX(nictxbyt) AS sent_bytes,
       -- Bytes received (NICRXBYT). NULL without IODVSW deltas.
       MAX(nicrxbyt) AS received_bytes,
       -- Bytes sent and received. NULL without IODVSW deltas.
       MAX(nictxbyt) + MAX(nicrxbyt) AS moved_bytes,
       -- Packets sent (NICTXPKT). NULL without IODVSW deltas.
       MAX(nictxpkt) AS sent_packets,
       -- Packets received (NICRXPKT). NULL without IODVSW deltas.
       MAX(nicrxpkt) AS received_packets,
       -- Packets to send that were discarded (NICTXDSC). NULL without IODVSW
       -- deltas.
       MAX(nictxdsc) AS sent_discards,
       -- Received packets that were discarded (NICRXDSC). NULL without IODVSW
       -- deltas.
       MAX(nicrxdsc) AS received_discards,
       -- Errors in sending and receiving (NICTXERR, NICRXERR). NULL without
       -- IODVSW deltas.
       MAX(nictxerr) + MAX(nicrxerr) AS errors,
       all_doubts(doubts) AS doubts
FROM interval.iodvsw
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end, lanid, rdevdev;
