"""Pages of objects: a user, device, processor, partition or user class over the span of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import msgspec

from ...config import Settings
from ...core.errors import NothingToReportError
from ...core.text import counted, is_pattern
from ...store.connection import pinned
from ..metrics.metric import TIME, MetricKind
from ..metrics.report_set import Lines, reports
from ..reductions.reductions import reduction
from ..reports.cells import cell_text, column_texts
from ..reports.narrowing import NOUNS, WITH_PATTERNS, objects_of
from ..reports.report import ReportResult, report
from .chart import column_of
from .content import (
    MOST_LINES,
    MOST_ROWS,
    NO_LINKS,
    Listing,
    Read,
    Window,
    listing,
    plain_name,
    read_figure,
    unique_files,
)
from .drawing import PALETTE, Figure, drawn_figure
from .episodes import Links, event_marks
from .plot import figures_of, panels

MAIN = {
    "user": "USER_RESOURCE_UTIL",
    "device": "DASD_BY_ACTIVITY",
    "cpu": "PROCESSORS",
    "partition": "LPAR",
    "class": "UCLASS_RESOURCE_UTIL",
}
"""Option that follows an object -> the report whose order ranks the objects."""
ALSO = {"user": ("LINUX_GUESTS",), "device": ("VIRTUAL_SWITCHES",)}
"""Reports whose greatest objects have pages as well: Linux guests, devices of switches."""


@dataclass(frozen=True, slots=True)
class ObjectContent:
    """The content of the page of an object, as that of a window."""

    title: str
    window: Window
    figures: tuple[Figure, ...]
    listings: tuple[Listing, ...]
    marks: tuple[Mapping[str, Any], ...] = ()


def read_object(
    con: duckdb.DuckDBPyConnection,
    window: Window,
    kind: str,
    value: Any,
    zone: ZoneInfo,
    settings: Settings,
    links: Links = NO_LINKS,
) -> ObjectContent:
    """Read the content of the page of an object: every report that can follow it.

    Any object of a window can be asked for, whether or not tables link to it. Fill in
    `object.html` with `content`, `zone` and `trail` (text and address of the pages above it).

    Args:
        con: a connection on which the reductions are views.
        kind: key of MAIN.
        value: the object as `report` takes it: a device is its number.
        zone: time zone of the printed times.
        links: other objects that have pages.

    Raises:
        NothingToReportError: no report has a line of the object in the window.
        CpmonError: no such user class.
    """
    given: dict[str, Any] = {"objects": {kind: value}, "zone": zone.key, "settings": settings}
    read: Read = partial(report, con, **window.selection, **given)
    results = list(_results(read, window, kind))
    if not results:
        read(MAIN[kind])  # raises with the reason
        raise NothingToReportError(f"no report has a line of {object_title(kind, value)}")
    listings = []
    for result in results:
        docs = {column.name: column.doc for column in reduction(result.report.reduction).columns}
        listings.append(listing(result, docs, links))
    return ObjectContent(
        object_title(kind, value),
        window,
        tuple(
            figure for result in results for figure in _figures(con, window, result, {kind: value})
        ),
        tuple(listings),
        tuple(event_marks(con, window.span, kind, value)),
    )


def _results(read: Read, window: Window, kind: str) -> Iterator[ReportResult]:
    """The reports that follow the object and have lines of it, the main report first."""
    is_class = kind == "class"
    able = [
        each
        for each in reports().values()
        if kind in each.follows
        or (is_class and "user" in each.follows and each.lines is Lines.OBJECT)
    ]
    for each in sorted(able, key=lambda each: each.name != MAIN[kind]):
        with suppress(NothingToReportError):
            if each.lines is Lines.ROW:
                yield read(each.name, top=MOST_ROWS)
            elif each.lines is Lines.OBJECT and kind not in each.follows:
                yield read(each.name, top=MOST_LINES)  # the users of a class
            else:
                result = changes_of(read(each.name, by=window.step(MOST_LINES)))
                yield replace(result, table=result.table.slice(0, MOST_LINES))


def changes_of(result: ReportResult) -> ReportResult:
    """The lines of a report of settings that differ from the line before; others are unchanged."""
    if not _is_of_settings(result) or TIME not in result.table.column_names:
        return result
    texts = [
        column_texts(column, result.table.column(column.name), result.zone).to_pylist()
        for column in result.report.columns
        if column.name != TIME and column.kind is not MetricKind.ELAPSED
    ]
    lines = [*zip(*texts, strict=True)]
    changed = [n for n, line in enumerate(lines) if n == 0 or line != lines[n - 1]]
    same = len(lines) - len(changed)
    if not same:
        return result
    note = f"{counted(same, 'line')} left out, equal to the line before."
    return replace(result, table=result.table.take(changed), notes=(note, *result.notes))


def _is_of_settings(result: ReportResult) -> bool:
    kinds = [column.kind for column in result.report.columns if column.kind is not MetricKind.KEY]
    return 2 * kinds.count(MetricKind.LATEST) >= len(kinds)


def _figures(
    con: duckdb.DuckDBPyConnection, window: Window, result: ReportResult, objects: dict[str, Any]
) -> Iterator[Figure]:
    """Charts of a report over time, other than of settings, one for each unit.

    Of more columns than a chart has colours the greatest are drawn.
    """
    if result.lines is not Lines.TIME or TIME not in result.table.column_names:
        return
    if _is_of_settings(result):
        return
    span = replace(window.span, objects=objects_of(con, result.report, objects))
    by_unit = dict[str, list[str]]()
    for column in sorted(figures_of(result), key=lambda each: -(result.mean.get(each.name) or 0)):
        by_unit.setdefault(column.unit, []).append(column.name)
    drawn = {name for names in by_unit.values() for name in names[: len(PALETTE)]}
    names = [column.name for column in figures_of(result) if column.name in drawn]
    with pinned(con, [result.report.reduction], *span.where()):  # each chart reads it three times
        for number, (chart, points) in enumerate(panels(result, names) if names else ()):
            shown = msgspec.structs.replace(chart, name=f"{result.report.name.lower()}-{number}")
            if chart.series:  # of the object as a whole
                figure = read_figure(con, shown, window, span, result.zone)
                yield from [figure] if figure.svg else []
            elif not points.is_empty:
                yield drawn_figure(shown, points, result.zone)


def object_title(kind: str, value: Any) -> str:
    """The kind of an object and its printed name; device numbers are hexadecimal."""
    main = reports()[MAIN[kind]]
    return f"{NOUNS[kind].capitalize()} {cell_text(column_of(main, main.follows[kind]), value)}"


def top_objects(
    con: duckdb.DuckDBPyConnection, window: Window, top: int, settings: Settings
) -> list[tuple[str, Any]]:
    """The greatest objects of each kind in a window, as option and value.

    An object whose name would be read as a pattern is left out.
    """
    objects = []
    ranked = [(kind, name) for kind in MAIN for name in (MAIN[kind], *ALSO.get(kind, ()))]
    for kind, name in ranked:
        with suppress(NothingToReportError):
            result = report(con, name, **window.selection, top=top, settings=settings)
            values = result.table.column(result.report.follows[kind]).unique().to_pylist()
            objects += [(kind, value) for value in values if can_be_followed(kind, value)]
    return list(dict.fromkeys(objects))


def can_be_followed(kind: str, value: Any) -> bool:
    """Whether a value is one object: not unknown, nor a name that would be read as a pattern."""
    if kind not in WITH_PATTERNS:
        return value is not None
    return bool(value) and not is_pattern(value)


def object_files(objects: Sequence[tuple[str, Any]]) -> dict[tuple[str, Any], str]:
    """A file name for each object, unique also where a file system ignores case."""
    names = (plain_name(object_title(kind, value)).lower() for kind, value in objects)
    return dict(zip(objects, unique_files(names), strict=True))
