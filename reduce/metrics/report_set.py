"""Reads and checks the metrics of `*.csv`, the reports of `reports.toml`, and the site's own."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

from ...config import Document, Table
from ...config.definitions import definitions, of_definitions
from ...config.moments import MONTH, LineLength
from ...config.values import Names, Text
from ...core.errors import CpmonError, fold, unknown
from ...core.sql import UserSql
from ...render.printing import Style
from ...schemas import layout
from ...schemas.owners import Change, owner_of
from .metric import RATIOS, Compared, Metric, MetricKind, ReportColumn, print_rule

HEADER = tuple(
    {"compared": "compare"}.get(field.name, field.name)
    for field in fields(Metric)
    if field.name != "place"
)

_FORMATS = frozenset({"hex", *(str(style) for style in Style)})
_BOUND = re.compile(r"|-?\d+(\.\d+)?|[a-z_][a-z0-9_]*")
_COMPARE = re.compile(r"(?P<rank>\d+) (?P<digits>\d)(?P<whole> whole)?")


@of_definitions
def metrics() -> tuple[Metric, ...]:
    """All metrics, by file name; those of the site come last.

    Raises:
        CpmonError: a row is invalid: file and line, expected, found.
    """
    folder = files(__package__)
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".csv"))
    rows = [metric for name in names for metric in read_metrics(folder / name)]
    rows += own_metrics()
    _check_unique(rows)
    return tuple(rows)


@of_definitions
def metrics_of(view: str) -> Mapping[str, Metric]:
    """Name -> metric of a view, in the order of its columns."""
    return {m.name: m for m in metrics() if view in m.views or "*" in m.views}


def metric_of(view: str, name: str, place: str | None = None) -> Metric:
    """Find a metric of a view; reductions of the site may use key columns of any other view.

    Raises:
        CpmonError: the view has no such metric; the message names `place`.
    """
    if name in metrics_of(view):
        return metrics_of(view)[name]
    if definitions().has_view(view):
        for metric in metrics():
            if metric.name == name and metric.kind is MetricKind.KEY:
                return metric
    raise unknown(f"metric of {view}", name, metrics_of(view), place=place)


@of_definitions
def compared_metrics() -> tuple[Metric, ...]:
    """The metrics that run comparisons show, by rank."""
    compared = (metric for metric in metrics() if metric.compared.rank)
    return tuple(sorted(compared, key=lambda metric: metric.compared.rank))


def read_metrics(file: Traversable) -> Iterator[Metric]:
    """Read the rows of one file.

    Raises:
        CpmonError: a row is invalid.
    """
    reader = csv.reader(io.StringIO(file.read_text(encoding="utf-8")))
    header = tuple(next(reader, ()))
    if header != HEADER:
        raise _wrong(f"metrics/{file.name}:1", "a header of other columns", HEADER, header)
    for cells in reader:
        place = f"metrics/{file.name}:{reader.line_num}"
        if len(cells) != len(HEADER):
            raise _wrong(place, "another number of cells than the header", len(HEADER), len(cells))
        yield _metric(dict(zip(HEADER, cells, strict=True)), place)


def _metric(row: dict[str, str], place: str) -> Metric:
    _check_cells(row, place)
    compare, compared = _COMPARE.fullmatch(row.pop("compare")), Compared()
    if compare:
        compared = Compared(int(compare["rank"]), int(compare["digits"]), bool(compare["whole"]))
    texts = {key: value for key, value in row.items() if key not in ("views", "kind", "width")}
    kind = MetricKind(row["kind"])
    if kind is MetricKind.TOTAL and not row["numerator"]:
        texts["numerator"] = row["name"]
    return Metric(
        views=tuple(row["views"].split()),
        kind=kind,
        width=int(row["width"] or 0),
        compared=compared,
        place=place,
        **texts,
    )


def _check_cells(row: Mapping[str, str], place: str) -> None:
    factor, level = r"|\d+(e-?\d+)?|1/\d+e\d+", r"|\d+\.\d+\.\d+"
    allowed = (
        ("name", row["name"].isidentifier(), "a column name"),
        ("views", bool(row["views"].split()), "reductions, separated by blanks"),
        ("kind", row["kind"] in set(MetricKind), ", ".join(MetricKind)),
        ("factor", re.fullmatch(factor, row["factor"]), "SQL such as 1e3 or 1/4096e6, or nothing"),
        (
            "format",
            row["format"].isdigit() or row["format"] in _FORMATS,
            f"decimals, or {', '.join(sorted(_FORMATS))}",
        ),
        ("width", not row["heading"] or row["width"].isdigit(), "characters of the column"),
        ("compare", not row["compare"] or _COMPARE.fullmatch(row["compare"]), "rank and decimals"),
        ("low", _BOUND.fullmatch(row["low"]), "a number or a column, or nothing"),
        ("high", _BOUND.fullmatch(row["high"]), "a number or a column, or nothing"),
        ("since", re.fullmatch(level, row["since"]), "a CP level such as 5.2.0, or nothing"),
        ("until", re.fullmatch(level, row["until"]), "a CP level such as 6.3.0, or nothing"),
        (
            "denominator",
            bool(row["denominator"]) == (row["kind"] in RATIOS),
            "the column that a ratio divides by, and nothing for any other kind",
        ),
        (
            "denominator",
            not row["denominator"] or row["denominator"].isidentifier(),
            "the name of a column",
        ),
        ("numerator", row["numerator"] or not row["denominator"], "the column that is divided"),
        (
            "numerator",
            not row["numerator"] or row["numerator"].isidentifier(),
            "the name of a column",
        ),
    )
    for key, is_allowed, expected in allowed:
        if not is_allowed:
            raise _wrong(place, f"a {key} that means nothing", expected, row[key] or "nothing")


def _check_unique(rows: Sequence[Metric]) -> None:
    """Raise if a view has two metrics with the same name, or two metrics have the same rank."""
    earlier: dict[object, Metric] = {}
    for metric in rows:
        keys: list[object] = [(view, metric.name) for view in metric.views]
        for key in (*keys, *([metric.compared.rank] if metric.compared.rank else [])):
            if key in earlier:
                raise _wrong(metric.place, f"what {earlier[key].place} has already", "once", key)
            earlier[key] = metric


def _wrong(place: str, what: str, expected: object, found: object) -> CpmonError:
    expected_text, found_text = (
        ",".join(text) if isinstance(text, tuple) else str(text) for text in (expected, found)
    )
    problem = f"a row of metrics has {what}"
    return CpmonError(problem, place=place, expected=expected_text, found=found_text)


class Lines(StrEnum):
    """What the lines of a report are."""

    TIME = "time"
    """One line for each interval (and object, if the reduction has several), then the mean."""
    OBJECT = "object"
    """One line for each object over the whole span, the greatest first."""
    ROW = "row"
    """The rows of the reduction unchanged: logs, and settings with their time of validity."""


class Note(Table, frozen=True):
    """A note below a report, printed if a dump may be of one of these CP levels.

    `since` (inclusive) and `before` (exclusive) limit the levels; empty means no limit. `always`:
    also where notes are brief.
    """

    text: Text
    since: str = ""
    before: str = ""
    always: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A reduction laid out for a reader.

    Attributes:
        keys: columns that identify an object: ("device",).
        follows: option that selects an object -> its column: {"device": "device"}.
        sort: column that orders objects, the greatest first.
        total: columns that have a total over all objects.
        group: subject: the section of a page that it appears in.
    """

    name: str
    title: str
    reduction: str
    columns: tuple[ReportColumn, ...]
    lines: Lines = Lines.TIME
    keys: tuple[str, ...] = ()
    follows: Mapping[str, str] = field(default_factory=dict)
    sort: str = ""
    total: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    group: str = ""


