-- Samples of a run taken together: one row per run and measure.
CREATE OR REPLACE VIEW run_sample_summary AS
SELECT run_id,
       -- What was measured; run_samples names the measures.
       measure,
       -- Samples, 1 or more.
       COUNT(value) AS samples,
       -- Sum of the samples, in the unit of the measure: for times and counts
       -- the figure of the whole run.
       SUM(value) AS total,
       -- Mean of the samples.
       AVG(value) AS mean,
       -- Standard deviation, of which the divisor is the number of samples.
       stddev_pop(value) AS sd
FROM run_samples
WHERE value IS NOT NULL
GROUP BY run_id, measure;
