-- In which states the high-frequency samples found each user, one row per
-- system, interval and user, over all virtual processors (D4R4, USEINT). All
-- shares are of the samples taken of the user (HFSTCT). The columns from
-- in_queue_samples on are the sums behind them.
CREATE OR REPLACE VIEW user_states_by_time AS
SELECT system,
       interval_end,
       -- User id.
       vmduser AS userid,
       -- Elapsed seconds T of the user. NULL at a first sample.
       MAX(seconds) AS seconds,
       -- Samples taken of all virtual processors (HFSTCT). NULL without USEINT
       -- deltas.
       complete_sum(hfstct) AS samples,
       -- Samples in the dispatch or eligible list (HFDISP0 to 3, HFELIG0 to 3).
       -- NULL without USEINT deltas.
       complete_sum(hfdisp0 + hfdisp1 + hfdisp2 + hfdisp3
                    + hfelig0 + hfelig1 + hfelig2 + hfelig3)
         AS in_queue_samples,
       -- Samples running (HFCPURN). NULL without USEINT deltas.
       complete_sum(hfcpurn) AS running_samples,
       -- Samples waiting for a CPU (HFCPUWT). NULL without USEINT deltas.
       complete_sum(hfcpuwt) AS cpu_wait_samples,
       -- Samples waiting for a page (HFWTPAG). NULL without USEINT deltas.
       complete_sum(hfwtpag) AS page_wait_samples,
       -- Samples waiting for I/O (HFIOWT). NULL without USEINT deltas.
       complete_sum(hfiowt) AS io_wait_samples,
       -- Samples with I/O active (HFIOACT). NULL where USEINT records
       -- end before it.
       complete_sum(hfioact) AS io_active_samples,
       -- Samples with paging active (HFPGACT). NULL where USEINT records
       -- end before it.
       complete_sum(hfpgact) AS page_active_samples,
       -- Samples on the limit list (HFLLIST). NULL where USEINT records
       -- end before it.
       complete_sum(hfllist) AS limit_list_samples,
       -- Samples waiting for simulation (HFSIMWT). NULL without USEINT deltas.
       complete_sum(hfsimwt) AS simulation_wait_samples,
       -- Samples waiting for the console function (HFCFWT). NULL without USEINT
       -- deltas.
       complete_sum(hfcfwt) AS console_wait_samples,
       -- Samples waiting for a service machine (HFTSVM, HFESVM). NULL without
       -- USEINT deltas.
       complete_sum(hftsvm + hfesvm) AS svm_wait_samples,
       -- Samples loading (HFLOAD). NULL without USEINT deltas.
       complete_sum(hfload) AS loading_samples,
       -- Samples in the eligible list (HFELIG0 to 3). NULL without USEINT
       -- deltas.
       complete_sum(hfelig0 + hfelig1 + hfelig2 + hfelig3)
         AS eligible_samples,
       -- Samples in test idle (HFTIDL). NULL without USEINT deltas.
       complete_sum(hftidl) AS idle_samples,
       -- Samples in another state (HFOTHR). NULL without USEINT deltas.
       complete_sum(hfothr) AS other_samples,
       -- Samples dormant (HFDORM). NULL without USEINT deltas.
       complete_sum(hfdorm) AS dormant_samples,
       -- Samples dormant and waiting for a service machine (HFDSVM). NULL
       -- without USEINT deltas.
       complete_sum(hfdsvm) AS dormant_svm_samples,
       all_doubts(doubts) AS doubts
FROM interval.useint
WHERE interval_end IS NOT NULL
GROUP BY system, interval_end, vmduser;
