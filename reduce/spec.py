"""Comparison tables as data: the TOML specs of `tables/` and those that users write.

Format: `docs/reports.md`. Everything a spec can get wrong is said with file, key, value and what
would be allowed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ..schemas import CpmonError
from ..schemas.lookup import fold, nearest, unknown
from .printing import Format, Style
from .reductions import reduction
from .toml_table import TomlTable

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
NOT_MEASURED = frozenset({"run_id", "system", "since", "until", "base_run_id", "cp_level"})
"""Columns of run_summary that are texts and times: they can stand in the header, not in a row."""
BASE_OF_RUN = "run"
_MAX_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Row:
    """A row: a measure of `run_summary`, or a sum or difference of rows printed above it.

    `terms` are (sign, label); they are empty for a measured row.
    """

    label: str
    source: str
    form: Format
    measure: str = ""
    scale: int = 1
    terms: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the text: how a row changed from one run to another, in whole percent."""

    label: str
    row: str
    run: str
    base: str
    digits: int


@dataclass(frozen=True, slots=True)
class Spec:
    """A comparison table: runs across, groups of rows down.

    `bases` maps every run to the run it is compared with; it is None when the run files say.
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

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in order."""
        return tuple(row for group in self.groups for row in group)


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
    groups = _groups(top)
    rows = {row.label for group in groups for row in group}
    spec = Spec(
        name=name,
        title=top.text("title", name),
        runs=runs,
        bases=_bases(top, runs),
        header=top.texts("header", ["cp_level", "users", "processors"]),
        groups=groups,
        ratios=top.flag("ratios", True),
        claims=tuple(_claim(table, rows, runs) for table in top.tables("claims")),
        claims_table=top.text("claims_table", f"{name}_claims"),
    )
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


def _groups(top: TomlTable) -> tuple[tuple[Row, ...], ...]:
    above: list[str] = []
    groups = []
    for table in top.tables("groups"):
        groups.append(tuple(_row(row, above) for row in table.tables("rows")))
        table.done()
    if not above:
        raise top.wrong("groups", "at least one group with a row")
    return tuple(groups)


def _row(table: TomlTable, above: list[str]) -> Row:
    label = table.text("label")
    if label in above:
        raise table.wrong("label", "a label that no row above has")
    kinds = [kind for kind in ("measure", "plus", "minus") if table.has(kind)]
    if len(kinds) != 1:
        raise table.wrong("measure", "one of measure, plus and minus")
    source = table.text("source", "calc")
    if source not in SOURCES:
        raise table.wrong("source", ", ".join(SOURCES))
    row = Row(
        label=label,
        source=source,
        form=_form(table),
        measure=_measure(table) if kinds == ["measure"] else "",
        scale=table.number("scale", 1, most=10**9),
        terms=() if kinds == ["measure"] else _terms(table, kinds[0], above),
    )
    if row.scale == 0 or (row.terms and row.scale != 1):
        raise table.wrong("scale", "1 or more; 1 for a row computed from printed values")
    table.done()
    above.append(label)
    return row


def _form(table: TomlTable) -> Format:
    style = table.text("style", Style.FIXED)
    if style not in list(Style):
        raise table.wrong("style", ", ".join(Style))
    return Format(table.number("digits", 0, most=_MAX_DIGITS), Style(style))


def _measure(table: TomlTable) -> str:
    measure = table.text("measure")
    columns = reduction("run_summary").columns
    known = [column.name for column in columns if column.name not in NOT_MEASURED]
    if measure not in known:
        like = nearest(measure, known)
        hint = f" (did you mean {like}?)" if like else ""
        raise table.wrong("measure", f"a column of run_summary that is a number{hint}")
    return measure


def _terms(table: TomlTable, kind: str, above: list[str]) -> tuple[tuple[int, str], ...]:
    labels = table.texts(kind)
    if not labels or not set(labels) <= set(above):
        raise table.wrong(kind, "labels of rows above this one")
    sign = -1 if kind == "minus" else 1
    return tuple((1 if n == 0 else sign, label) for n, label in enumerate(labels))


def _claim(table: TomlTable, rows: set[str], runs: tuple[str, ...]) -> Claim:
    claim = Claim(
        label=table.text("label"),
        row=table.text("row"),
        run=table.text("run"),
        base=table.text("base"),
        digits=table.number("digits", 0, most=_MAX_DIGITS),
    )
    if claim.row not in rows:
        raise table.wrong("row", "the label of a row")
    for key, value in (("run", claim.run), ("base", claim.base)):
        if value not in runs:
            raise table.wrong(key, ", ".join(runs))
    table.done()
    return claim
