"""Rows of a comparison table, and how a spec writes them.

A row says in one key where its values are from: `measure`, `samples`, `total`, `attribute`,
`plus` or `minus`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from ..schemas.lookup import nearest
from .printing import Format, Style, exact
from .reductions import reduction
from .samples import MEASURES
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
KINDS = ("measure", "samples", "total", "attribute", "plus", "minus")
MOST_DIGITS = 9
_MOST_SCALE = 10**9


@dataclass(frozen=True, slots=True)
class Row:
    """A row; of `measure`, `samples`, `total`, `attribute` and `terms` one is not empty.

    Attributes:
        measure: column of `run_summary`.
        samples: measure of `run_samples`, printed as N, mean and standard deviation.
        total: measure of `run_samples`, summed over the run.
        attribute: attribute of the run, printed as it is.
        terms: (sign, label) of rows above that are added as they were printed.
        scale: what a value is multiplied by before it is printed.
        whole: mean and deviation of samples are printed as integers.
        quotient: of a rate, the measures that it divides: amount and time. Rates of two runs
            cannot be subtracted; their amounts and times can.
        texts: run -> text that stands there instead of a value.
        notes: run -> note that stands behind the value.
    """

    label: str
    source: str
    form: Format
    measure: str = ""
    samples: str = ""
    total: str = ""
    attribute: str = ""
    terms: tuple[tuple[int, str], ...] = ()
    scale: int | Decimal = 1
    whole: bool = False
    quotient: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def sampled(self) -> tuple[str, ...]:
        """Every measure of `run_samples` that the row needs."""
        return tuple(name for name in (self.samples, self.total, *self.quotient) if name)


def parse_row(table: TomlTable, above: Sequence[str], runs: Collection[str]) -> Row:
    """A row of a spec.

    Args:
        table: the row as TOML has it.
        above: labels of the rows before it.
        runs: that `texts` and `notes` may name.

    Raises:
        CpmonError: a key is missing, unknown or wrong.
    """
    label = table.text("label")
    if label in above:
        raise table.wrong("label", "a label that no row above has")
    kinds = [kind for kind in KINDS if table.has(kind)]
    if len(kinds) != 1:
        raise table.wrong("measure", "one of measure, samples, total, attribute, plus and minus")
    kind = kinds[0]
    computed = kind in ("plus", "minus")
    row = Row(
        label=label,
        source=_source(table, "cfg" if kind == "attribute" else "calc"),
        form=_form(table),
        measure=_measure(table) if kind == "measure" else "",
        samples=_sampled(table, "samples") if kind == "samples" else "",
        total=_sampled(table, "total") if kind == "total" else "",
        attribute=table.text("attribute") if kind == "attribute" else "",
        terms=_terms(table, kind, above) if computed else (),
        scale=_scale(table, fixed=computed or kind == "attribute"),
        whole=table.flag("whole", False),
        quotient=_quotient(table) if kind == "samples" else (),
        texts=table.mapping("texts", runs),
        notes=table.mapping("notes", runs),
    )
    table.done()
    return row


def _source(table: TomlTable, default: str) -> str:
    source = table.text("source", default)
    if source not in SOURCES:
        raise table.wrong("source", ", ".join(SOURCES))
    return source


def _form(table: TomlTable) -> Format:
    style = table.text("style", Style.FIXED)
    if style not in list(Style):
        raise table.wrong("style", ", ".join(Style))
    return Format(table.number("digits", 0, most=MOST_DIGITS), Style(style))


def _scale(table: TomlTable, *, fixed: bool) -> int | Decimal:
    scale = table.raw("scale", 1)
    is_number = isinstance(scale, int | float) and not isinstance(scale, bool)
    if not is_number or not 0 < scale <= _MOST_SCALE or (fixed and scale != 1):
        raise table.wrong(
            "scale", f"a number up to {_MOST_SCALE}, not 0; 1 where nothing is measured"
        )
    return scale if isinstance(scale, int) else exact(scale)


def _measure(table: TomlTable) -> str:
    columns = reduction("run_summary").columns
    known = [column.name for column in columns if column.name not in NOT_MEASURED]
    return _known(table, "measure", "a column of run_summary that is a number", known)


def _sampled(table: TomlTable, key: str) -> str:
    return _known(table, key, "a measure of run_samples", MEASURES)


def _known(table: TomlTable, key: str, what: str, known: Sequence[str]) -> str:
    said = table.text(key)
    if said not in known:
        like = nearest(said, known)
        raise table.wrong(key, f"{what} (did you mean {like}?)" if like else what)
    return said


def _quotient(table: TomlTable) -> tuple[str, ...]:
    measures = table.texts("quotient", [])
    if measures and (len(measures) != 2 or not set(measures) <= set(MEASURES)):
        raise table.wrong("quotient", "two measures of run_samples: amount and time")
    return measures


def _terms(table: TomlTable, kind: str, above: Sequence[str]) -> tuple[tuple[int, str], ...]:
    labels = table.texts(kind)
    if not labels or not set(labels) <= set(above):
        raise table.wrong(kind, "labels of rows above this one")
    sign = -1 if kind == "minus" else 1
    return tuple((1 if n == 0 else sign, label) for n, label in enumerate(labels))
