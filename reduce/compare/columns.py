"""The columns of a comparison table: what each run prints in every row, before ratios.

A measured run prints its figures, a difference of runs the differences of their samples, a change
by how many percent one run differs from another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from ...render.printing import Printed, blank, exact, percentage, show
from ..reductions.reductions import reduction
from .samples import Samples, difference, quotient, statistic
from .spec import Change, Difference, Row, Spec

Values = Mapping[str, Any]
Column = dict[str, Printed]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a store knows of the runs of a table.

    Attributes:
        summary: run -> the columns of run_summary that rows need. A run without an entry is
            not in the store.
        samples: (run, measure) -> single samples.
        attributes: run -> what was said about it.
    """

    summary: Mapping[str, Values]
    samples: Mapping[tuple[str, str], Samples]
    attributes: Mapping[str, Values]

    def of(self, run: str, measure: str) -> Samples:
        """The samples of a run, none if it has none."""
        return self.samples.get((run, measure), {})


def columns(spec: Spec, figures: Figures) -> dict[str, Column]:
    """Run -> label -> what is printed there; also of runs that others are computed from."""
    printed = {run: _measured(spec, run, figures) for run in spec.measured}
    printed |= {computed.run: _difference(spec, computed, figures) for computed in spec.differences}
    return printed | {computed.run: _change(spec, computed, printed) for computed in spec.changes}


def _column(spec: Spec, run: str, cell: Callable[[Row, Column], Printed]) -> Column:
    """The cells of a run: texts that the spec has for it, and else what `cell` makes of a row.

    Args:
        cell: called with a row and the cells above it.
    """
    column: Column = {}
    for row in spec.rows:
        text = row.texts.get(run)
        printed = cell(row, column) if text is None else Printed(text, None)
        if run in row.notes and printed.text:
            printed = Printed(f"{printed.text} ({row.notes[run]})", printed.value)
        column[row.label] = printed
    return column


def row_samples(spec: Spec, row: Row, run: str, figures: Figures) -> Samples:
    """The samples behind a row of samples, also of a difference of runs; none if there are none.

    A sample that only one of the two runs has is no pair, so then there is no difference at all.
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


def _measured(spec: Spec, run: str, figures: Figures) -> Column:
    if run not in figures.summary:
        return {row.label: blank(f"run {run} is not in the store") for row in spec.rows}
    return _column(spec, run, partial(_cell, spec, run, figures))


def _cell(spec: Spec, run: str, figures: Figures, row: Row, above: Column) -> Printed:
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


def _difference(spec: Spec, computed: Difference, figures: Figures) -> Column:
    """Only samples can be subtracted one by one; other rows are for the runs themselves."""
    missing = [run for run in computed.sources if run not in figures.summary]

    def cell(row: Row, above: Column) -> Printed:
        if missing:
            return blank(f"run {missing[0]} is not in the store")
        if row.terms:
            return _computed(row, above)
        if row.samples:
            return _statistic(spec, row, computed.run, figures)
        return blank(f"{row.label}: {computed.run} is a difference of samples")

    return _column(spec, computed.run, cell)


def _change(spec: Spec, change: Change, printed: Mapping[str, Column]) -> Column:
    run, base = printed[change.of], printed[change.base]
    return _column(spec, change.run, lambda row, _: percentage(run[row.label], base[row.label]))


def _computed(row: Row, column: Column) -> Printed:
    """A sum or difference of values as they were printed above."""
    total = Decimal(0)
    for sign, label in row.terms:
        term = column[label]
        if term.value is None:
            return blank(term.reason or f"{label} has no value")
        total += sign * term.value
    return show(total, row.form)
