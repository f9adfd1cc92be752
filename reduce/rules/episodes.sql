-- What a rule looked at and, beside it, the episodes in which its values are beyond the limit.
-- Words behind a dollar sign are filled in by `exceptions.py`.
WITH looked AS MATERIALIZED (
  SELECT * FROM ($values
  ) WHERE isfinite(value) AND object IS NOT NULL AND $in_scope),
closed AS (
  SELECT system, interval_end,
    max(CASE WHEN previous_end IS NOT NULL THEN seconds END) AS seconds
  FROM meta.interval WHERE $in_scope GROUP BY system, interval_end),
figured AS (
  SELECT c.*,
    -- Whether any object has a value.
    c.seconds IS NOT NULL AND f.interval_end IS NOT NULL AS known
  FROM closed AS c LEFT JOIN (SELECT DISTINCT system, interval_end FROM looked) AS f
    ON f.system = c.system AND f.interval_end = c.interval_end),
clock AS (
  SELECT system, interval_end, seconds, known,
    -- Whether it is the first one looked at.
    row_number() OVER w = 1 AS earliest,
    -- The intervals of each system, numbered; behind a gap or restart a number is left out.
    row_number() OVER w + count(*) FILTER (WHERE seconds IS NULL) OVER w AS n,
    -- Whether nothing is known of the interval before, and of the one behind.
    NOT coalesce(lag(known) OVER w, false) AS opens,
    NOT coalesce(lead(known) OVER w, false) AS closes
  FROM figured WINDOW w AS (PARTITION BY system ORDER BY interval_end)),
beyond AS (
  SELECT system, object, interval_end, first(value $worst_first) AS value,
    first(dump $worst_first) AS dump, first(record_offset $worst_first) AS record_offset$keys
  FROM looked WHERE enough AND $beyond AND $shift GROUP BY system, object, interval_end),
numbered AS (
  SELECT b.*, coalesce(c.seconds, 0) AS seconds, c.opens, c.closes, c.earliest,
    coalesce(
      c.n - row_number() OVER (
        PARTITION BY b.system, b.object, c.n IS NULL ORDER BY b.interval_end),
      -epoch_us(b.interval_end)) AS island
  FROM beyond AS b LEFT JOIN clock AS c
    ON c.system = b.system AND c.interval_end = b.interval_end),
episode AS (
  SELECT row_number() OVER () AS id, system, object, min(interval_end) AS first_interval,
    max(interval_end) AS last_interval, count(*) AS intervals, sum(seconds) / 60 AS minutes,
    sum(seconds) >= $least AS judged,
    bool_or(earliest) AND EXISTS (
      SELECT 1 FROM meta.interval AS i
      WHERE i.system = numbered.system AND i.interval_end <= $start) AS cut,
    first(value $worst_first) AS value, first(interval_end $worst_first) AS worst_interval,
    first(dump $worst_first) AS dump, first(record_offset $worst_first) AS record_offset$keys
  FROM numbered GROUP BY system, object, island
  HAVING (sum(seconds) >= $least OR bool_or(opens) OR bool_or(closes)) AND $ends_in_scope),
-- Dump and offset of the record behind the worst value of each episode.
placed AS ($placed),
-- The systems that had values, and those that lack some.
looked_at AS (
  SELECT (SELECT list(DISTINCT system ORDER BY system) FROM looked) AS seen,
    (SELECT list({'system': system, 'missing': missing, 'measured': measured} ORDER BY system)
     FROM (
       SELECT system, count(*) FILTER (WHERE NOT known) AS missing, count(*) AS measured
       FROM clock
       WHERE seconds IS NOT NULL AND $behind_begin
       GROUP BY system)
     WHERE missing > 0) AS lacking)
SELECT l.seen, l.lacking, e.system, e.object, e.first_interval, e.last_interval,
  e.intervals, e.minutes, e.judged, e.cut, e.value, e.worst_interval,
  coalesce(e.dump, p.place.dump) AS dump,
  coalesce(e.record_offset, p.place.record_offset) AS record_offset
FROM looked_at AS l
LEFT JOIN episode AS e ON true
LEFT JOIN placed AS p ON p.id = e.id
