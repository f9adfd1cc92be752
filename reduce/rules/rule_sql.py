"""The SQL of a rule: its values, and the episodes in which they are beyond the limit.

Values beyond the limit in intervals that follow each other directly make one episode: their
numbers among all intervals less their numbers among those beyond the limit are equal.
"""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files
from string import Template

from ...core.sql import name, text
from ...store.scope import Scope
from ..metrics.report_shape import TIME
from .rule import KEY, Comparison, Rule

EPISODES = Template((files(__package__) / "episodes.sql").read_text(encoding="utf-8"))
ENOUGH = 0.99
"""Share of a rule's minutes that is as good as all of them: no interval is exactly a minute."""

SQL_NEEDS = ("interval_end", "object", "value")


def values_of_sql(sql: str, scale: float, columns: list[str], system: str) -> str:
    """SELECT of the values that some SQL yields, with the columns of `values_sql`.

    Args:
        columns: those of the SQL.
        system: the one whose values they are where the SQL has no column of that name.
    """
    defaults = {"system": text(system), "dump": "NULL", "record_offset": "NULL"}
    shown = [n if n in columns else f"{default} AS {n}" for n, default in defaults.items()]
    return (
        f"SELECT {', '.join(shown)}, interval_end, CAST(object AS VARCHAR) AS object,"
        f" CAST(value AS DOUBLE) * {scale!r} AS value, true AS enough FROM ({sql})"
    )


def values_sql(rule: Rule) -> str:
    """SELECT of all values of a rule: system, interval_end, object, value, dump, record_offset, ...

    Keys of the record come behind as k0, k1, in the order of `record_keys`; `enough` is false
    where the interval has less than the rule's `least`.
    """
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
    since = Scope(None, scope.since)
    return EPISODES.substitute(
        values=values,
        in_scope=Scope(scope.system, start, scope.until).condition(),
        worst_first=order,
        keys=first,
        beyond=beyond,
        shift=shift,
        least=repr(rule.for_minutes * 60 * ENOUGH),
        start="NULL" if start is None else f"TIMESTAMP '{start}'",
        ends_in_scope=since.condition(f"max({TIME})"),
        behind_begin=since.condition(),
        placed=_placed(rule, keys),
    )


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
    """SELECT of episodes, and dump and offset of the record behind the worst value of each."""
    if not rule.record:
        return (
            "SELECT 0 AS id, CAST(NULL AS STRUCT(dump VARCHAR, record_offset BIGINT)) AS place"
            " WHERE false"
        )
    columns = zip(rule.record_keys, keys, strict=True)
    same = "".join(f" AND r.{name(column)} = e.{key}" for column, key in columns)
    return (
        "SELECT e.id, min({'dump': r.dump, 'record_offset': r.record_offset}) AS place"
        f" FROM episode AS e JOIN monitor.{name(rule.record)} AS r"
        f" ON r.system = e.system AND r.{TIME} = e.worst_interval{same} GROUP BY e.id"
    )
