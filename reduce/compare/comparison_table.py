"""The comparison-table engine: a spec and the runs of a store to printed cells.

Cells are in long form, one printed value each, in the order in which an analyst reads them: group
by group, within a group run by run. Ratios follow as table `<name>_ratios`, change statements last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from ...core.errors import CpmonError
from ...render.printing import blank, ratio
from .columns import Column, Figures, Values, columns, row_samples
from .run_facts import run_notes, texts
from .samples import read_samples
from .spec import Spec
from .spec_file import load_spec
from .statement import Wording

CALCULATED = "calc"
CELLS = pa.schema(
    dict.fromkeys(("table", "run_id", "row_label", "value_as_printed", "source_tag"), pa.string())
)


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
    """A comparison, printed. `cells` are in reading order; blocks are told apart by `table`.

    `notes` say what is to be known of the runs.
    """

    spec: Spec
    runs: tuple[RunHeader, ...]
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    @property
    def run_ids(self) -> list[str]:
        """The columns as they are called in print."""
        return [run.run_id for run in self.runs]

    def block(self, table: str) -> dict[tuple[str, str], Cell]:
        """The cells of one block by (row label, run id)."""
        return {(c.row_label, c.run_id): c for c in self.cells if c.table == table}

    def reasons(self) -> tuple[str, ...]:
        """Why cells are empty, each reason once, in order of appearance."""
        return tuple(dict.fromkeys(c.reason for c in self.cells if c.reason))

    def to_arrow(self) -> pa.Table:
        """The cells as the published CSVs have them; an empty cell is NULL."""
        rows = [(c.table, c.run_id, c.row_label, c.text or None, c.source) for c in self.cells]
        return pa.table(list(zip(*rows, strict=True)), schema=CELLS)


def compare(con: duckdb.DuckDBPyConnection, spec: Spec | str | Path) -> ComparisonTable:
    """The comparison table of a spec, from the runs of a catalogue.

    Args:
        con: a connection on which the reductions are views.
        spec: a spec, the name of a shipped one, or a file.

    Raises:
        CpmonError: the spec is wrong, no run of it is in the store, or a run is there twice.
    """
    spec = spec if isinstance(spec, Spec) else load_spec(spec)
    measures = {name for row in spec.rows for name in (row.samples, row.total, *row.quotient)}
    samples = read_samples(con, spec.measured, filter(None, measures))
    figures = Figures(_summary(con, spec), samples, _attributes(con, spec))
    bases = _bases(spec, figures)
    printed = columns(spec, figures)
    cells = list(_block(spec, spec.name, printed))
    if spec.ratios:
        ratios = {run: _ratios(spec, run, bases.get(run, ""), printed) for run in spec.runs}
        cells += _block(spec, spec.ratios_table, ratios, CALCULATED)
    cells += [*_statements(spec, printed, figures), *_steps(spec, printed)]
    headers = (
        RunHeader(
            spec.name_of(run),
            spec.name_of(bases.get(run, "")),
            texts(figures.attributes.get(run, {}), spec.header),
        )
        for run in spec.runs
    )
    notes = run_notes(con, spec.measured, {r.measure: r.label for r in spec.rows if r.measure})
    return ComparisonTable(spec, tuple(headers), tuple(cells), tuple(notes))


def _summary(con: duckdb.DuckDBPyConnection, spec: Spec) -> dict[str, Values]:
    """Run id -> the columns of run_summary that the spec needs; runs alone need no reduction."""
    measures = list(dict.fromkeys(r.measure for r in spec.rows if r.measure))
    columns = ", ".join(["run_id", "system", "base_run_id", *measures])
    measured = _rows(con, spec, columns, "run_summary" if measures else "meta.run")
    summaries: dict[str, Values] = {str(values["run_id"]): values for values in measured}
    if len(summaries) < len(measured):
        systems = ", ".join(sorted(f"{v['run_id']} of {v['system']}" for v in measured))
        raise CpmonError("a run is in the store more than once", found=systems)
    if not summaries:
        runs = con.execute("SELECT run_id FROM meta.run ORDER BY run_id").fetchall()
        raise CpmonError(
            f"none of the runs of {spec.name} is in the store",
            expected=", ".join(spec.measured),
            found=", ".join(str(run) for (run,) in runs) or "no run",
            remedy="ingest their dumps with a run file beside each, or with --run-id",
        )
    return summaries


def _attributes(con: duckdb.DuckDBPyConnection, spec: Spec) -> dict[str, Values]:
    """Run id -> what is known about it: columns of meta.run, then its free attributes."""
    rows = _rows(con, spec, "*", "meta.run")
    return {row["run_id"]: {**(row["attributes"] or {}), **row} for row in rows}


def _rows(con: duckdb.DuckDBPyConnection, spec: Spec, columns: str, view: str) -> list[Values]:
    """The rows of a view about the measured runs."""
    sql = f"SELECT {columns} FROM {view} WHERE list_contains(?, run_id)"
    rows = con.sql(sql, params=[list(spec.measured)])
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]


def _bases(spec: Spec, figures: Figures) -> dict[str, str]:
    if spec.bases is not None:
        return dict(spec.bases)
    named = {run: values["base_run_id"] for run, values in figures.summary.items()}
    return {run: str(base) for run, base in named.items() if base}


def _ratios(spec: Spec, run: str, base: str, printed: Mapping[str, Column]) -> Column:
    if base not in printed:
        reason = f"base run {base} is not in this table" if base else f"run {run} names no base run"
        return {row.label: blank(reason) for row in spec.rows}
    return {r.label: ratio(printed[run][r.label], printed[base][r.label]) for r in spec.rows}


def _block(
    spec: Spec, table: str, printed: Mapping[str, Column], source: str | None = None
) -> Iterator[Cell]:
    computed = set(spec.runs) - set(spec.measured)
    for group in spec.groups:
        for run in spec.runs:
            for row in group.rows:
                cell = printed[run][row.label]
                tag = source or (CALCULATED if run in computed else row.source_tag)
                yield Cell(table, spec.name_of(run), row.label, cell.text, tag, cell.reason)


def _statements(spec: Spec, printed: Mapping[str, Column], figures: Figures) -> Iterator[Cell]:
    rows = {row.label: row for row in spec.rows}
    for statement in spec.claims:
        pair = statement.run, statement.base
        if statement.wording is Wording.CONFIDENCE:
            row = rows[statement.row]
            cell = statement.tested_cell(*(row_samples(spec, row, run, figures) for run in pair))
        else:
            cell = statement.cell(*(printed[run][statement.row] for run in pair))
        runs = f"{spec.name_of(statement.base)}|{spec.name_of(statement.run)}"
        block = statement.table or spec.claims_block
        yield Cell(block, runs, statement.label, cell.text, CALCULATED, cell.reason)


def _steps(spec: Spec, printed: Mapping[str, Column]) -> Iterator[Cell]:
    done: Column = {}
    for step in spec.steps:
        cell = done[step.label] = step.cell(printed, done)
        yield Cell(step.table, step.about, step.label, cell.text, CALCULATED, cell.reason)
