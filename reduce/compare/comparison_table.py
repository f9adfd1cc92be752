"""The comparison-table engine: turns a spec and the runs of a store into printed cells.

Cells are in long form, one printed value each, in reading order: by group, then by run. Ratios
follow as table `<name>_ratios`, change statements last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ...core.errors import CpmonError
from ...render.printing import Printed, blank, exact, percentage, ratio, show
from ..reductions.reductions import reduction
from .run_facts import run_notes, texts
from .samples import Samples, difference, quotient, read_samples, statistic
from .spec import ChangeColumn, DifferenceColumn, Row, Spec, Wording, load_spec

Values = Mapping[str, Any]
Column = dict[str, Printed]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a store has of runs: columns of run_summary, samples by (run, measure), attributes."""

    summary: Mapping[str, Values]
    samples: Mapping[tuple[str, str], Samples]
    attributes: Mapping[str, Values]

    def of(self, run: str, measure: str) -> Samples:
        """The samples of a run; empty if it has none."""
        return self.samples.get((run, measure), {})


def columns(spec: Spec, figures: Figures) -> dict[str, Column]:
    """Run -> row label -> printed cell, including runs that other columns are computed from."""
    printed: dict[str, Column] = {}
    for run in spec.measured:
        if run in figures.summary:
            printed[run] = _column(spec, run, partial(_measured, spec, run, figures))
        else:
            printed[run] = {row.label: blank(f"run {run} is not in the store") for row in spec.rows}
    for computed in spec.differences:
        cell = partial(_difference, spec, computed, figures)
        printed[computed.run] = _column(spec, computed.run, cell)
    return printed | {change.run: _change(spec, change, printed) for change in spec.changes}


def _column(spec: Spec, run: str, cell: Callable[[Row, Column], Printed]) -> Column:
    """The cells of a run: fixed texts of the spec, else `cell` of a row and the cells above it."""
    column: Column = {}
    for row in spec.rows:
        text = row.texts.get(run)
        printed = cell(row, column) if text is None else Printed(text, None)
        if run in row.notes and printed.text:
            printed = Printed(f"{printed.text} ({row.notes[run]})", printed.value)
        column[row.label] = printed
    return column


def row_samples(spec: Spec, row: Row, run: str, figures: Figures) -> Samples:
    """The samples of a row, also for a difference of runs; empty if there are none.

    A difference needs pairs: it is empty if only one of the two runs has some sample.
    """
    computed = next((d for d in spec.differences if d.run == run), None)
    if computed is None:
        return {n: value * exact(row.scale) for n, value in figures.of(run, row.samples).items()}
    measures = row.quotient or (row.samples,)
    parts = []
    for measure in measures:
        minuend, subtrahend = figures.of(computed.of, measure), figures.of(computed.less, measure)
        if minuend.keys() != subtrahend.keys():
            return {}
        parts.append(difference(minuend, subtrahend))
    samples = quotient(parts[0], parts[1]) if row.quotient else parts[0]
    return {n: value * exact(row.scale) for n, value in samples.items()}


def _measured(spec: Spec, run: str, figures: Figures, row: Row, above: Column) -> Printed:
    if row.terms:
        return _computed(row, above)
    if row.measure:
        value = figures.summary[run][row.measure]
        absence = reduction("run_summary").column(row.measure).absence
        reason = f"{row.label}: not known {absence}".rstrip()
        return show(value, row.form, scale=row.scale, reason=reason)
    if row.attribute:
        value = figures.attributes.get(run, {}).get(row.attribute)
        missing = blank(f"{row.label}: run {run} has no attribute {row.attribute}")
        return missing if value is None else Printed(str(value), None)
    if row.total:
        values = figures.of(run, row.total).values()
        reason = f"{row.label}: run {run} has no {row.total}"
        total = sum(values, Decimal(0)) if values else None
        return show(total, row.form, scale=row.scale, reason=reason)
    return _statistic(spec, row, run, figures)


def _statistic(spec: Spec, row: Row, run: str, figures: Figures) -> Printed:
    values = list(row_samples(spec, row, run, figures).values())
    if not values:
        return blank(f"{row.label}: run {run} has no samples of {row.samples}")
    return statistic(values, whole=row.whole, padded=run not in spec.measured)


