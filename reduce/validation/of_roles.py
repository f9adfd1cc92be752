"""What the roles of a table's fields promise: levels are not negative, clocks not of the future.

Counters, which need the row before, are in `of_counters`.
"""

from __future__ import annotations

from ...schemas.field import Field, Role, Type
from ...schemas.layout import Layout
from ...store.views.views import name, text
from .of_table import TableCheck

LEVELS = frozenset(
    [
        "blocks",
        "bytes",
        "count",
        "cylinders",
        "frames",
        "pages",
        "paths",
        "processors",
        "s",
        "10ms",
        "users",
    ]
)
"""Units of levels of which there is never less than none."""
SLACK_S = 60
"""A clock may be ahead of its record by so much: guests have clocks of their own."""


def levels_not_negative(layout: Layout) -> TableCheck | None:
    """No level is below 0; None of a table without one that could be."""
    fields = [f for f in layout.columns if _is_level(f)]
    if not fields:
        return None
    return _none_of(layout, {f.name: f"{name(f.name)} < 0" for f in fields})


def clocks_not_ahead(layout: Layout) -> TableCheck | None:
    """No clock is ahead of the record that it stands in; None of a table without clocks."""
    fields = [f for f in layout.columns if f.role is Role.TIME and f.type is Type.TOD]
    if not fields:
        return None
    late = f"tod + INTERVAL {SLACK_S} SECOND"
    return _none_of(layout, {f.name: f"tod_timestamp({name(f.name)}) > {late}" for f in fields})


def _is_level(field: Field) -> bool:
    return field.role is Role.GAUGE and field.type is Type.SIGNED and field.unit in LEVELS


def _none_of(layout: Layout, conditions: dict[str, str]) -> TableCheck:
    """The check that no field meets its condition."""
    bad = " OR ".join(conditions.values())
    said = [
        f"CASE WHEN {condition} THEN {text(field + ' ')} || {name(field)} END"
        for field, condition in conditions.items()
    ]
    return TableCheck(
        layout,
        bad,
        f"concat_ws(', ', {', '.join(said)})",
        "count(*)",
        f"count(*) FILTER (WHERE {bad})",
    )