FILE = "reports.toml"


class ColumnKeys(Table, frozen=True):
    """A report column that overrides its metric, or is hidden while it is NULL in all lines."""

    metric: Text
    heading: Text | None = None
    width: int | None = None
    format: Text | None = None
    optional: bool = False


class ReportKeys(Table, frozen=True):
    """A report."""

    name: Text
    title: Text
    group: Text
    reduction: Text
    columns: list[str | ColumnKeys]
    lines: Lines = Lines.TIME
    keys: Names = Names()
    follows: dict[str, Text] = msgspec.field(default_factory=dict)
    sort: str = ""
    total: Names = Names()
    notes: list[str | Note] = msgspec.field(default_factory=list)


MetricKeys: Any = msgspec.defstruct(
    "MetricKeys",
    [
        *(needed := [("name", Text), ("views", Names), ("kind", Text)]),
        *(usual := [("format", str, "0"), ("width", int, 7)]),
        *((key, str, "") for key in HEADER if key not in {k for k, *_ in (*needed, *usual)}),
    ],
    bases=(Table,),
    module=__name__,
    frozen=True,
)
"""A metric of the site: the columns of a row of `*.csv`, of which few are needed."""


class ReportsKeys(Table, frozen=True):
    """A file of reports; a file of the site may also have metrics and charts.

    `chart`: entries as in `page.toml`, parsed by `page.chart`.
    """

    report: list[ReportKeys] = msgspec.field(default_factory=list)
    metric: list[MetricKeys] = msgspec.field(default_factory=list)
    chart: list[dict[str, Any]] = msgspec.field(default_factory=list)


