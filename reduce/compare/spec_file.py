"""Specs of comparison tables from TOML: those of `tables/`, and those that users write.

`docs/comparisons.md` describes the keys. One key of a row names the source of its values:
`measure`, `samples`, `total`, `attribute`, `plus` or `minus`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ...config import Document, Table
from ...config.values import Names, Text, converter
from ...schemas import CpmonError
from ...schemas.lookup import fold, nearest, unknown
from ..reductions.reductions import reduction
from ..render.printing import Format, Style, exact
from .claim import Claim, Wording
from .row import NOT_MEASURED, SOURCES, Row
from .samples import MEASURES
from .spec import Change, Difference, Spec
from .step import Cells, Operand, Step

BASE_OF_RUN = "run"
KINDS = ("measure", "samples", "total", "attribute", "plus", "minus")
OPERATIONS = ("divide", "minus")
OPERANDS = "two of: a number, the label of a step above, { row = LABEL, of = [RUN, ...] }"
MOST_SCALE = 10**9

Digits = Annotated[int, Meta(ge=0, le=9)]


class RowKeys(Table, frozen=True):
    """A row of a group."""

    label: Text
    source: Text | None = None
    style: Style = Style.FIXED
    digits: Digits = 0
    scale: int | float = 1
    measure: Text | None = None
    samples: Text | None = None
    total: Text | None = None
    attribute: Text | None = None
    plus: Names | None = None
    minus: Names | None = None
    whole: bool = False
    quotient: Names | None = None
    texts: dict[str, Text] = msgspec.field(default_factory=dict)
    notes: dict[str, Text] = msgspec.field(default_factory=dict)


class GroupKeys(Table, frozen=True):
    """Rows that stand together."""

    rows: list[RowKeys] = msgspec.field(default_factory=list)


class ClaimKeys(Table, frozen=True):
    """A statement on two runs."""

    label: Text
    row: Text
    run: Text
    base: Text
    wording: Wording = Wording.WORDS
    digits: Digits = 0
    significant: Digits = 0
    table: Text | None = None


class StepKeys(Table, frozen=True):
    """A step of a calculation."""

    label: Text
    about: Text
    table: Text
    digits: Annotated[int, Meta(ge=-9, le=9)] = 0
    divide: Any = None
    minus: Any = None


class DifferenceKeys(Table, frozen=True):
    """A column that is the difference of two runs."""

    run: Text
    of: Text
    less: Text


class ChangeKeys(Table, frozen=True):
    """A column that is the change from one run to another."""

    run: Text
    of: Text
    base: Text


class SpecKeys(Table, frozen=True):
    """A spec."""

    name: Text
    runs: Names
    title: Text | None = None
    base: Any = BASE_OF_RUN
    header: Names = Names(("cp_level", "users", "processors"))
    groups: list[GroupKeys] = msgspec.field(default_factory=list)
    ratios: bool = True
    names: dict[str, Text] = msgspec.field(default_factory=dict)
    claims: list[ClaimKeys] = msgspec.field(default_factory=list)
    claims_table: Text | None = None
    differences: list[DifferenceKeys] = msgspec.field(default_factory=list)
    changes: list[ChangeKeys] = msgspec.field(default_factory=list)
    steps: list[StepKeys] = msgspec.field(default_factory=list)


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
    return _Reader(Document.load(path, "the table spec")).spec()


def parse_spec(text: str, file: str) -> Spec:
    """A spec from its TOML text; `file` is named in messages.

    Raises:
        CpmonError: it is no TOML, or a key is missing, unknown or wrong.
    """
    return _Reader(Document(text, file, "the table spec")).spec()


def _shipped() -> dict[str, Traversable]:
    folder = files(__package__) / "tables"
    return {
        file.name.removesuffix(".toml"): file
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    }


class _Reader:
    """A document being read: what its keys say is checked against each other."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._keys = document.read(SpecKeys, converter(Path()))

    def spec(self) -> Spec:
        keys = self._keys
        if not keys.runs:
            raise self._wrong("runs", "at least one run", [])
        differences = [Difference(d.run, d.of, d.less) for d in keys.differences]
        changes = [Change(c.run, c.of, c.base) for c in keys.changes]
        self._check_computed(differences, changes)
        runs = tuple(
            dict.fromkeys([*keys.runs, *(run for d in differences for run in (d.of, d.less))])
        )
        groups = tuple(self._groups())
        rows = {row.label: row for group in groups for row in group}
        block = keys.claims_table or f"{keys.name}_claims"
        spec = Spec(
            name=keys.name,
            title=keys.title or keys.name,
            runs=keys.runs,
            bases=self._bases(),
            header=keys.header,
            groups=groups,
            ratios=keys.ratios,
            claims=tuple(self._claims(rows, runs, block)),
            claims_table=block,
            names=self._of_runs(keys.names, "names"),
            differences=tuple(differences),
            changes=tuple(changes),
            steps=tuple(self._steps(rows, runs)),
        )
        blocks = {claim.table for claim in spec.claims} | {step.table for step in spec.steps}
        if blocks & {keys.name, f"{keys.name}_ratios"}:
            allowed = "for claims and steps other blocks than the table's own"
            raise self._wrong("claims_table", allowed, block)
        if len(set(spec.columns)) < len(keys.runs):
            raise self._wrong("names", "a name for one column each", keys.names)
        return spec

    def _wrong(self, key: str, allowed: str, value: object) -> CpmonError:
        return CpmonError(
            f"{key} has a wrong value",
            place=self._document.place(key),
            expected=allowed,
            found="nothing" if value is None else repr(value),
        )

    def _bases(self) -> dict[str, str] | None:
        """Run -> the run that it is compared with; None where the run files say."""
        base, runs = self._keys.base, self._keys.runs
        if base == BASE_OF_RUN:
            return None
        if base in runs:
            return dict.fromkeys(runs, base)
        if (
            isinstance(base, dict)
            and base.keys() == {*runs}
            and all(b in runs for b in base.values())
        ):
            return dict(base)
        allowed = f'one of {", ".join(runs)}; a base for each of these; or "{BASE_OF_RUN}"'
        raise self._wrong("base", allowed, base)

    def _of_runs(self, texts: Mapping[str, str], key: str) -> dict[str, str]:
        """Texts by run, which must be some of the table's."""
        if not texts.keys() <= {*self._keys.runs}:
            allowed = f"a text for some of {', '.join(self._keys.runs)}"
            raise self._wrong(key, allowed, dict(texts))
        return dict(texts)

    def _check_computed(self, differences: list[Difference], changes: list[Change]) -> None:
        """What other columns are computed from must be measured."""
        runs = self._keys.runs
        all_computed: Sequence[Difference | Change] = (*differences, *changes)
        computed = [made.run for made in all_computed]
        if len(set(computed)) < len(computed):
            allowed = "each run computed once, as a difference or a change"
            raise self._wrong("differences", allowed, computed)
        kinds: dict[str, Sequence[Difference | Change]] = {
            "differences": differences,
            "changes": changes,
        }
        for key, columns in kinds.items():
            for number, made in enumerate(columns):
                if made.run not in runs:
                    allowed = f"one of the table's runs: {', '.join(runs)}"
                    raise self._wrong(f"{key}[{number}].run", allowed, made.run)
                sources = (made.of, made.less if isinstance(made, Difference) else made.base)
                if {*sources} & {*computed}:
                    raise self._wrong(key, "of measured runs, not of computed ones", sources)

    def _groups(self) -> Iterator[tuple[Row, ...]]:
        above: list[str] = []
        for number, group in enumerate(self._keys.groups):
            rows = []
            for place, row in enumerate(group.rows):
                rows.append(self._row(row, f"groups[{number}].rows[{place}]", above))
                above.append(row.label)
            yield tuple(rows)
        if not above:
            raise self._wrong("groups", "at least one group with a row", None)

    def _row(self, row: RowKeys, key: str, above: Sequence[str]) -> Row:
        if row.label in above:
            raise self._wrong(f"{key}.label", "a label that no row above has", row.label)
        kinds = [kind for kind in KINDS if getattr(row, kind) is not None]
        if len(kinds) != 1:
            allowed = "one of measure, samples, total, attribute, plus and minus"
            raise self._wrong(f"{key}.measure", allowed, ", ".join(kinds) or None)
        (kind,) = kinds
        source = row.source or ("cfg" if kind == "attribute" else "calc")
        if source not in SOURCES:
            raise self._wrong(f"{key}.source", ", ".join(SOURCES), source)
        if not 0 < row.scale <= MOST_SCALE or (
            row.scale != 1 and kind in ("attribute", "plus", "minus")
        ):
            allowed = f"a number up to {MOST_SCALE}, not 0; 1 where nothing is measured"
            raise self._wrong(f"{key}.scale", allowed, row.scale)
        if row.quotient and (kind != "samples" or not self._is_quotient(row.quotient)):
            allowed = "two measures of run_samples: amount and time"
            raise self._wrong(f"{key}.quotient", allowed, list(row.quotient))
        self._check_measures(row, key)
        return Row(
            label=row.label,
            source=source,
            form=Format(row.digits, row.style),
            measure=row.measure or "",
            samples=row.samples or "",
            total=row.total or "",
            attribute=row.attribute or "",
            terms=self._terms(row, key, above),
            scale=row.scale if isinstance(row.scale, int) else exact(row.scale),
            whole=row.whole,
            quotient=row.quotient or (),
            texts=self._of_runs(row.texts, f"{key}.texts"),
            notes=self._of_runs(row.notes, f"{key}.notes"),
        )

    def _is_quotient(self, measures: Collection[str]) -> bool:
        return len(measures) == 2 and {*measures} <= {*MEASURES}

    def _check_measures(self, row: RowKeys, key: str) -> None:
        columns = [c.name for c in reduction("run_summary").columns if c.name not in NOT_MEASURED]
        for name, what, known in (
            ("measure", "a column of run_summary that is a number", columns),
            ("samples", "a measure of run_samples", MEASURES),
            ("total", "a measure of run_samples", MEASURES),
        ):
            given = getattr(row, name)
            if given is not None and given not in known:
                like = nearest(given, known)
                allowed = f"{what} (did you mean {like}?)" if like else what
                raise self._wrong(f"{key}.{name}", allowed, given)

    def _terms(self, row: RowKeys, key: str, above: Sequence[str]) -> tuple[tuple[int, str], ...]:
        """Sign and label of the rows that are added."""
        for kind, sign in (("plus", 1), ("minus", -1)):
            labels = getattr(row, kind)
            if labels is None:
                continue
            if not labels or not {*labels} <= {*above}:
                raise self._wrong(f"{key}.{kind}", "labels of rows above this one", list(labels))
            return ((1, labels[0]), *((sign, label) for label in labels[1:]))
        return ()

    def _claims(self, rows: Mapping[str, Row], runs: Sequence[str], block: str) -> Iterator[Claim]:
        for number, keys in enumerate(self._keys.claims):
            key = f"claims[{number}]"
            if keys.row not in rows:
                raise self._wrong(f"{key}.row", "the label of a row", keys.row)
            if keys.wording is Wording.CONFIDENCE and not rows[keys.row].samples:
                raise self._wrong(f"{key}.row", "the label of a row of samples", keys.row)
            for name in ("run", "base"):
                if getattr(keys, name) not in runs:
                    raise self._wrong(f"{key}.{name}", ", ".join(runs), getattr(keys, name))
            fields = msgspec.structs.asdict(keys)
            yield Claim(**fields | {"table": keys.table or block})

    def _steps(self, rows: Collection[str], runs: Collection[str]) -> Iterator[Step]:
        labels: list[str] = []
        for number, keys in enumerate(self._keys.steps):
            key = f"steps[{number}]"
            kinds = [kind for kind in OPERATIONS if getattr(keys, kind) is not None]
            if len(kinds) != 1:
                raise self._wrong(f"{key}.divide", "one of divide and minus", kinds or None)
            given = getattr(keys, kinds[0])
            pair = given if isinstance(given, list) else []
            operands = [_operand(value, labels, rows, runs) for value in pair]
            if len(operands) != 2 or operands[0] is None or operands[1] is None:
                raise self._wrong(f"{key}.{kinds[0]}", OPERANDS, given)
            if keys.label in labels:
                raise self._wrong(f"{key}.label", "a label that no step above has", keys.label)
            labels.append(keys.label)
            pair_of = (operands[0], operands[1])
            yield Step(keys.label, keys.about, kinds[0], pair_of, keys.digits, keys.table)


def _operand(
    value: Any, steps: Collection[str], rows: Collection[str], runs: Collection[str]
) -> Operand | None:
    """An operand; None if it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return exact(value)
    if isinstance(value, str):
        return value if value in steps else None
    if not isinstance(value, dict) or value.keys() != {"row", "of"} or value["row"] not in rows:
        return None
    of = value["of"]
    known = isinstance(of, list) and of and all(run in runs for run in of)
    return Cells(value["row"], tuple(of)) if known else None
