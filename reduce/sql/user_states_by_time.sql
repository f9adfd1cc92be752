-- In which states the high-frequency samples found each user, one row per
-- system, interval and user, over all virtual processors (D4R4, USEINT). Shares
-- of states in a queue are of the samples that found the user in the dispatch
-- or eligible list; active and dormant are of all samples. The columns from
-- in_queue_samples on are the sums behind them.
CREATE OR REPLACE VIEW user_states_by_time (
  -- System.
  system,
  -- End of the interval, UTC.
  interval_end,
  -- User id.
  userid,
  -- Elapsed seconds T of the user. NULL at a first sample.
  seconds,
  -- Samples of all virtual processors: in a queue (HFQUCT) or dormant (HFDORM).
  -- NULL without USEINT deltas.
  samples,
  -- Share of the samples in a queue, 0..1. NULL without USEINT deltas.
  active_share,
  -- Share of the samples in a queue that were running (HFCPURN), 0..1. NULL if
  -- no sample found it in a queue.
  running_share,
  -- Share of the samples in a queue that were waiting for a CPU (HFCPUWT),
  -- 0..1. NULL if no sample found it in a queue.
  cpu_wait_share,
  -- Share of the samples in a queue that were waiting for a page (HFWTPAG),
  -- 0..1. NULL if no sample found it in a queue.
  page_wait_share,
  -- Share of the samples in a queue that were waiting for I/O (HFIOWT), 0..1.
  -- NULL if no sample found it in a queue.
  io_wait_share,
  -- Share of the samples in a queue that were waiting for simulation (HFSIMWT),
  -- 0..1. NULL if no sample found it in a queue.
  simulation_wait_share,
  -- Share of the samples in a queue that were waiting for the console function
  -- (HFCFWT), 0..1. NULL if no sample found it in a queue.
  console_wait_share,
  -- Share of the samples in a queue that were waiting for a service machine
  -- (HFTSVM, HFESVM), 0..1. NULL if no sample found it in a queue.
  svm_wait_share,
  -- Share of the samples in a queue that were loading (HFLOAD), 0..1. NULL if
  -- no sample found it in a queue.
  loading_share,
  -- Share of the samples in a queue that were in the eligible list (HFELIG0 to
  -- 3), 0..1. NULL if no sample found it in a queue.
  eligible_share,
  -- Share of the samples in a queue that were in test idle (HFTIDL), 0..1. NULL
  -- if no sample found it in a queue.
  idle_share,
  -- Share of the samples in a queue that were in another state (HFOTHR), 0..1.
  -- NULL if no sample found it in a queue.
  other_share,
  -- Share of all samples that were dormant (HFDORM), 0..1. NULL without USEINT
  -- deltas.
  dormant_share,
  -- Samples in a queue (HFQUCT). NULL without USEINT deltas.
  in_queue_samples,
  -- Samples running (HFCPURN). NULL without USEINT deltas.
  running_samples,
  -- Samples waiting for a CPU (HFCPUWT). NULL without USEINT deltas.
  cpu_wait_samples,
  -- Samples waiting for a page (HFWTPAG). NULL without USEINT deltas.
  page_wait_samples,
  -- Samples waiting for I/O (HFIOWT). NULL without USEINT deltas.
  io_wait_samples,
  -- Samples waiting for simulation (HFSIMWT). NULL without USEINT deltas.
  simulation_wait_samples,
  -- Samples waiting for the console function (HFCFWT). NULL without USEINT
  -- deltas.
  console_wait_samples,
  -- Samples waiting for a service machine (HFTSVM, HFESVM). NULL without USEINT
  -- deltas.
  svm_wait_samples,
  -- Samples loading (HFLOAD). NULL without USEINT deltas.
  loading_samples,
  -- Samples in the eligible list (HFELIG0 to 3). NULL without USEINT deltas.
  eligible_samples,
  -- Samples in test idle (HFTIDL). NULL without USEINT deltas.
  idle_samples,
  -- Samples in another state (HFOTHR). NULL without USEINT deltas.
  other_samples,
  -- Samples dormant (HFDORM). NULL without USEINT deltas.
  dormant_samples
) AS
SELECT system,
       interval_end,
       userid,
       seconds,
       samples,
       CAST(in_queue_samples AS DOUBLE) / nullif(samples, 0) AS active_share,
       CAST(running_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS running_share,
       CAST(cpu_wait_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS cpu_wait_share,
       CAST(page_wait_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS page_wait_share,
       CAST(io_wait_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS io_wait_share,
       CAST(simulation_wait_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS simulation_wait_share,
       CAST(console_wait_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS console_wait_share,
       CAST(svm_wait_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS svm_wait_share,
       CAST(loading_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS loading_share,
       CAST(eligible_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS eligible_share,
       CAST(idle_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS idle_share,
       CAST(other_samples AS DOUBLE) / nullif(in_queue_samples, 0)
         AS other_share,
       CAST(dormant_samples AS DOUBLE) / nullif(samples, 0) AS dormant_share,
       in_queue_samples,
       running_samples,
       cpu_wait_samples,
       page_wait_samples,
       io_wait_samples,
       simulation_wait_samples,
       console_wait_samples,
       svm_wait_samples,
       loading_samples,
       eligible_samples,
       idle_samples,
       other_samples,
       dormant_samples
FROM _user_state_interval;
