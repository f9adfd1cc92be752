-- What a system did in each interval: processors, users, paging, I/O, response.
-- Shares are 0..1 of one processor, rates per second. The columns from
-- processor_seconds on are the sums behind them: over a longer span, divide the
-- sum of one by the sum of the other.
CREATE OR REPLACE VIEW system_summary_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- Elapsed seconds T. NULL at a first sample and behind a gap.
  seconds,
  -- Processors with a delta in the interval. NULL without SYTPRP records.
  processors,
  -- Share of processor time spent running, 0..1. NULL without SYTPRP deltas.
  total_util,
  -- Share of processor time under SIE, 0..1. NULL without SYTPRP deltas.
  emul_util,
  -- Share of processor time in CP, 0..1. NULL without SYTPRP deltas.
  cp_util,
  -- Running time over time under SIE, 1 or more. NULL without time under SIE.
  tv_ratio,
  -- Users logged on at the end of the interval. NULL without SYTUSR records.
  users_logged_on,
  -- Users logged on and not dormant. NULL without SYTUSR records.
  users_active,
  -- Users in the dispatch list, classes 1 to 3. NULL without SYTSCG records.
  dispatch_list_users,
  -- Users in the eligible list, classes 1 to 3. NULL without SYTSCG records.
  eligible_list_users,
  -- Pages per second into and out of expanded storage. NULL without SYTXSP
  -- deltas.
  xstor_page_rate,
  -- Pages per second read from and written to DASD for paging. NULL without
  -- SYTSYP deltas.
  dasd_page_rate,
  -- Pages per second read and written for spooling. NULL without SYTSYP deltas.
  spool_rate,
  -- Start and resume subchannels per second. NULL without SYTSYP deltas.
  ssch_rate,
  -- Transactions per second as CP counts them. NULL without SYTUSR deltas.
  transaction_rate,
  -- Mean time of a transaction, seconds. NULL without transactions.
  response_s,
  -- Elapsed seconds summed over the processors. NULL without SYTPRP deltas.
  processor_seconds,
  -- Running, TOD units of 1/4096 microsecond. NULL without SYTPRP deltas.
  busy_tod,
  -- Under SIE, TOD units. NULL without SYTPRP deltas.
  emulation_tod,
  -- In CP, TOD units. NULL without SYTPRP deltas.
  cp_tod,
  -- Pages into and out of expanded storage. NULL without SYTXSP deltas.
  xstor_pages,
  -- Elapsed seconds of the expanded-storage records. NULL without SYTXSP
  -- deltas.
  xstor_seconds,
  -- Pages read from and written to DASD. NULL without SYTSYP deltas.
  dasd_pages,
  -- Pages read and written for spooling. NULL without SYTSYP deltas.
  spool_pages,
  -- Start and resume subchannels. NULL without SYTSYP deltas.
  starts,
  -- Elapsed seconds of the paging and I/O records. NULL without SYTSYP deltas.
  paging_seconds,
  -- Transactions as CP counts them. NULL without SYTUSR deltas.
  transactions,
  -- Time of these transactions, TOD units. NULL without SYTUSR deltas.
  response_tod,
  -- Elapsed seconds of the transaction counts. NULL without SYTUSR deltas.
  transaction_seconds
) AS
SELECT i.system,
       i.interval_end,
       i.seconds,
       p.processors,
       p.busy_tod / nullif(p.processor_seconds * 4096e6, 0) AS total_util,
       p.emulation_tod / nullif(p.processor_seconds * 4096e6, 0) AS emul_util,
       p.cp_tod / nullif(p.processor_seconds * 4096e6, 0) AS cp_util,
       CAST(p.busy_tod AS DOUBLE) / nullif(p.emulation_tod, 0) AS tv_ratio,
       l.users_logged_on,
       l.users_active,
       s.dispatch_list_users,
       s.eligible_list_users,
       x.xstor_pages / nullif(x.seconds, 0) AS xstor_page_rate,
       g.dasd_pages / nullif(g.seconds, 0) AS dasd_page_rate,
       g.spool_pages / nullif(g.seconds, 0) AS spool_rate,
       g.starts / nullif(g.seconds, 0) AS ssch_rate,
       l.transactions / nullif(l.seconds, 0) AS transaction_rate,
       l.response_tod / 4096e6 / nullif(l.transactions, 0) AS response_s,
       p.processor_seconds,
       p.busy_tod,
       p.emulation_tod,
       p.cp_tod,
       x.xstor_pages,
       x.seconds AS xstor_seconds,
       g.dasd_pages,
       g.spool_pages,
       g.starts,
       g.seconds AS paging_seconds,
       l.transactions,
       l.response_tod,
       l.seconds AS transaction_seconds
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
  ON g.system = i.system AND g.interval_end = i.interval_end;
