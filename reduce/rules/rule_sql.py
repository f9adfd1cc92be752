"""The SQL of a rule: its values, and the episodes in which they are beyond the limit.

Values beyond the limit in intervals that follow each other directly make one episode: their
numbers among all intervals less their numbers among those beyond the limit are equal.
"""

from __future__ import annotations

from datetime import datetime

from ...store.views.views import name, text
from ..metrics.report_shape import TIME
from .rule import KEY, Comparison, Rule
from .scope import Scope

ENOUGH = 0.99
"""Share of a rule's minutes that is as good as all of them: no interval is exactly a minute."""

SQL_NEEDS = ("interval_end", "object", "value")
PLACE = ("dump", "record_offset")


def values_sql(rule: Rule, columns: list[str], system: str | None) -> str:
    """SELECT of all values of a rule: system, interval_end, object, value, dump, record_offset, ...

    Keys of the record come behind as k0, k1, in the order of `record_keys`; `enough` is false
    where the interval has less than the rule's `least`.

    Args:
        columns: those of `rule.sql`.
        system: the one whose values they are where the SQL has no column of that name.
    """
    if rule.sql:
        defaults = {"system": text(system or ""), "dump": "NULL", "record_offset": "NULL"}
        shown = [n if n in columns else f"{defaults[n]} AS {n}" for n in ("system", *PLACE)]
        return (
            f"SELECT {', '.join(shown)}, interval_end, CAST(object AS VARCHAR) AS object,"
            f" CAST(value AS DOUBLE) * {rule.scale!r} AS value, true AS enough FROM ({rule.sql})"
        )
    divisor = f" / nullif({name(rule.per)}, 0)" if rule.per else ""
    keys = "".join(f", {name(c)} AS k{n}" for n, c in enumerate(rule.record_keys.values()))
    enough = " AND ".join(f"{name(c)} >= {value!r}" for c, value in rule.least.items())
    return (
        "SELECT system, NULL AS dump, NULL AS record_offset, interval_end,"
        f" {_object(rule)} AS object,"
        f" CAST({name(rule.metric)} AS DOUBLE){divisor} * {rule.scale!r} AS value{keys},"
        f" coalesce({enough or 'true'}, false) AS enough FROM {name(rule.reduction)}"
    )


def episodes_sql(rule: Rule, values: str, scope: Scope, start: datetime | None, shift: str) -> str:
    """SELECT of what was looked at and, beside it, the episodes that end in a scope.

    `seen` lists the systems that had values, `lacking` those of which some intervals of the scope
    had none. An episode that is shorter than the rule asks for, but borders on intervals of which
    nothing is known, is not `judged`; one that may have begun before `start` is `cut`.

    Args:
        values: `values_sql`.
        start: end of the first interval that is looked at is behind it; None for all.
        shift: condition on intervals; its marks stand once.
    """
    beyond = f"value {rule.comparison.sign} {rule.limit!r}" if rule.limit is not None else "true"
    worst = "value" if rule.comparison is Comparison.BELOW else "value DESC"
    order = f"ORDER BY {worst}, {TIME}, dump, record_offset"
    keys = [f"k{n}" for n in range(len(rule.record_keys))]
    first = "".join(f", first({key} {order}) AS {key}" for key in keys)
    in_scope = Scope(scope.system, start, scope.until).condition()
    least = rule.for_minutes * 60 * ENOUGH
    return f"""
      WITH looked AS MATERIALIZED (
        SELECT * FROM ({values}
        ) WHERE isfinite(value) AND object IS NOT NULL AND {in_scope}),
      {_clock(in_scope)},
      beyond AS (
        SELECT system, object, {TIME}, first(value {order}) AS value,
          first(dump {order}) AS dump, first(record_offset {order}) AS record_offset{first}
        FROM looked WHERE enough AND {beyond} AND {shift} GROUP BY system, object, {TIME}),
      numbered AS (
        SELECT b.*, coalesce(c.seconds, 0) AS seconds, c.opens, c.closes, c.earliest,
          coalesce(
            c.n - row_number() OVER (
              PARTITION BY b.system, b.object, c.n IS NULL ORDER BY b.{TIME}),
            -epoch_us(b.{TIME})) AS island
        FROM beyond AS b LEFT JOIN clock AS c
          ON c.system = b.system AND c.{TIME} = b.{TIME}),
      episode AS (
        SELECT row_number() OVER () AS id, system, object, min({TIME}) AS first_interval,
          max({TIME}) AS last_interval, count(*) AS intervals, sum(seconds) / 60 AS minutes,
          sum(seconds) >= {least!r} AS judged,
          bool_or(earliest) AND EXISTS (
            SELECT 1 FROM meta.interval AS i
            WHERE i.system = numbered.system AND i.{TIME} <= {_literal(start)}) AS cut,
          first(value {order}) AS value, first({TIME} {order}) AS worst_interval,
          first(dump {order}) AS dump, first(record_offset {order}) AS record_offset{first}
        FROM numbered GROUP BY system, object, island
        HAVING (sum(seconds) >= {least!r} OR bool_or(opens) OR bool_or(closes))
          AND {Scope(None, scope.since).condition(f"max({TIME})")}),
      {_placed(rule, keys)}
      SELECT l.seen, l.lacking, e.system, e.object, e.first_interval, e.last_interval,
        e.intervals, e.minutes, e.judged, e.cut, e.value, e.worst_interval,
        coalesce(e.dump, p.place.dump) AS dump,
        coalesce(e.record_offset, p.place.record_offset) AS record_offset
      FROM ({_looked_at(scope)}) AS l
      LEFT JOIN episode AS e ON true
      LEFT JOIN placed AS p ON p.id = e.id"""


