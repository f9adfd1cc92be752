"""Rules of validation generated from layouts and metrics.

A table is scanned once for all of its rules. A count that is expensive to compute exactly is
screened first: if the screen is 0, no row violates the rule, otherwise the offending rows are
counted. Deltas are in doubt exactly where the views `interval.X` have none; `screening.py` finds
the owners for whom that is possible.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from ...core.sql import name, text
from ...schemas.arrow import owner_keys, row_keys, told_apart
from ...schemas.field import Field, Role, Type
from ...schemas.layout import Kind, Layout
from ...schemas.owners import owner_of, parts_of
from ...schemas.registry import record_of, tables
from ...schemas.release import release_key
from ...store.results.lineage import code_of, lineages
from ...store.sql.interval import IMPOSSIBLE, SLACK, WRAPPED, counter_names, doubts_of
from ...store.sql.scope import Scope
from ..metrics.metric import MetricKind
from ..metrics.report_set import metrics_of
from ..reductions.reductions import reductions

CONTROLS = r"[\x00-\x1F\x7F-\x9F]"
"""Control characters, which no text of CP contains; ASCII digits read as EBCDIC give them."""


LEVELS = frozenset(
    {
        *("blocks", "bytes", "count", "cylinders", "frames", "pages", "paths", "processors"),
        *("s", "10ms", "users"),
    }
)
"""Units of levels that cannot be negative."""
SLACK_S = 60
"""Tolerance in seconds for a clock ahead of its record: guests have clocks of their own."""


@dataclass(frozen=True, slots=True)
class TableCheck:
    """A condition that no row of a table meets.

    Attributes:
        layout: of the table.
        bad: condition on a row that breaks the rule.
        found: expression for the mistake in such a row, as text.
        checked: aggregate: the number of rows checked.
        screen: aggregate: 0 only if no row is bad.
        exact: the screen is the number of bad rows.
        copies: columns that are unique together with the time of the row: `bad` may refer to
            `_copy`, which is 1 for the first of several equal rows.
    """

    layout: Layout
    bad: str
    found: str
    checked: str
    screen: str
    exact: bool = True
    copies: tuple[str, ...] | None = None

    @property
    def table(self) -> str:
        """The view of the table's rows."""
        return f"monitor.{name(self.layout.name)}"

    @property
    def time(self) -> str:
        """The column with the time that a row belongs to."""
        return time_of(self.layout)

    def rows(self, scope: Scope) -> str:
        """SELECT of the rows that break the rule, in the order of the dump."""
        where = scope.condition(self.time)
        relation = self.table
        if self.copies is not None:
            same = ", ".join(["system", "dump", self.time, *map(name, self.copies)])
            copy = f"row_number() OVER (PARTITION BY {same} ORDER BY record_offset) AS _copy"
            relation = f"(SELECT *, {copy} FROM {relation} WHERE {where})"
        return (
            f"SELECT system, dump, tod, interval_end, record_offset,\n"
            f"  {object_of(self.layout)} AS object,\n  {self.found} AS found\n"
            f"FROM {relation}\nWHERE {where}\n  AND ({self.bad})\n"
            "ORDER BY system, dump, record_offset"
        )


def time_of(layout: Layout) -> str:
    """The column with the time that a row of a table belongs to: of its interval, or its own."""
    return "interval_end" if record_of(layout).kind is Kind.SAMPLE else "tod"


def object_of(layout: Layout) -> str:
    """SQL expression for the object of a row: "vmduser LINUX001, vmdcpuad 0"."""
    parts = [f"{text(key + ' ')} || {name(key)}" for key in owner_keys(layout)]
    return f"concat_ws(', ', {', '.join(parts)})" if parts else "''"


