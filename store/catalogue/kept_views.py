"""The SQL of what is shown of kept results: reductions read instead of computed, and roll-ups."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from ...core.sql import name, text
from ..columns import COLUMNS
from ..dumps.store import Store
from ..results.kept_files import is_one_of, relation, schema_of
from ..results.reduced import LEVELS, ByDay, Kept, meanings
from ..views.sources import values
from ..views.views import Documented

if TYPE_CHECKING:
    from ..views.view import View

ROLLUPS = "rollup"
"""The schema of roll-ups."""


def kept_select(store: Store, reduction: View, rows: View, result: Kept, live: str) -> str:
    """The SELECT of a reduction over what is kept of it, and over what is not.

    Args:
        rows: what is kept: the reduction itself, or one that it shows line by line.
        live: the relation that computes `rows`.
    """
    columns = ", ".join(name(column.name) for column in rows.columns)
    kept = f"(SELECT {columns} FROM {_rows(store, result, live)})"
    shown = "SELECT *" if rows is reduction else reduction.select.rpartition("\nFROM ")[0]
    return f"{shown} FROM {kept} AS {name(rows.name)}"


def is_computed(result: Kept | None) -> bool:
    """Whether a reduction is computed whole, or its columns are told by what computes it."""
    return result is None or not result.tells_columns


def _rows(store: Store, result: Kept, live: str) -> str:
    """The rows of a reduction, of which some or all are kept."""
    if result.is_open and not result.closed:
        return live
    if result.tells_columns:
        return relation(store, result.files, union=not result.is_uniform)
    # The live view also tells the columns: results of another version may lack some.
    condition = f"NOT {is_one_of(result.closed)}" if result.is_open else "false"
    rows = f"SELECT * FROM {live} WHERE {condition}"
    if result.files:
        rows += f" UNION ALL BY NAME SELECT * FROM {relation(store, result.files, union=True)}"
    return f"({rows})"


def rollup_view(store: Store, reduction: str, result: Kept) -> Documented:
    """`rollup.X`: the roll-ups of a reduction that has any, of all levels."""
    schema = schema_of(store, result.newest(LEVELS[1:]))
    known = meanings(store, reduction)
    column_docs = {c: known.get(c, "Meaning not known.") for c in schema.names}
    columns = ", ".join(map(name, column_docs))
    column_docs = {"level": "Length of what a row covers: 15m or hour.", **column_docs}
    rows = relation(store, result.rollups, hive=True, union=not result.is_uniform)
    title = f"Roll-ups of {reduction}: sums; mean, max and 95th percentile of what is shown."
    return Documented(
        f"{ROLLUPS}.{reduction}", f"SELECT level, {columns} FROM {rows}", title, column_docs
    )


def coverage(results: Mapping[str, Kept]) -> str:
    """A relation of which days are kept at which level, as SQL."""
    spans = [
        f"({text(reduction)}, {text(system)}, {text(level)}, '{first}', '{last}', {days})"
        for reduction, of_days in sorted(results.items())
        for level in LEVELS
        for system, first, last, days in ranges(of_days.days, level)
    ]
    return values(COLUMNS["reduced"], spans)


def ranges(state: ByDay, level: str) -> list[tuple[str, date, date, int]]:
    """System, first day, last day and number of days that are kept without one missing between."""
    spans: list[tuple[str, date, date, int]] = []
    is_open = False
    pieces = state.of_level(level)
    for system, day in sorted(state.expected.keys() | state.pieces.keys()):
        if (system, day) not in pieces:
            is_open = False
        elif is_open and spans[-1][0] == system:
            spans[-1] = (system, spans[-1][1], day, spans[-1][3] + 1)
        else:
            spans.append((system, day, day, 1))
            is_open = True
    return spans
