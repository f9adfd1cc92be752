-- What a system did in each interval: processors, users, paging, I/O, response.
-- Shares are 0..1 of one processor, rates per second. The columns from
-- processor_seconds on are the sums behind them: over a longer span, divide the
-- sum of one by the sum of the other.
CREATE OR REPLACE VIEW system_summary_by_time AS
SELECT i.system,
       i.interval_end,
       -- Elapsed seconds T. NULL at a first sample and behind a gap.
       i.seconds,
       -- Processors with a delta in the interval. NULL without SYTPRP records.
       p.processors,
       -- Users logged on at the end of the interval. NULL without SYTUSR
       -- records.
       l.users_logged_on,
       -- Users logged on and not dormant. NULL without SYTUSR records.
       l.users_active,
       -- Users in the dispatch list, classes 1 to 3. NULL without SYTSCG
       -- records.
       s.dispatch_list_users,
       -- Users in the eligible list, classes 1 to 3. NULL without SYTSCG
       -- records.
       s.eligible_list_users,
       -- Elapsed seconds summed over the processors. NULL without SYTPRP
       -- deltas.
       p.processor_seconds,
       -- Running, TOD units of 1/4096 microsecond. NULL without SYTPRP deltas.
       p.busy_tod,
       -- Under SIE, TOD units. NULL without SYTPRP deltas.
       p.emulation_tod,
       -- In CP, TOD units. NULL without SYTPRP deltas.
       p.cp_tod,
       -- Running or waiting, TOD units: the time in which processors had a
       -- physical one, or needed none. NULL without SYTPRP deltas, and where a
       -- processor neither ran nor waited.
       p.accounted_tod,
       -- Neither running nor waiting, TOD units. NULL likewise.
       p.processor_seconds * 4096e6 - p.accounted_tod AS suspended_tod,
       -- Pages into and out of expanded storage. NULL without SYTXSP deltas.
       x.xstor_pages,
       -- Elapsed seconds of the expanded-storage records. NULL without SYTXSP
       -- deltas.
       x.seconds AS xstor_seconds,
       -- Pages read from and written to DASD. NULL without SYTSYP deltas.
       g.dasd_pages,
       -- Pages read and written for spooling. NULL without SYTSYP deltas.
       g.spool_pages,
       -- Start and resume subchannels. NULL without SYTSYP deltas.
       g.starts,
       -- Elapsed seconds of the paging and I/O records. NULL without SYTSYP
       -- deltas.
       g.seconds AS paging_seconds,
       -- Transactions as CP counts them. NULL without SYTUSR deltas.
       l.transactions,
       -- Time of these transactions, TOD units. NULL without SYTUSR deltas.
       l.response_tod,
       -- Elapsed seconds of the transaction counts. NULL without SYTUSR deltas.
       l.seconds AS transaction_seconds,
       nullif(
         concat_ws(
           ', ', p.doubts, l.doubts, s.doubts, x.doubts, g.doubts, w.doubts,
           u.doubts, d.doubts
         ), ''
       ) AS doubts
FROM _interval AS i
LEFT JOIN _processor_totals AS p
  ON p.system = i.system AND p.interval_end = i.interval_end
LEFT JOIN _logon_totals AS l
  ON l.system = i.system AND l.interval_end = i.interval_end
LEFT JOIN _scheduler_levels AS s
  ON s.system = i.system AND s.interval_end = i.interval_end
LEFT JOIN _xstor_totals AS x
  ON x.system = i.system AND x.interval_end = i.interval_end
LEFT JOIN _paging_totals AS g
  ON g.system = i.system AND g.interval_end = i.interval_end
LEFT JOIN _processor_witness AS w
  ON w.system = i.system AND w.interval_end = i.interval_end
LEFT JOIN _logon_witness AS u
  ON u.system = i.system AND u.interval_end = i.interval_end
LEFT JOIN _device_witness AS d
  ON d.system = i.system AND d.interval_end = i.interval_end;