def own_documents() -> Iterator[Document]:
    """The files of the site that define reports and metrics."""
    return (Document(text, path, "the reports") for path, text in definitions().tables)


@of_definitions
def own_metrics() -> tuple[Metric, ...]:
    """The metrics of the site.

    Raises:
        CpmonError: one has an unknown key or an invalid value.
    """
    found = []
    for document in own_documents():
        for number, keys in enumerate(document.read(ReportsKeys).metric):
            row = {key: str(value) for key, value in msgspec.structs.asdict(keys).items()}
            row["views"] = " ".join(keys.views)
            metric = _metric(row, document.place(f"metric[{number}]"))
            written = UserSql(row["expression"])
            found.append(replace(metric, expression=written) if written else metric)
    return tuple(found)


@of_definitions
def reports() -> Mapping[str, Report]:
    """Every report by its name: the shipped ones, then those of the site.

    Raises:
        CpmonError: an entry has an invalid value, or refers to a metric that its reduction lacks.
    """
    return read_reports([_shipped(), *own_documents()])


def _shipped() -> Document:
    text = (files(__package__) / FILE).read_text(encoding="utf-8")
    return Document(text, FILE, "the reports")


def draft(name: str, like: Report) -> str:
    """A definition file for a new report, copied from another report, for the user to edit.

    Raises:
        CpmonError: the name is taken.
    """
    if fold(name) in map(fold, reports()):
        raise CpmonError(
            "there is a report of that name",
            code="report-name-taken",
            found=name,
            remedy="choose another name",
        )
    documents = (_shipped(), *own_documents())
    entries = (entry for document in documents for entry in document.values.get("report", ()))
    values = next(entry for entry in entries if entry["name"] == like.name) | {"name": name}
    listed = {column.name for column in like.columns}
    others = [m.name for m in metrics_of(like.reduction).values() if m.name not in listed]
    more = textwrap.wrap(f"More metrics of {like.reduction}: {', '.join(others)}.", 98)
    about = [f"A report of the site, begun as a copy of {like.name}.", *(more if others else [])]
    lines = [f"{key} = {_toml(value)}" for key, value in values.items()]
    return "\n".join([*(f"# {line}" for line in about), "", "[[report]]", *lines, ""])


