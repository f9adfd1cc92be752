-- What samples found users doing, one row per system, interval and user
-- (D4R4, USEINT), over all virtual processors.
CREATE OR REPLACE VIEW _user_state_interval (
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
       vmduser AS userid,
       MAX(seconds) AS seconds,
       CAST(SUM(hfquct + hfdorm) AS BIGINT) AS samples,
       CAST(SUM(hfquct) AS BIGINT) AS in_queue_samples,
       CAST(SUM(hfcpurn) AS BIGINT) AS running_samples,
       CAST(SUM(hfcpuwt) AS BIGINT) AS cpu_wait_samples,
       CAST(SUM(hfwtpag) AS BIGINT) AS page_wait_samples,
       CAST(SUM(hfiowt) AS BIGINT) AS io_wait_samples,
       CAST(SUM(hfsimwt) AS BIGINT) AS simulation_wait_samples,
       CAST(SUM(hfcfwt) AS BIGINT) AS console_wait_samples,
       CAST(SUM(hftsvm + hfesvm) AS BIGINT) AS svm_wait_samples,
       CAST(SUM(hfload) AS BIGINT) AS loading_samples,
       CAST(SUM(hfelig0 + hfelig1 + hfelig2 + hfelig3) AS BIGINT)
         AS eligible_samples,
       CAST(SUM(hftidl) AS BIGINT) AS idle_samples,
       CAST(SUM(hfothr) AS BIGINT) AS other_samples,
       CAST(SUM(hfdorm) AS BIGINT) AS dormant_samples
FROM interval.useint
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end, vmduser;
