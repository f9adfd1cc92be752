"""What the catalogue shows of kept results: reductions read instead of computed, and roll-ups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

import pyarrow as pa

from ..columns import COLUMNS, docs
from ..dumps.store import Store
from ..results.kept_files import KeptFile, is_one_of, relation, schema_of
from ..results.reduced import LEVELS, ByDay, Kept, meanings
from ..views.entries import Entry, macro
from ..views.sources import empty, values
from ..views.views import landed_rows, name, sql_type, text

if TYPE_CHECKING:
    from ..views.view import View

SCHEMA = "rollup"
COVERAGE = "meta.reduced"


def reduction_entries(
    store: Store, reduction: View, rows: View, result: Kept | None
) -> Iterator[Entry]:
    """The view of a reduction: over what is kept of it where that is up to date, else live.

    A macro says which, so that the view and its comments stay when more is kept.

    Args:
        rows: what is kept: the reduction itself, or one that it shows line by line.
    """
    column_docs = {column.name: column.doc for column in reduction.columns}
    create = reduction.sql
    if not reduction.name.startswith("_"):
        live = name(rows.name)
        if rows is reduction:
            live = name(f"_live_{reduction.name}")
            computed = f"CREATE VIEW {live} AS {reduction.select}"
            yield Entry("VIEW", live, computed, f"{reduction.name}, computed.", column_docs)
        kept = landed_rows(f"kept_{reduction.name}")
        columns = ", ".join(name(column.name) for column in rows.columns)
        source = live if result is None else _rows(store, result, live)
        yield macro(kept, f"SELECT {columns} FROM {source}", source=(live, _unknown(rows)))
        shown = "SELECT *" if rows is reduction else reduction.select.rpartition("\nFROM ")[0]
        create = f"CREATE VIEW {name(reduction.name)} AS {shown} FROM {kept}"
    yield Entry("VIEW", name(reduction.name), create, reduction.doc, column_docs)


def _unknown(rows: View) -> str:
    """A row of a reduction in which nothing is known; that of its day asks for a time."""
    typed = {"interval_end": "CAST(NULL AS TIMESTAMP)"}
    return ", ".join(f"{typed.get(c.name, 'NULL')} AS {name(c.name)}" for c in rows.columns)


def rollup_entries(store: Store, reduced: Mapping[str, Kept]) -> Iterator[Entry]:
    """`rollup.X` for every reduction that has roll-ups, of all levels."""
    for reduction, result in sorted(reduced.items()):
        files = result.rollups
        if not files:
            continue
        schema = schema_of(store, result.newest(LEVELS[1:]))
        known = meanings(store, reduction)
        column_docs = {c: known.get(c, "Meaning not known.") for c in schema.names}
        columns = ", ".join(map(name, column_docs))
        column_docs = {"level": "Length of what a row covers: 15m or hour.", **column_docs}
        rows = landed_rows(f"{SCHEMA}_{reduction}")
        yield _rolled(store, rows, files, schema, union=not result.is_uniform)
        create = f"CREATE VIEW {SCHEMA}.{name(reduction)} AS SELECT level, {columns} FROM {rows}"
        title = f"Roll-ups of {reduction}: sums; mean, max and 95th percentile of what is shown."
        yield Entry("VIEW", f"{SCHEMA}.{name(reduction)}", create, title, column_docs)


def _rolled(
    store: Store, rows: str, files: Sequence[KeptFile], schema: pa.Schema, *, union: bool
) -> Entry:
    """The macro of the files of roll-ups: to make a view over them all would have to be opened."""
    columns = {column.name: (sql_type(column.type), "") for column in schema}
    columns |= dict.fromkeys(("level", "system"), ("VARCHAR", ""))
    source = relation(store, files, hive=True, union=union)
    return macro(rows, f"SELECT * FROM {source}", empty(columns))


def coverage(reduced: Mapping[str, Kept]) -> Iterator[Entry]:
    """`meta.reduced`: which days are kept at which level. Its rows are those of a macro as well."""
    spans = [
        f"({text(reduction)}, {text(system)}, {text(level)}, '{first}', '{last}', {days})"
        for reduction, of_days in sorted(reduced.items())
        for level in LEVELS
        for system, first, last, days in ranges(of_days.days, level)
    ]
    rows = landed_rows("reduced")
    yield macro(rows, f"SELECT * FROM {values(COLUMNS['reduced'], spans)}")
    shown = f"CREATE VIEW {COVERAGE} AS SELECT * FROM {rows}"
    title = "Days of which results of reductions are kept."
    yield Entry("VIEW", COVERAGE, shown, title, docs("reduced"))


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


def _rows(store: Store, result: Kept, live: str) -> str:
    """The rows of a reduction, of which some or all are kept. `live`: the view that computes it."""
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