def _toml(value: Any) -> str:
    """Formats a TOML value; lists of several values have one on each line."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return f"{{ {', '.join(f'{key} = {_toml(each)}' for key, each in value.items())} }}"
        case list() if len(value) > 1:
            return "[\n" + "".join(f"    {_toml(each)},\n" for each in value) + "]"
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case str():
            return json.dumps(value, ensure_ascii=False)
    return str(value)


def read_reports(documents: Iterable[Document]) -> dict[str, Report]:
    """Parse reports: name -> report, in the order of the files.

    Raises:
        CpmonError: an entry has an unknown key or an invalid value, or refers to a metric that its
            reduction lacks.
    """
    reports: dict[str, Report] = {}
    entries = (
        (document.place(f"report[{number}]"), entry, document.file != FILE)
        for document in documents
        for number, entry in enumerate(document.read(ReportsKeys).report)
    )
    for place, entry, is_own in entries:
        if fold(entry.name) in map(fold, reports):
            raise CpmonError("two reports have one name", place=place, found=entry.name)
        _check_columns(entry, place)
        keys = msgspec.structs.asdict(entry) | {
            "columns": tuple(_column(entry.reduction, column, place) for column in entry.columns),
            "keys": tuple(entry.keys),
            "total": tuple(entry.total),
            "notes": tuple(_note(note, always=is_own) for note in entry.notes),
        }
        listed = [column.name for column in keys["columns"]]
        if absent := [name for name in entry.total if name not in listed]:
            raise CpmonError(
                "a total is of no column",
                place=place,
                expected=", ".join(listed),
                found=", ".join(absent),
            )
        reports[entry.name] = Report(**keys)
    return reports


def _check_columns(entry: ReportKeys, place: str) -> None:
    """Raise if a key, or what objects are selected or ordered by, is no name of a column."""
    for name in (*entry.keys, *entry.follows.values(), *filter(None, [entry.sort])):
        if not name.isidentifier():
            raise CpmonError(
                "a report names a column that cannot be one",
                place=place,
                expected="the name of a column, in keys, follows and sort",
                found=name,
            )


def _note(note: str | Note, *, always: bool) -> Note:
    """A note, with `{logon}` replaced by what the rule of owners does with a session's begin."""
    if isinstance(note, str):
        note = Note(Text(note))
    if always:
        note = msgspec.structs.replace(note, always=True)
    if "{logon}" not in note.text:
        return note
    owner = owner_of(layout("useact"))
    begun = " or ".join(
        event.table.upper() for event in owner.events if event.change is Change.BEGINS
    )
    text = f"as well where {begun} tells when it began" if owner.from_zero else "not"
    return msgspec.structs.replace(note, text=Text(note.text.replace("{logon}", text)))


def _column(reduction: str, column: str | ColumnKeys, place: str) -> ReportColumn:
    keys = column if isinstance(column, ColumnKeys) else ColumnKeys(Text(column))
    metric = metric_of(reduction, keys.metric, place)
    if not (metric.heading or keys.heading):
        raise CpmonError(
            f"the metric {metric.name} has no heading",
            place=place,
            expected=f"a heading here, or in {metric.place}",
        )
    try:
        print_rule(keys.format or metric.format)
    except ValueError:
        raise CpmonError(
            f"the column {metric.name} has a format that means nothing",
            place=place,
            expected="decimals, kept, thousands or hex",
            found=keys.format,
        ) from None
    shown = metric.report_column(keys.heading, keys.width, keys.format)
    return replace(shown, is_optional=keys.optional)


@functools.cache
def end_column(by: LineLength | None = None) -> ReportColumn:
    """The report column with the end of the interval, or with the day, week or month that it ends.

    Args:
        by: length of the lines.
    """
    end = metric_of("", "interval_end").report_column()
    names = {timedelta(days=1): "Day", timedelta(days=7): "Week", MONTH: "Month"}
    if by not in names:
        return end
    return replace(end, label=names[by], calendar=names[by], width=len("2006-10-16"))