def keys_present(layout: Layout) -> TableCheck | None:
    """Every row has its keys; None for a table without keys.

    Texts written by guests may be blank.
    """
    keys = row_keys(layout)
    texts = {key for key in keys if key.is_text and key.type not in (Type.GUEST, Type.COUNTED)}
    missing = {
        key.name: f"{name(key.name)} IS NULL" + f" OR {name(key.name)} = ''" * (key in texts)
        for key in keys
    }
    return _none_of(layout, missing, "'no ' || ", text)


def keys_unique(layout: Layout) -> TableCheck | None:
    """Keys and time are unique within a dump; None for tables where they need not be.

    They need not be in records of the monitor itself, in tables without keys that have several rows
    in a sample, in records of the parts of a thing, and in continued records; the entries of
    continued records must be unique.
    """
    record = record_of(layout)
    is_continued = record.grain.startswith("part of ")  # several of them describe one object
    if owner_of(layout).has_parts:
        return None
    if is_continued and not (layout.parent and layout.keys):
        return None
    keys, time = told_apart(layout), time_of(layout)
    if not keys and (record.grain != "system" or record.domain == 1 or record.kind is Kind.EVENT):
        return None
    same = ", ".join(["dump", time, *map(name, keys)])
    closed = f"{time} IS NOT NULL"
    return TableCheck(
        layout,
        f"_copy > 1 AND {closed}",
        "'copy ' || _copy",
        f"count({time})",
        f"count({time}) - count(DISTINCT hash({same})) FILTER (WHERE {closed})",
        exact=False,
        copies=keys,
    )


def text_decodable(layout: Layout) -> TableCheck | None:
    """Texts of CP have no control characters; None for a table without such text."""
    texts = {f.name: _known(f) for f in layout.columns if f.is_text and f.type is not Type.COUNTED}
    pattern = f"'{CONTROLS}'"
    check = _none_of(
        layout,
        {field: f"regexp_matches({column}, {pattern})" for field, column in texts.items()},
        detail=lambda field: f"{text(field + ' X')} || hex({texts[field]})",
    )
    screens = [
        f"coalesce(len(list_filter(list(DISTINCT {column}), lambda x:"
        f" regexp_matches(x, {pattern}))), 0)"
        for column in texts.values()
    ]
    return check and replace(check, screen=" + ".join(screens), exact=False)


def _known(field: Field) -> str:
    """A column, NULL in dumps of releases that do not have the field yet."""
    if not field.since:
        return name(field.name)
    release = "CAST(string_split(nullif(release, ''), '.') AS INTEGER[])"
    since = list(release_key(field.since))
    older = f"SELECT dump FROM meta.dump WHERE {release} < {since}"
    return f"CASE WHEN dump NOT IN ({older}) THEN {name(field.name)} END"


def levels_not_negative(layout: Layout) -> TableCheck | None:
    """Levels are not negative; None for a table without a signed level."""
    levels = [f for f in layout.columns if f.role is Role.GAUGE and f.type is Type.SIGNED]
    return _none_of(layout, {f.name: f"{name(f.name)} < 0" for f in levels if f.unit in LEVELS})


def parts_within(layout: Layout) -> TableCheck | None:
    """Parts do not add up to more than their whole; None for a table without parts."""
    exceeded, details = {}, {}
    for number, part in enumerate(parts_of(layout, "values")):
        totals = [
            f"({' + '.join(f'CAST({name(field)} AS DOUBLE)' for field in fields)})"
            for fields in (part.parts, part.whole)
        ]
        exceeded[str(number)] = f"{totals[0]} > {SLACK} * {totals[1]} + {part.spare:e}"
        sides = zip((part.parts, part.whole), totals, strict=True)
        details[str(number)] = " || ' > ' || ".join(
            f"{text(' + '.join(fields) + ' ')} || CAST({total} AS HUGEINT)"
            for fields, total in sides
        )
    return _none_of(layout, exceeded, detail=details.__getitem__)


