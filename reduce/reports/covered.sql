-- The days of a span that have intervals, each with the levels that are kept of a reduction.
-- Parameters: those of the condition, reduction, system.
WITH day AS (
  SELECT DISTINCT $day AS day
  FROM meta.interval WHERE $where),
kept AS (
  SELECT d.day, list(r.level) FILTER (WHERE r.level IS NOT NULL) AS levels
  FROM day AS d
  LEFT JOIN meta.reduced AS r ON r.reduction = ? AND r.system = ?
    AND d.day BETWEEN r.first_day AND r.last_day
  GROUP BY d.day)
SELECT day, levels FROM kept ORDER BY day
