-- Findings of dumps that reach into a span. Parameters: system, begin and end of the span, UTC.
SELECT f.severity, f.code, CAST(sum(f.count) AS BIGINT) AS count,
       any_value(f.meaning) AS meaning, any_value(f.remedy) AS remedy
FROM meta.finding AS f
JOIN meta.dump AS d ON d.dump = f.dump
WHERE d.system = ? AND d.last_tod > ? AND d.first_tod <= ?
GROUP BY f.severity, f.code
ORDER BY f.severity, f.code
