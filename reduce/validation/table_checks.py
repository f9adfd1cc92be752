"""What is looked at in the rows of one table, all of it in a single pass.

A figure that is costly to get exactly is screened first: where the screen says 0, nothing breaks
the rule; otherwise the offending rows are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...core.sql import name, text
from ...schemas.arrow import owner_keys, row_keys, told_apart
from ...schemas.field import Field, Role, Type
from ...schemas.layout import Kind, Layout
from ...schemas.registry import record_of
from ...schemas.release import release_key
from .rule import Scope

CONTROLS = r"[\x00-\x1F\x7F-\x9F]"
"""What no text of CP has: EBCDIC bytes that are controls, as which ASCII digits are read, too."""

WRITTEN_BY_GUESTS = (Type.GUEST, Type.COUNTED)

LEVELS = frozenset(
    {
        *("blocks", "bytes", "count", "cylinders", "frames", "pages", "paths", "processors"),
        *("s", "10ms", "users"),
    }
)
"""Units of levels of which there is never less than none."""
CONTINUED = "part of "
"""How the grain of records begins of which several make one object."""
SLACK_S = 60
"""A clock may be ahead of its record by so much: guests have clocks of their own."""


@dataclass(frozen=True, slots=True)
class TableCheck:
    """A condition that no row of a table meets.

    Attributes:
        layout: of the table.
        bad: condition on a row that breaks the rule.
        found: expression that says what is wrong with such a row, as text.
        checked: aggregate: how many rows were looked at.
        screen: aggregate: 0 only if no row is bad.
        exact: the screen is the number of bad rows.
        copies: columns beside the row's time that no two rows share: `bad` then may name `_copy`,
            which is 1 for the first of such rows.
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
    """Expression: what a row is about, as "vmduser LINUX001, vmdcpuad 0"."""
    parts = [f"{text(key + ' ')} || {name(key)}" for key in owner_keys(layout)]
    return f"concat_ws(', ', {', '.join(parts)})" if parts else "''"


def keys_present(layout: Layout) -> TableCheck | None:
    """Every row has the keys that tell what it is about; None of a table without keys.

    What a guest wrote may be blank.
    """
    keys = row_keys(layout)
    texts = {key for key in keys if key.is_text and key.type not in WRITTEN_BY_GUESTS}
    missing = {
        key.name: f"{name(key.name)} IS NULL" + f" OR {name(key.name)} = ''" * (key in texts)
        for key in keys
    }
    return _none_of(layout, missing, "'no ' || ", text)


def keys_unique(layout: Layout) -> TableCheck | None:
    """No two rows of a dump have the same keys and time; None where rows may well.

    Records of the monitor itself, what has neither keys nor stands once in a sample, and records
    that further ones continue may: of these, entries whose keys stand twice tell of a copy.
    """
    record = record_of(layout)
    if record.grain.startswith(CONTINUED) and not (layout.parent and layout.keys):
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
    """No text of CP has a control character in it; None of a table without such text."""
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
    """No level is below 0; None of a table without one that could be."""
    levels = [f for f in layout.columns if f.role is Role.GAUGE and f.type is Type.SIGNED]
    return _none_of(layout, {f.name: f"{name(f.name)} < 0" for f in levels if f.unit in LEVELS})


def clocks_not_ahead(layout: Layout) -> TableCheck | None:
    """No clock is ahead of the record that it stands in; None of a table without clocks."""
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

    Args:
        conditions: field -> condition on a row.
        prefix: expression before the details.
        detail: field -> expression of what is wrong with it, as text.
    """
    bad = " OR ".join(conditions.values())
    cases = [f"CASE WHEN {bad_of} THEN {detail(field)} END" for field, bad_of in conditions.items()]
    details = f"{prefix}concat_ws(', ', {', '.join(cases)})"
    screen = f"count(*) FILTER (WHERE {bad})"
    return TableCheck(layout, bad, details, "count(*)", screen) if conditions else None
