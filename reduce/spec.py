"""Comparison tables as data: the TOML specs of `tables/` and those that users write.

Format: `docs/comparisons.md`. Everything a spec can get wrong is said with file, key, value and
what would be allowed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ..schemas import CpmonError
from ..schemas.lookup import fold, unknown
from .claim import Claim, parse_claim
from .row import NOT_MEASURED, SOURCES, Row, parse_row
from .step import Step, parse_step
from .toml_table import TomlTable

__all__ = [
    "NOT_MEASURED",
    "SOURCES",
    "Change",
    "Claim",
    "Difference",
    "Row",
    "Spec",
    "Step",
    "load_spec",
    "parse_spec",
    "spec_names",
]

BASE_OF_RUN = "run"


@dataclass(frozen=True, slots=True)
class Difference:
    """A run that was never made: the samples of one run less those of another, one by one."""

    run: str
    of: str
    less: str


@dataclass(frozen=True, slots=True)
class Change:
    """A column of percentages: by how much a run differs from its base, as both would print."""

    run: str
    of: str
    base: str


@dataclass(frozen=True, slots=True)
class Spec:
    """A comparison table: runs across, groups of rows down.

    Attributes:
        runs: the columns, in order; some may be differences or changes of others.
        names: how a column is called in print, where that is not its run's name.
        bases: the run that each is compared with; None when the run files say.
    """

    name: str
    title: str
    runs: tuple[str, ...]
    bases: Mapping[str, str] | None
    header: tuple[str, ...]
    groups: tuple[tuple[Row, ...], ...]
    ratios: bool
    claims: tuple[Claim, ...]
    claims_table: str
    names: Mapping[str, str] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in order."""
        return tuple(row for group in self.groups for row in group)

    @property
    def measured(self) -> tuple[str, ...]:
        """The runs that a store must have: those shown, and those that others are computed from."""
        computed = {d.run for d in self.differences} | {c.run for c in self.changes}
        sources = [run for d in self.differences for run in (d.of, d.less)]
        sources += [run for c in self.changes for run in (c.of, c.base)]
        return tuple(run for run in dict.fromkeys((*self.runs, *sources)) if run not in computed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns as they are called in print."""
        return tuple(self.name_of(run) for run in self.runs)

    def name_of(self, run: str) -> str:
        """How a run is called in print."""
        return self.names.get(run, run)


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
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CpmonError("a table spec cannot be read", place=str(path), found=str(error)) from None
    return parse_spec(text, path.name)


def parse_spec(text: str, file: str) -> Spec:
    """A spec from its TOML text; `file` is named in messages.

    Raises:
        CpmonError: it is no TOML, or a key is missing, unknown or wrong.
    """
    try:
        top = TomlTable(tomllib.loads(text), file)
    except tomllib.TOMLDecodeError as error:
        raise CpmonError("a table spec is no TOML", place=file, found=str(error)) from None
    name, runs = top.text("name"), top.texts("runs")
    if not runs:
        raise top.wrong("runs", "at least one run")
    differences = tuple(_difference(table, runs) for table in top.tables("differences"))
    changes = tuple(_change(table, runs) for table in top.tables("changes"))
    known = _runs(top, runs, differences, changes)
    groups = _groups(top, runs)
    rows = {row.label: row for group in groups for row in group}
    block = top.text("claims_table", f"{name}_claims")
    spec = Spec(
        name=name,
        title=top.text("title", name),
        runs=runs,
        bases=_bases(top, runs),
        header=top.texts("header", ["cp_level", "users", "processors"]),
        groups=groups,
        ratios=top.flag("ratios", True),
        claims=tuple(parse_claim(table, rows, known, block) for table in top.tables("claims")),
        claims_table=block,
        names=top.mapping("names", runs),
        differences=differences,
        changes=changes,
        steps=_steps(top, rows, known),
    )
    said = {claim.table for claim in spec.claims} | {step.table for step in spec.steps}
    if said & {name, f"{name}_ratios"}:
        raise top.wrong("claims_table", "for claims and steps other blocks than the table's own")
    if len(set(spec.columns)) < len(runs):
        raise top.wrong("names", "a name for one column each")
    top.done()
    return spec


def _shipped() -> dict[str, Traversable]:
    folder = files(__package__) / "tables"
    return {
        file.name.removesuffix(".toml"): file
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    }


def _bases(top: TomlTable, runs: tuple[str, ...]) -> dict[str, str] | None:
    base = top.raw("base", BASE_OF_RUN)
    if base == BASE_OF_RUN:
        return None
    if isinstance(base, str) and base in runs:
        return dict.fromkeys(runs, base)
    if isinstance(base, dict) and set(base) == set(runs) and all(b in runs for b in base.values()):
        return dict(base)
    allowed = f'one of {", ".join(runs)}; a base for each of these; or "{BASE_OF_RUN}"'
    raise top.wrong("base", allowed)


def _difference(table: TomlTable, runs: tuple[str, ...]) -> Difference:
    made = Difference(_column(table, runs), table.text("of"), table.text("less"))
    table.done()
    return made


def _change(table: TomlTable, runs: tuple[str, ...]) -> Change:
    made = Change(_column(table, runs), table.text("of"), table.text("base"))
    table.done()
    return made


def _column(table: TomlTable, runs: tuple[str, ...]) -> str:
    run = table.text("run")
    if run not in runs:
        raise table.wrong("run", f"one of the table's runs: {', '.join(runs)}")
    return run


def _runs(
    top: TomlTable,
    runs: tuple[str, ...],
    differences: tuple[Difference, ...],
    changes: tuple[Change, ...],
) -> tuple[str, ...]:
    """Every run that a claim may name; what others are computed from must be measured."""
    computed = [d.run for d in differences] + [c.run for c in changes]
    if len(set(computed)) < len(computed):
        raise top.wrong("differences", "each run computed once, as a difference or a change")
    for key, made in (("differences", differences), ("changes", changes)):
        for d in made:
            sources = (d.of, d.less if isinstance(d, Difference) else d.base)
            if set(sources) & set(computed):
                raise top.wrong(key, "of measured runs, not of computed ones")
    sources_of = [run for d in differences for run in (d.of, d.less)]
    return tuple(dict.fromkeys([*runs, *sources_of]))


def _steps(top: TomlTable, rows: Mapping[str, Row], runs: tuple[str, ...]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for table in top.tables("steps"):
        steps.append(parse_step(table, steps, rows, runs))
    return tuple(steps)


def _groups(top: TomlTable, runs: tuple[str, ...]) -> tuple[tuple[Row, ...], ...]:
    above: list[str] = []
    groups = []
    for table in top.tables("groups"):
        rows = []
        for line in table.tables("rows"):
            rows.append(parse_row(line, above, runs))
            above.append(rows[-1].label)
        groups.append(tuple(rows))
        table.done()
    if not above:
        raise top.wrong("groups", "at least one group with a row")
    return tuple(groups)
