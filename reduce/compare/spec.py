"""The spec of a comparison table, read from TOML: runs as columns, groups of rows.

`docs/comparisons.md` documents the keys. Specs in `tables/` are shipped; users can write others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ...config import Document, Table
from ...config.values import Names, Text
from ...core.errors import CpmonError, fold, nearest, unknown
from ...render.printing import Format, Printed, Style, blank, exact, fixed, percent, significant
from ..reductions.reductions import reduction
from .samples import MEASURES, Samples, confidence

NOT_SIGNIFICANT = "not significant"
Digits = Annotated[int, Meta(ge=0, le=9)]


class Wording(StrEnum):
    """How a change is expressed."""

    WORDS = "words"
    """5% decrease, no change."""
    PERCENT = "percent"
    """Percentage with sign: 285.4%, -39.17%."""
    SIZE = "size"
    """Percentage without sign, for labels that state the direction: 39%."""
    CONFIDENCE = "confidence"
    """Confidence level of a t-test of the samples: 99%, or not significant."""


class ChangeStatement(Table, frozen=True):
    """The change of a row between two runs.

    `digits` are decimals; `significant` above 0 sets significant digits instead. `table` is the
    block of the cell, by default that of the spec.
    """

    label: Text
    row: Text
    run: Text
    base: Text
    wording: Wording = Wording.WORDS
    digits: Digits = 0
    significant: Digits = 0
    table: Text = Text()

    def cell(self, value: Printed, base: Printed) -> Printed:
        """The change from base to value."""
        return percent(value, base, self._words if self.wording is Wording.WORDS else self._percent)

    def _words(self, exactly: Decimal) -> Printed:
        rounded = fixed(exactly, self.digits)
        direction = "increase" if rounded > 0 else "decrease"
        text = "no change" if rounded.is_zero() else f"{abs(rounded):f}% {direction}"
        return Printed(text, rounded)

    def _percent(self, exactly: Decimal) -> Printed:
        wide = self.significant
        rounded = significant(exactly, wide) if wide else fixed(exactly, self.digits)
        shown = abs(rounded) if self.wording is Wording.SIZE else rounded
        return Printed(f"{shown:f}%", rounded)

    def tested_cell(self, samples: Samples, base_samples: Samples) -> Printed:
        """The result of a t-test: the confidence level, or NOT_SIGNIFICANT."""
        if min(len(samples), len(base_samples)) < 2:
            return blank(f"{self.row}: a t-test needs two samples of {self.base} and {self.run}")
        level = confidence(list(samples.values()), list(base_samples.values()))
        return Printed(NOT_SIGNIFICANT if level is None else f"{level}%", None)


OPERATIONS = ("divide", "minus")


class Step(Table, frozen=True):
    """A calculation with two operands; later steps use its printed result.

    An operand is a number, the label of a step above, or a table with a row and some runs (`of`):
    the mean of their printed cells. `about` takes the place of the run of the cell; `digits` are
    decimals, or places before the point if negative. `table` is the block of the cell.
    """

    label: Text
    about: Text
    table: Text
    digits: Annotated[int, Meta(ge=-9, le=9)] = 0
    divide: Any = None
    minus: Any = None

    def cell(
        self, printed: Mapping[str, Mapping[str, Printed]], done: Mapping[str, Printed]
    ) -> Printed:
        """Compute the step from cells (run -> row label -> cell) and the steps above, by label."""
        numbers: list[Decimal] = []
        for operand in self.divide or self.minus:
            if isinstance(operand, int | float):
                numbers.append(exact(operand))
                continue
            cells = [done[operand]] if isinstance(operand, str) else []
            if isinstance(operand, dict):
                cells = [printed[run][operand["row"]] for run in operand["of"]]
            values = [cell.value for cell in cells if cell.value is not None]
            if len(values) < len(cells):
                unknown_cell = next(cell for cell in cells if cell.value is None)
                return blank(unknown_cell.reason or f"{unknown_cell.text} is no number")
            numbers.append(mean(values))
        first, second = numbers
        if self.divide and second.is_zero():
            return blank(f"{self.label}: divides by zero")
        rounded = fixed(first / second if self.divide else first - second, self.digits)
        return Printed(f"{rounded:f}", rounded)


SOURCES = {
    "t": "load generator",
    "h": "hardware instrumentation",
    "v": "reduction of monitor data",
    "m": "monitor field taken directly",
    "qt": "CP QUERY TIME",
    "i": "CP INDICATE USER",
    "tool": "output of the workload program",
    "cfg": "set-up of the run",
    "calc": "calculated",
}
KINDS = ("measure", "samples", "total", "attribute", "plus", "minus")
"""Keys that define where the values of a row come from; a row has one of them."""
BASE_OF_RUN = "run"


class Row(Table, frozen=True):
    """A row of a group.

    Attributes:
        measure: column of `run_summary`.
        samples: measure of `run_samples`, printed as N, mean and standard deviation.
        total: measure of `run_samples`, summed over the run.
        attribute: attribute of the run, printed unchanged.
        plus, minus: labels of rows above, whose printed values are added; `minus` subtracts all
            but the first.
        scale: factor applied to a value before it is printed.
        whole: mean and deviation of samples are printed as integers.
        quotient: for a rate, its measures: amount and time. Rates of two runs cannot be
            subtracted, but their amounts and times can.
        texts: run -> text printed instead of a value.
        notes: run -> note printed after the value.
    """

    label: Text
    source: Text | None = None
    style: Style = Style.FIXED
    digits: Digits = 0
    scale: int | float = 1
    measure: Text = Text()
    samples: Text = Text()
    total: Text = Text()
    attribute: Text = Text()
    plus: Names | None = None
    minus: Names | None = None
    whole: bool = False
    quotient: Names = Names()
    texts: dict[str, Text] = msgspec.field(default_factory=dict)
    notes: dict[str, Text] = msgspec.field(default_factory=dict)

    @property
    def source_tag(self) -> str:
        """A key of SOURCES."""
        return self.source or ("cfg" if self.attribute else "calc")

    @property
    def form(self) -> Format:
        """The print format of the values."""
        return Format(self.digits, self.style)

    @property
    def terms(self) -> tuple[tuple[int, str], ...]:
        """Sign and label of the rows that are added."""
        labels, sign = (self.plus, 1) if self.plus else (self.minus, -1)
        return tuple((sign if n else 1, label) for n, label in enumerate(labels or ()))


class RowGroup(Table, frozen=True):
    """Rows under a common heading."""

    rows: list[Row] = msgspec.field(default_factory=list)


class DifferenceColumn(Table, frozen=True):
    """A computed column: the samples of one run minus those of another, one by one."""

    run: Text
    of: Text
    less: Text

    @property
    def sources(self) -> tuple[str, str]:
        """The runs that it is computed from."""
        return self.of, self.less


class ChangeColumn(Table, frozen=True):
    """A column of percentages: the change of a run from its base, computed from printed values."""

    run: Text
    of: Text
    base: Text

    @property
    def sources(self) -> tuple[str, str]:
        """The runs that it is computed from."""
        return self.of, self.base


class Spec(Table, frozen=True):
    """A comparison table.

    Attributes:
        runs: the columns, in order; some may be differences or changes of others.
        base: the base run of all columns, or run -> base run; `run` takes it from the run files.
        header: run attributes printed above the columns.
        names: run -> printed name of its column, if it differs from the run id.
        claims: the change statements. claims_table: their block, by default NAME_claims.
    """

    name: Text
    runs: Names
    title: Text = Text()
    base: Any = BASE_OF_RUN
    header: Names = Names(("cp_level", "users", "processors"))
    groups: list[RowGroup] = msgspec.field(default_factory=list)
    ratios: bool = True
    names: dict[str, Text] = msgspec.field(default_factory=dict)
    claims: list[ChangeStatement] = msgspec.field(default_factory=list)
    claims_table: Text = Text()
    differences: list[DifferenceColumn] = msgspec.field(default_factory=list)
    changes: list[ChangeColumn] = msgspec.field(default_factory=list)
    steps: list[Step] = msgspec.field(default_factory=list)

    @property
    def heading(self) -> str:
        """The title, by default the name."""
        return self.title or self.name

    @property
    def ratios_table(self) -> str:
        """Name of the ratio block."""
        return f"{self.name}_ratios"

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in order."""
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def bases(self) -> Mapping[str, str] | None:
        """Run -> its base run; None if the run files define it."""
        if self.base == BASE_OF_RUN:
            return None
        return self.base if isinstance(self.base, dict) else dict.fromkeys(self.runs, self.base)

    @property
    def computed(self) -> tuple[DifferenceColumn | ChangeColumn, ...]:
        """The columns that are computed from other runs."""
        return (*self.differences, *self.changes)

    @property
    def measured(self) -> tuple[str, ...]:
        """The runs that must be in the store: those shown, and the sources of computed columns."""
        computed = {column.run for column in self.computed}
        sources = [run for column in self.computed for run in column.sources]
        return tuple(run for run in dict.fromkeys((*self.runs, *sources)) if run not in computed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The printed names of the columns."""
        return tuple(self.name_of(run) for run in self.runs)

    def name_of(self, run: str) -> str:
        """The printed name of a run."""
        return self.names.get(run, run)

    @property
    def claims_block(self) -> str:
        """The default block of change statements."""
        return self.claims_table or f"{self.name}_claims"

    @property
    def statement_blocks(self) -> set[str]:
        """The blocks of change statements and steps."""
        return {
            *(statement.table or self.claims_block for statement in self.claims),
            *(step.table for step in self.steps),
        }


NOT_MEASURED = frozenset({"run_id", "system", "since", "until", "base_run_id", "cp_level"})
"""Columns of run_summary with texts and times: for the header, not for rows."""
OPERANDS = "two of: a number, the label of a step above, { row = LABEL, of = [RUN, ...] }"
MOST_SCALE = 10**9

Mistake = tuple[str, str, object]
"""Dotted key, what is allowed, and the value found."""


def spec_names() -> list[str]:
    """Names of the shipped specs."""
    return sorted(_shipped())


def load_spec(name: str | Path) -> Spec:
    """Load a shipped spec by name, or a file of the user (a path, or a name that ends in .toml).

    Raises:
        CpmonError: no such spec, or it is invalid.
    """
    shipped = _shipped()
    if isinstance(name, str) and fold(name) in shipped:
        file = shipped[fold(name)]
        return parse_spec(file.read_text(encoding="utf-8"), file.name)
    path = Path(name)
    if path.suffix != ".toml":
        raise unknown("comparison table", str(name), shipped)
    return _read(Document.load(path, "the table spec"))


def parse_spec(text: str, file: str) -> Spec:
    """Parse a spec from TOML text; messages name `file`.

    Raises:
        CpmonError: not TOML, or a key is missing, unknown or invalid.
    """
    return _read(Document(text, file, "the table spec"))


def _shipped() -> dict[str, Traversable]:
    specs = [f for f in (files(__package__) / "tables").iterdir() if f.name.endswith(".toml")]
    return {file.name.removesuffix(".toml"): file for file in specs}


def _read(document: Document) -> Spec:
    spec = document.read(Spec)
    for key, allowed, value in _mistakes(spec):
        raise CpmonError(
            f"{key} has a wrong value",
            place=document.place(key),
            expected=allowed,
            found="nothing" if value is None else repr(value),
        )
    return spec


def _mistakes(spec: Spec) -> Iterator[Mistake]:
    """Finds contradictions and references to undefined names."""
    if not spec.runs:
        yield "runs", "at least one run", []
    yield from _mistakes_of_columns(spec)
    above: list[str] = []
    for number, group in enumerate(spec.groups):
        for place, row in enumerate(group.rows):
            yield from _mistakes_of_row(row, f"groups[{number}].rows[{place}]", above, spec)
            above.append(row.label)
    if not above:
        yield "groups", "at least one group with a row", None
    base, runs = spec.base, spec.runs
    each = isinstance(base, dict) and base.keys() == {*runs}
    if base != BASE_OF_RUN and base not in runs and not (each and _all_in(base.values(), runs)):
        yield "base", f'one of {", ".join(runs)}; a base for each of these; or "run"', base
    yield from _mistakes_of_statements(spec)
    yield from _mistakes_of_runs(spec, "names", spec.names)
    yield from _mistakes_of_steps(spec)
    own = spec.statement_blocks & {spec.name, spec.ratios_table}
    if own:
        yield "claims_table", "for claims and steps other blocks than the table's own", own.pop()
    if len(set(spec.columns)) < len(spec.runs):
        yield "names", "a name for one column each", spec.names


def _all_in(values: Collection[Any], allowed: Collection[str]) -> bool:
    return all(value in allowed for value in values)


def _mistakes_of_runs(spec: Spec, key: str, texts: dict[str, Any]) -> Iterator[Mistake]:
    if not _all_in(texts, spec.runs):
        yield key, f"a text for some of {', '.join(spec.runs)}", dict(texts)


def _mistakes_of_columns(spec: Spec) -> Iterator[Mistake]:
    """Checks that the sources of computed columns are measured runs."""
    computed = [column.run for column in spec.computed]
    if len(set(computed)) < len(computed):
        yield "differences", "each run computed once, as a difference or a change", computed
    columns: dict[str, Sequence[DifferenceColumn | ChangeColumn]]
    columns = {"differences": spec.differences, "changes": spec.changes}
    for key in columns:
        for number, column in enumerate(columns[key]):
            if column.run not in spec.runs:
                allowed = f"one of the table's runs: {', '.join(spec.runs)}"
                yield f"{key}[{number}].run", allowed, column.run
            if {*column.sources} & {*computed}:
                yield key, "of measured runs, not of computed ones", column.sources


def _mistakes_of_row(row: Row, key: str, above: Sequence[str], spec: Spec) -> Iterator[Mistake]:
    if row.label in above:
        yield f"{key}.label", "a label that no row above has", row.label
    kinds = [kind for kind in KINDS if getattr(row, kind) not in (None, "")]
    if len(kinds) != 1:
        allowed = "one of measure, samples, total, attribute, plus and minus"
        yield f"{key}.measure", allowed, ", ".join(kinds) or None
    if row.source_tag not in SOURCES:
        yield f"{key}.source", ", ".join(SOURCES), row.source
    is_measured = kinds[0] in ("measure", "samples", "total")
    if not 0 < row.scale <= MOST_SCALE or (row.scale != 1 and not is_measured):
        allowed = f"a number up to {MOST_SCALE}, not 0; 1 where nothing is measured"
        yield f"{key}.scale", allowed, row.scale
    is_pair = len(row.quotient) == 2 and _all_in(row.quotient, MEASURES)
    if row.quotient and not (row.samples and is_pair):
        yield f"{key}.quotient", "two measures of run_samples: amount and time", [*row.quotient]
    columns = [c.name for c in reduction("run_summary").columns if c.name not in NOT_MEASURED]
    for kind, what, names in (
        ("measure", "a column of run_summary that is a number", columns),
        ("samples", "a measure of run_samples", MEASURES),
        ("total", "a measure of run_samples", MEASURES),
    ):
        given = getattr(row, kind)
        if given and given not in names:
            like = nearest(given, names)
            yield f"{key}.{kind}", f"{what} (did you mean {like}?)" if like else what, given
    for kind in ("plus", "minus"):
        labels = getattr(row, kind)
        if labels is not None and not (labels and _all_in(labels, above)):
            yield f"{key}.{kind}", "labels of rows above this one", list(labels)
    yield from _mistakes_of_runs(spec, f"{key}.texts", row.texts)
    yield from _mistakes_of_runs(spec, f"{key}.notes", row.notes)


def _sources(spec: Spec) -> tuple[str, ...]:
    """The runs whose cells statements and steps may refer to."""
    return (*spec.runs, *(run for d in spec.differences for run in d.sources))


def _mistakes_of_statements(spec: Spec) -> Iterator[Mistake]:
    rows, runs = {row.label: row for row in spec.rows}, tuple(dict.fromkeys(_sources(spec)))
    for number, statement in enumerate(spec.claims):
        key = f"claims[{number}]"
        row = rows.get(statement.row)
        if row is None:
            yield f"{key}.row", "the label of a row", statement.row
        elif statement.wording is Wording.CONFIDENCE and not row.samples:
            yield f"{key}.row", "the label of a row of samples", statement.row
        for name, run in (("run", statement.run), ("base", statement.base)):
            if run not in runs:
                yield f"{key}.{name}", ", ".join(runs), run


def _mistakes_of_steps(spec: Spec) -> Iterator[Mistake]:
    labels: list[str] = []
    rows, runs = [row.label for row in spec.rows], _sources(spec)
    for number, step in enumerate(spec.steps):
        key = f"steps[{number}]"
        operations = [name for name in OPERATIONS if getattr(step, name) is not None]
        if len(operations) != 1:
            yield f"{key}.divide", "one of divide and minus", operations or None
        operands = getattr(step, operations[0])
        is_pair = isinstance(operands, list) and len(operands) == 2
        if not is_pair or not all(_is_operand(o, labels, rows, runs) for o in operands):
            yield f"{key}.{operations[0]}", OPERANDS, operands
        if step.label in labels:
            yield f"{key}.label", "a label that no step above has", step.label
        labels.append(step.label)


def _is_operand(
    value: Any, steps: Collection[str], rows: Collection[str], runs: Collection[str]
) -> bool:
    if isinstance(value, int | float):
        return not isinstance(value, bool)
    if isinstance(value, str):
        return value in steps
    if not isinstance(value, dict) or value.keys() != {"row", "of"}:
        return False
    of = value["of"]
    return value["row"] in rows and isinstance(of, list) and bool(of) and _all_in(of, runs)
