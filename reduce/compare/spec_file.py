"""Specs of comparison tables: those of `tables/`, and those that users write.

msgspec reads the keys; what they say together is checked here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ...config import Document
from ...core.errors import CpmonError
from ...core.names import fold, nearest, unknown
from ..reductions.reductions import reduction
from .samples import MEASURES
from .spec import BASE_OF_RUN, KINDS, SOURCES, Change, Difference, Row, Spec
from .statement import OPERATIONS, Wording

NOT_MEASURED = frozenset({"run_id", "system", "since", "until", "base_run_id", "cp_level"})
"""Columns of run_summary that are texts and times: they can stand in the header, not in a row."""
OPERANDS = "two of: a number, the label of a step above, { row = LABEL, of = [RUN, ...] }"
MOST_SCALE = 10**9

Mistake = tuple[str, str, object]
"""Dotted key, what it may be, and what it is."""


def spec_names() -> list[str]:
    """Names of the shipped specs."""
    return sorted(_shipped())


def load_spec(name: str | Path) -> Spec:
    """A shipped spec by name, or a file of the user (a path, or a name that ends in .toml).

    Raises:
        CpmonError: there is none, or it cannot be understood.
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
    """A spec from its TOML text; `file` is named in messages.

    Raises:
        CpmonError: it is no TOML, or a key is missing, unknown or wrong.
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
    """What contradicts itself, or names what is not there."""
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
    yield from _mistakes_of_base(spec)
    yield from _mistakes_of_statements(spec)
    yield from _mistakes_of_runs(spec, "names", spec.names)
    yield from _mistakes_of_steps(spec)
    own = spec.statement_blocks & {spec.name, spec.ratios_table}
    if own:
        yield "claims_table", "for claims and steps other blocks than the table's own", own.pop()
    if len(set(spec.columns)) < len(spec.runs):
        yield "names", "a name for one column each", spec.names


def _mistakes_of_base(spec: Spec) -> Iterator[Mistake]:
    base, runs = spec.base, spec.runs
    each = isinstance(base, dict) and base.keys() == {*runs}
    if base != BASE_OF_RUN and base not in runs and not (each and _all_in(base.values(), runs)):
        yield "base", f'one of {", ".join(runs)}; a base for each of these; or "run"', base


def _all_in(values: Collection[Any], allowed: Collection[str]) -> bool:
    return all(value in allowed for value in values)


def _mistakes_of_runs(spec: Spec, key: str, texts: dict[str, Any]) -> Iterator[Mistake]:
    if not _all_in(texts, spec.runs):
        yield key, f"a text for some of {', '.join(spec.runs)}", dict(texts)


def _mistakes_of_columns(spec: Spec) -> Iterator[Mistake]:
    """What other columns are computed from must be measured."""
    computed = [column.run for column in spec.computed]
    if len(set(computed)) < len(computed):
        yield "differences", "each run computed once, as a difference or a change", computed
    columns: dict[str, Sequence[Difference | Change]]
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
    yield from _mistakes_of_measures(row, key)
    for kind in ("plus", "minus"):
        labels = getattr(row, kind)
        if labels is not None and not (labels and _all_in(labels, above)):
            yield f"{key}.{kind}", "labels of rows above this one", list(labels)
    yield from _mistakes_of_runs(spec, f"{key}.texts", row.texts)
    yield from _mistakes_of_runs(spec, f"{key}.notes", row.notes)


def _mistakes_of_measures(row: Row, key: str) -> Iterator[Mistake]:
    columns = [c.name for c in reduction("run_summary").columns if c.name not in NOT_MEASURED]
    for name, what, names in (
        ("measure", "a column of run_summary that is a number", columns),
        ("samples", "a measure of run_samples", MEASURES),
        ("total", "a measure of run_samples", MEASURES),
    ):
        given = getattr(row, name)
        if given and given not in names:
            like = nearest(given, names)
            yield f"{key}.{name}", f"{what} (did you mean {like}?)" if like else what, given


def _sources(spec: Spec) -> tuple[str, ...]:
    """The runs whose cells statements and steps may name."""
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
