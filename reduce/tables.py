"""The comparison-table engine: a spec and the runs of a store to printed cells.

Cells are in long form, one printed value each, in the order in which an analyst reads them: group
by group, within a group run by run. Ratios follow as table `<name>_ratios`, claims last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ..schemas import CpmonError
from .printing import Printed, blank, change, ratio, show
from .reductions import reduction
from .spec import Row, Spec, load_spec

CALCULATED = "calc"
CELLS = pa.schema(
    [
        pa.field(name, pa.string())
        for name in ("table", "run_id", "row_label", "value_as_printed", "source_tag")
    ]
)

Values = Mapping[str, Any]
Column = dict[str, Printed]


@dataclass(frozen=True, slots=True)
class Cell:
    """One printed value. `text` is empty where there is none, and `reason` says why."""

    table: str
    run_id: str
    row_label: str
    text: str
    source: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What stands above a run's column: the run it is compared with, and attributes as text."""

    run_id: str
    base_run_id: str
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """A comparison, printed. `cells` are in reading order; blocks are told apart by `table`."""

    spec: Spec
    runs: tuple[RunHeader, ...]
    cells: tuple[Cell, ...]

    @property
    def ratios_table(self) -> str:
        """Name of the ratio block."""
        return f"{self.spec.name}_ratios"

    def block(self, table: str) -> dict[tuple[str, str], Cell]:
        """The cells of one block by (row label, run id)."""
        return {(c.row_label, c.run_id): c for c in self.cells if c.table == table}

    def reasons(self) -> tuple[str, ...]:
        """Why cells are empty, each reason once, in order of appearance."""
        return tuple(dict.fromkeys(c.reason for c in self.cells if c.reason))

    def to_arrow(self) -> pa.Table:
        """The cells as the published CSVs have them; an empty cell is NULL."""
        columns = [
            [c.table for c in self.cells],
            [c.run_id for c in self.cells],
            [c.row_label for c in self.cells],
            [c.text or None for c in self.cells],
            [c.source for c in self.cells],
        ]
        return pa.table(columns, schema=CELLS)


def compare(con: duckdb.DuckDBPyConnection, spec: Spec | str | Path) -> ComparisonTable:
    """The comparison table of a spec, from the runs of a catalogue.

    Args:
        con: a connection on which the reductions are views.
        spec: a spec, the name of a shipped one, or a file.

    Raises:
        CpmonError: the spec is wrong, no run of it is in the store, or a run is there twice.
    """
    spec = spec if isinstance(spec, Spec) else load_spec(spec)
    measured = _measured(con, spec)
    bases = _bases(spec, measured)
    printed = {run: _column(spec, run, measured.get(run)) for run in spec.runs}
    cells = list(_block(spec, spec.name, printed))
    if spec.ratios:
        ratios = {run: _ratios(spec, run, bases.get(run, ""), printed) for run in spec.runs}
        cells += _block(spec, f"{spec.name}_ratios", ratios, CALCULATED)
    cells += _claims(spec, printed)
    headers = _headers(con, spec, measured, bases)
    return ComparisonTable(spec, headers, tuple(cells))


def _measured(con: duckdb.DuckDBPyConnection, spec: Spec) -> dict[str, Values]:
    """Run id -> the columns of run_summary that the spec needs."""
    names = ["run_id", "system", "base_run_id", *dict.fromkeys(r.measure for r in spec.rows)]
    names = [name for name in names if name]
    marks = ", ".join("?" for _ in spec.runs)
    rows = con.execute(
        f"SELECT {', '.join(names)} FROM run_summary WHERE run_id IN ({marks})",
        list(spec.runs),
    ).fetchall()
    measured = [dict(zip(names, row, strict=True)) for row in rows]
    found: dict[str, Values] = {str(values["run_id"]): values for values in measured}
    if len(found) < len(measured):
        systems = ", ".join(sorted(f"{v['run_id']} of {v['system']}" for v in measured))
        raise CpmonError("a run is in the store more than once", found=systems)
    if not found:
        known = con.execute("SELECT run_id FROM meta.run ORDER BY run_id").fetchall()
        raise CpmonError(
            f"none of the runs of {spec.name} is in the store",
            expected=", ".join(spec.runs),
            found=", ".join(str(run) for (run,) in known) or "no run",
            remedy="ingest their dumps with a run file beside each, or with --run-id",
        )
    return found


def _bases(spec: Spec, measured: Mapping[str, Values]) -> dict[str, str]:
    if spec.bases is not None:
        return dict(spec.bases)
    named = {run: values["base_run_id"] for run, values in measured.items()}
    return {run: str(base) for run, base in named.items() if base}


def _column(spec: Spec, run: str, values: Values | None) -> Column:
    """The printed values of one run, by label."""
    column: Column = {}
    for row in spec.rows:
        if values is None:
            column[row.label] = blank(f"run {run} is not in the store")
        elif row.terms:
            column[row.label] = _computed(row, column)
        else:
            value = values[row.measure]
            column[row.label] = show(value, row.form, scale=row.scale, reason=_absence(row))
    return column


def _computed(row: Row, column: Column) -> Printed:
    """A sum or difference of values as they were printed above."""
    total = Decimal(0)
    for sign, label in row.terms:
        term = column[label]
        if term.value is None:
            return blank(term.reason or f"{label} has no value")
        total += sign * term.value
    return show(total, row.form)


def _absence(row: Row) -> str:
    absence = reduction("run_summary").column(row.measure).absence
    return f"{row.label}: not known {absence}" if absence else f"{row.label}: not known"


def _ratios(spec: Spec, run: str, base: str, printed: Mapping[str, Column]) -> Column:
    if base not in printed:
        reason = f"base run {base} is not in this table" if base else f"run {run} names no base run"
        return {row.label: blank(reason) for row in spec.rows}
    return {r.label: ratio(printed[run][r.label], printed[base][r.label]) for r in spec.rows}


def _block(
    spec: Spec, table: str, printed: Mapping[str, Column], source: str | None = None
) -> Iterator[Cell]:
    for group in spec.groups:
        for run in spec.runs:
            for row in group:
                cell = printed[run][row.label]
                tag = source or row.source
                yield Cell(table, run, row.label, cell.text, tag, cell.reason)


def _claims(spec: Spec, printed: Mapping[str, Column]) -> Iterator[Cell]:
    for claim in spec.claims:
        cell = change(printed[claim.run][claim.row], printed[claim.base][claim.row], claim.digits)
        runs = f"{claim.base}|{claim.run}"
        yield Cell(spec.claims_table, runs, claim.label, cell.text, CALCULATED, cell.reason)


def _headers(
    con: duckdb.DuckDBPyConnection,
    spec: Spec,
    measured: Mapping[str, Values],
    bases: Mapping[str, str],
) -> tuple[RunHeader, ...]:
    """The attributes of every run: columns of meta.run, else entries of its attributes."""
    marks = ", ".join("?" for _ in spec.runs)
    found = con.execute(f"SELECT * FROM meta.run WHERE run_id IN ({marks})", list(spec.runs))
    names = [column[0] for column in found.description or ()]
    described = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    rows = {row["run_id"]: row for row in described}
    return tuple(
        RunHeader(run, bases.get(run, ""), _attributes(spec, rows.get(run, {})))
        for run in spec.runs
    )


def _attributes(spec: Spec, row: Values) -> dict[str, str]:
    free = row.get("attributes") or {}
    values = {key: row.get(key, free.get(key)) for key in spec.header}
    return {key: "" if value is None else str(value) for key, value in values.items()}