def _difference(
    spec: Spec, computed: DifferenceColumn, figures: Figures, row: Row, above: Column
) -> Printed:
    for run in computed.sources:
        if run not in figures.summary:
            return blank(f"run {run} is not in the store")
    if row.terms:
        return _computed(row, above)
    if row.samples:
        return _statistic(spec, row, computed.run, figures)
    return blank(f"{row.label}: {computed.run} is a difference of samples")


def _change(spec: Spec, change: ChangeColumn, printed: Mapping[str, Column]) -> Column:
    run, base = printed[change.of], printed[change.base]
    return _column(spec, change.run, lambda row, _: percentage(run[row.label], base[row.label]))


def _computed(row: Row, column: Column) -> Printed:
    total = Decimal(0)
    for sign, label in row.terms:
        term = column[label]
        if term.value is None:
            return blank(term.reason or f"{label} has no value")
        total += sign * term.value
    return show(total, row.form)


CALCULATED = "calc"
CELLS = pa.schema(
    dict.fromkeys(("table", "run_id", "row_label", "value_as_printed", "source_tag"), pa.string())
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One printed value. If `text` is empty, `reason` states why."""

    table: str
    run_id: str
    row_label: str
    text: str
    source: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunHeader:
    """The header of a run's column: its base run, and attributes as text."""

    run_id: str
    base_run_id: str
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """A printed comparison. `cells` are in reading order; `table` names their block.

    `notes` are remarks about the runs.
    """

    spec: Spec
    runs: tuple[RunHeader, ...]
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    @property
    def run_ids(self) -> list[str]:
        """The printed names of the columns."""
        return [run.run_id for run in self.runs]

    def block(self, table: str) -> dict[tuple[str, str], Cell]:
        """The cells of one block by (row label, run id)."""
        return {(c.row_label, c.run_id): c for c in self.cells if c.table == table}

    def reasons(self) -> tuple[str, ...]:
        """The reasons for empty cells, distinct, in order of appearance."""
        return tuple(dict.fromkeys(c.reason for c in self.cells if c.reason))

    def to_arrow(self) -> pa.Table:
        """The cells in the format of the published CSVs; empty cells are NULL."""
        rows = [(c.table, c.run_id, c.row_label, c.text or None, c.source) for c in self.cells]
        return pa.table(list(zip(*rows, strict=True)), schema=CELLS)


def compare(con: duckdb.DuckDBPyConnection, spec: Spec | str | Path) -> ComparisonTable:
    """Compute the comparison table of a spec (or its name, or file) from the runs of a catalogue.

    Raises:
        CpmonError: the spec is invalid, none of its runs is in the store, or a run is duplicated.
    """
    spec = spec if isinstance(spec, Spec) else load_spec(spec)
    measures = {name for row in spec.rows for name in (row.samples, row.total, *row.quotient)}
    samples = read_samples(con, spec.measured, filter(None, measures))
    attributes = {
        row["run_id"]: {**(row["attributes"] or {}), **row}
        for row in _rows(con, spec, "*", "meta.run")
    }
    figures = Figures(_summary(con, spec), samples, attributes)
    bases = spec.bases
    if bases is None:
        named = {run: values["base_run_id"] for run, values in figures.summary.items()}
        bases = {run: str(base) for run, base in named.items() if base}
    printed = columns(spec, figures)
    cells = list(_block(spec, spec.name, printed))
    if spec.ratios:
        ratios = {run: _ratios(spec, run, bases.get(run, ""), printed) for run in spec.runs}
        cells += _block(spec, spec.ratios_table, ratios, CALCULATED)
    cells += _statements(spec, printed, figures)
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
    """Run id -> the columns of run_summary that the spec needs; no query if it needs none."""
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
            code="comparison-runs-missing",
            expected=", ".join(spec.measured),
            found=", ".join(str(run) for (run,) in runs) or "no run",
            remedy="ingest their dumps with a run file beside each, or with --run-id",
        )
    return summaries


def _rows(con: duckdb.DuckDBPyConnection, spec: Spec, columns: str, view: str) -> list[Values]:
    sql = f"SELECT {columns} FROM {view} WHERE list_contains(?, run_id)"
    rows = con.execute(sql, [list(spec.measured)])
    names = [name for name, *_ in rows.description or ()]
    return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]


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
    """The change statements, then the steps."""
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
    done: Column = {}
    for step in spec.steps:
        cell = done[step.label] = step.cell(printed, done)
        yield Cell(step.table, step.about, step.label, cell.text, CALCULATED, cell.reason)