def clocks_not_ahead(layout: Layout) -> TableCheck | None:
    """Clocks are not ahead of their record; None for a table without clocks."""
    fields = [f for f in layout.columns if f.role is Role.TIME and f.type is Type.TOD]
    late = f"tod + INTERVAL {SLACK_S} SECOND"
    return _none_of(layout, {f.name: f"tod_timestamp({name(f.name)}) > {late}" for f in fields})


def _value_of(field: str) -> str:
    return f"{text(field + ' ')} || {name(field)}"


def _none_of(
    layout: Layout,
    conditions: dict[str, str],
    prefix: str = "",
    detail: Callable[[str], str] = _value_of,
) -> TableCheck | None:
    """The check that no field meets its condition; None without fields.

    All are SQL: conditions on a row, the details of a mistake, and what stands before these.
    """
    bad = " OR ".join(conditions.values())
    cases = [f"CASE WHEN {bad_of} THEN {detail(field)} END" for field, bad_of in conditions.items()]
    details = f"{prefix}concat_ws(', ', {', '.join(cases)})"
    screen = f"count(*) FILTER (WHERE {bad})"
    return TableCheck(layout, bad, details, "count(*)", screen) if conditions else None


@dataclass(frozen=True, slots=True)
class DeltaCheck:
    """The rows of a table of samples whose deltas are not all known.

    Attributes:
        of_counters: True for rows in which a counter fell, or rose more than is possible; False for
            rows whose owner is missing, new or restarted, and for lower bounds.
    """

    layout: Layout
    of_counters: bool

    def rows(self, scope: Scope) -> str:
        """SELECT of the rows of a scope that break the rule, in the order of time."""
        return (
            f"SELECT system, dump, tod, interval_end, record_offset,\n"
            f"  {object_of(self.layout)} AS object, {self.found} AS found\n"
            f"FROM (\n{doubts_of(self.layout)}\n)\n"
            f"WHERE {scope.condition()} AND {self.found} IS NOT NULL\n"
            "ORDER BY system, interval_end, record_offset"
        )

    @property
    def found(self) -> str:
        """SQL expression for the doubts about a row; NULL if the row meets the rule."""
        wrapped = f"ends_with(x, {text(WRAPPED)})"
        kept = f"lambda x: {'NOT ' if self.of_counters else ''}{wrapped}"
        said = f"array_to_string(list_filter(string_split(doubts, ', '), {kept}), ', ')"
        other = "" if self.of_counters else " ELSE doubts"
        return f"CASE WHEN cause IS NULL THEN nullif({said}, ''){other} END"


def counters_known(layout: Layout) -> DeltaCheck | None:
    """Counters neither fall nor rise too far; None for events and tables without counters."""
    has_counters = _is_sampled(layout) and counter_names(layout)
    return DeltaCheck(layout, of_counters=True) if has_counters else None


def owners_known(layout: Layout) -> DeltaCheck | None:
    """No owner is missing, new or restarted; None for events and records of the monitor itself."""
    return DeltaCheck(layout, of_counters=False) if _is_sampled(layout) else None


def _is_sampled(layout: Layout) -> bool:
    """Whether CP samples it; records of the monitor itself come at any time."""
    record = record_of(layout)
    return record.kind is Kind.SAMPLE and record.domain != 1 and bool(layout.columns)


LayoutCheck = TableCheck | DeltaCheck
HEX4 = "upper(lpad(to_hex({}), 4, '0'))"
"""SQL template for a device number in four hexadecimal digits."""
CHECKS: dict[str, Callable[[Layout], LayoutCheck | None]] = {
    "keys": keys_present,
    "unique": keys_unique,
    "text": text_decodable,
    "counters": counters_known,
    "owners": owners_known,
    "levels": levels_not_negative,
    "sums": parts_within,
    "clocks": clocks_not_ahead,
}
"""What makes the check of a table, or None where it has nothing to check."""
_TEXT = (files(__package__) / "layout_rules.toml").read_text(encoding="utf-8")
KINDS: dict[str, dict[str, str]] = tomllib.loads(_TEXT.replace("{slack_s}", f"{SLACK_S}"))
"""What a rule of each kind says of every table that it holds for; `{table}` is its name."""
FIGURES = "figures"
"""The kind of rule that a reduction has, and no table."""
IMPLIED = frozenset(
    {*("users_by_time", "user_classes_by_time", "user_states_by_time"), "system_summary2_by_time"}
)
"""Reductions whose ranges follow from those of counters (`schemas/parts.csv`) and of processors.
They are made of rows of users: a look at them takes as long as reducing them."""

