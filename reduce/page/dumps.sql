-- Dumps that reach into a span. Parameters: system, begin and end of the span, UTC.
SELECT dump[:12] AS dump, source, release, first_tod, last_tod, intervals
FROM meta.dump
WHERE system = ? AND last_tod > ? AND first_tod <= ?
ORDER BY first_tod, dump