def _looked_at(scope: Scope) -> str:
    """SELECT of the systems that had values, and of those that lack some; one row."""
    return f"""
        SELECT (SELECT list(DISTINCT system ORDER BY system) FROM looked) AS seen,
          (SELECT list({{'system': system, 'missing': missing, 'measured': measured}}
             ORDER BY system)
           FROM (
             SELECT system, count(*) FILTER (WHERE NOT known) AS missing, count(*) AS measured
             FROM clock
             WHERE seconds IS NOT NULL AND {Scope(None, scope.since).condition()}
             GROUP BY system)
           WHERE missing > 0) AS lacking"""


def _literal(time: datetime | None) -> str:
    return "NULL" if time is None else f"TIMESTAMP '{time}'"


def _clock(in_scope: str) -> str:
    """The intervals of each system, numbered; behind a gap or restart a number is left out.

    `known` says whether any object has a value, `opens` and `closes` whether nothing is known of
    the interval before and behind, `earliest` whether it is the first one looked at.
    """
    return f"""closed AS (
        SELECT system, {TIME}, max(CASE WHEN previous_end IS NOT NULL THEN seconds END) AS seconds
        FROM meta.interval WHERE {in_scope} GROUP BY system, {TIME}),
      figured AS (
        SELECT c.*, c.seconds IS NOT NULL AND f.{TIME} IS NOT NULL AS known
        FROM closed AS c LEFT JOIN (SELECT DISTINCT system, {TIME} FROM looked) AS f
          ON f.system = c.system AND f.{TIME} = c.{TIME}),
      clock AS (
        SELECT system, {TIME}, seconds, known, row_number() OVER w = 1 AS earliest,
          row_number() OVER w + count(*) FILTER (WHERE seconds IS NULL) OVER w AS n,
          NOT coalesce(lag(known) OVER w, false) AS opens,
          NOT coalesce(lead(known) OVER w, false) AS closes
        FROM figured WINDOW w AS (PARTITION BY system ORDER BY {TIME}))"""


def _object(rule: Rule) -> str:
    """The name of the object as SQL."""
    parts, at = [], 0
    for match in KEY.finditer(rule.object_name):
        column = name(match[1])
        shown = f"printf('%04X', CAST({column} AS BIGINT))" if match[2] else column
        parts += [text(rule.object_name[at : match.start()]), shown]
        at = match.end()
    # A key without a value leaves its place empty, as concat does.
    return f"trim(concat({', '.join([*parts, text(rule.object_name[at:])])}))"


def _placed(rule: Rule, keys: list[str]) -> str:
    """Dump and offset of the record behind the worst value of each episode."""
    if not rule.record:
        return (
            "placed AS (SELECT 0 AS id, CAST(NULL AS STRUCT(dump VARCHAR, record_offset BIGINT))"
            " AS place WHERE false)"
        )
    same = "".join(
        f" AND r.{name(column)} = e.{key}"
        for column, key in zip(rule.record_keys, keys, strict=True)
    )
    return f"""placed AS (
        SELECT e.id, min({{'dump': r.dump, 'record_offset': r.record_offset}}) AS place
        FROM episode AS e JOIN monitor.{name(rule.record)} AS r
          ON r.system = e.system AND r.{TIME} = e.worst_interval{same}
        GROUP BY e.id)"""