Tables = dict[str, dict[str, Any]]
"""Tables of rules, by id; `check` is a LayoutCheck."""


def layout_rules(landed: Collection[str]) -> Iterator[tuple[str, Tables]]:
    """The rules of landed tables, and of the reductions that these lead to, with their source."""
    layouts = tables()
    for table in sorted(layouts.keys() & landed):
        checks = {kind: make(layouts[table]) for kind, make in CHECKS.items()}
        rules = {
            f"{table}.{kind}": _said(kind, table) | {"needs": [table], "check": check}
            for kind, check in checks.items()
            if check
        }
        yield f"layout of {record_of(layouts[table]).name.upper()}", rules
    for reduction in _ranged(landed):
        rule = _said(FIGURES, reduction) | {"needs": [], "sql": _outside_of(reduction)}
        yield f"metrics of {reduction}", {f"{reduction}.{FIGURES}": rule}


def is_of_layouts(rule: str) -> bool:
    """Whether an id is that of the rule of a table, landed or not."""
    table, _, kind = rule.partition(".")
    return table in tables() and kind in CHECKS


def _said(kind: str, table: str) -> dict[str, Any]:
    return KINDS[kind] | {"title": KINDS[kind]["title"].format(table=table)}


def landed_tables(sql: str) -> list[str]:
    """The landed tables that some SQL reads itself, in its order."""
    names = dict.fromkeys(re.findall(r"\b(?:interval|monitor)\.(\w+)", code_of(sql)))
    return [table for table in names if table in tables()]


def sampled_tables(sql: str) -> list[str]:
    """Those of them that have samples."""
    return [t for t in landed_tables(sql) if record_of(tables()[t]).kind is Kind.SAMPLE]


def _ranged(landed: Collection[str]) -> Iterator[str]:
    """The reductions of some tables whose figures have a range."""
    lines = {line.name: line for line in lineages(reductions())}
    of_all = lines["_interval"].reads
    for reduction in reductions():
        metrics = metrics_of(reduction.name).values()
        if reduction.is_private or reduction.name in IMPLIED:
            continue
        if f"_{reduction.name}_sums" not in lines or not any(
            metric.high or metric.low not in ("", "0") for metric in metrics
        ):
            continue
        reads = lines[reduction.name].reads
        if not set(sampled_tables(" ".join(reads - of_all or reads))).isdisjoint(landed):
            yield reduction.name


def _outside_of(reduction: str) -> str:
    """SELECT of a line for each row of a reduction: 1 where some metric is outside of its range."""
    keys = [m for m in metrics_of(reduction).values() if m.kind is MetricKind.KEY]
    parts = [
        f"{text(f'{key.name} ')} || "
        + (HEX4 if key.format == "hex" else "{}").format(f"f.{name(key.name)}")
        for key in keys
        if key.name != "interval_end"
    ]
    outside = f"regexp_matches(f.doubts, '(^|, )[^.,]+ {IMPOSSIBLE}')"
    return f"""SELECT f.system,
       f.interval_end,
       concat_ws(', ', {", ".join(["'run ' || r.run_id", *parts, "f.doubts"])}) AS object,
       CASE WHEN {outside} THEN 1 ELSE 0 END AS value,
       0 AS least,
       0 AS most
FROM {reduction} AS f
LEFT JOIN meta.run AS r
  ON {outside}
  AND r.system = f.system
  AND ends_within(f.interval_end, r.since, r.until)"""
