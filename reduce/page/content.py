"""Reads the content of a page: tiles, charts, report tables and notes of a window."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import escape

from ...config import Settings
from ...core.errors import CpmonError, NothingToReportError, unknown
from ...core.grace_period import GRACE, INSIDE, day_bounds
from ...core.text import counted
from ...store.connection import pinned, point, table_of
from ...store.sql.scope import ALL
from ..metrics.metric import HEX, TIME, ReportColumn
from ..metrics.report_set import Lines, Report, reports
from ..reductions.reductions import reduction
from ..reports.cells import (
    REPEATED,
    SPELLED,
    UTC_ZONE,
    cell_text,
    column_texts,
    page_clock,
    utc,
)
from ..reports.report import ReportResult, report
from ..reports.report_sql import Span
from ..rules.exceptions import exceptions
from ..rules.rendering import unknowns
from .chart import TILES, Chart, Tile, charts, column_of, object_name, read_points, unit_of
from .drawing import Figure, drawn_figure
from .episodes import (
    LOG_COLUMNS,
    USER_COLUMNS,
    Links,
    event_marks,
    exception_marks,
    linked_episodes,
    named_in_log,
)
from .levels import detail

DAY = timedelta(days=1)
NO_LINKS: Links = {}


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a tile. `state` is good or bad; empty without a limit."""

    label: str
    value: str
    unit: str
    detail: str
    state: str
    verdict: str


def shown_tiles(
    results: Mapping[str, ReportResult], limits: Mapping[str, float], zone: ZoneInfo = UTC_ZONE
) -> list[Shown]:
    """The tiles whose reports are available, from results with a line for each interval.

    `limits`: rule id -> limit in the printed unit, for the enabled exception rules.
    """
    shown = [
        _shown(tile, results[tile.report], limits.get(tile.rule), zone)
        for tile in TILES
        if tile.report in results
    ]
    return [tile for tile in shown if tile is not None]


def _shown(tile: Tile, result: ReportResult, limit: float | None, zone: ZoneInfo) -> Shown | None:
    names = [column.name for column in result.report.columns]
    if tile.column not in names:
        return None
    column, values = column_of(result.report, tile.column), result.table.column(tile.column)
    greatest = pc.max(values).as_py()
    if greatest is None:
        return None
    line = result.table.slice(pc.index(values, greatest).as_py(), 1).to_pylist()[0]
    if result.lines is Lines.TIME:
        value, noun = result.mean.get(tile.column), "intervals"
        when = page_clock(line[TIME], zone)
        when = when if result.ends - result.starts > DAY else when[11:]
        is_constant = pc.min(values).as_py() == greatest
        highest = f"highest {cell_text(column, greatest)} at {when}"
        detail = "all the time" if is_constant else highest
    else:
        value, noun = greatest, "objects"
        detail = object_name([column_of(result.report, key) for key in result.report.keys], line)
    unit = unit_of(tile.report, tile.column) if tile.noun is None else tile.noun
    state = verdict = ""
    if limit is not None:
        bound = f"{limit:g} {unit}".strip()
        over = pc.sum(pc.greater(values, limit / column.scale)).as_py() or 0
        state, verdict = "good", f"never over {bound}"
        if over:
            state, verdict = "bad", f"over {bound} in {over} of {len(values)} {noun}"
    return Shown(tile.label, cell_text(column, value, zone), unit, detail, state, verdict)


MOST_EPISODES = 500
"""Maximum number of exceptions on a page."""
TITLES = {
    "system": "System",
    "processors": "Processors",
    "users": "Users",
    "dasd": "Disks and storage",
    "network": "Networks",
    "events": "Events",
    "configuration": "Configuration",
}
"""Titles of the report groups, in order of display."""


@dataclass(frozen=True, slots=True)
class Group:
    """The report tables of one group."""

    name: str
    title: str
    listings: tuple[Listing, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a page.

    Attributes:
        episodes: exceptions, with their links. unknowns: what could not be evaluated.
        facts: settings and their values. dumps, findings: rows of the store's tables.
        marks: exceptions and events for the charts, as of `exception_marks`.
    """

    window: Window
    tiles: tuple[Shown, ...]
    episodes: tuple[Mapping[str, Any], ...]
    unknowns: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    dumps: tuple[Mapping[str, Any], ...]
    findings: tuple[Mapping[str, Any], ...]
    figures: tuple[Figure, ...]
    groups: tuple[Group, ...]
    marks: tuple[Mapping[str, Any], ...] = ()


def read_content(
    con: duckdb.DuckDBPyConnection,
    window: Window,
    zone: ZoneInfo,
    settings: Settings,
    links: Links = NO_LINKS,
) -> Content:
    """Read the content of the page of a window, with links to the objects that have pages."""
    read = partial(report, con, **window.selection, zone=zone.key, settings=settings)
    matches = exceptions(con, **window.selection, settings=settings)
    worst = matches.table.slice(0, MOST_EPISODES)
    limits = {rule.id: rule.limit for rule in matches.rules if rule.limit is not None}
    episodes = linked_episodes(worst, matches.rules, window.first, window.last, links)
    bounds = window.system, window.first, window.last
    timed = {r.reduction for r in reports().values() if r.lines is not Lines.ROW}
    with pinned(con, sorted(timed), *window.span.where()):
        results = _for_tiles(read)
        return Content(
            window,
            tuple(shown_tiles(results, limits, zone)),
            episodes,
            tuple(unknowns(matches, zone)),
            tuple((key.replace("_", " "), value) for key, value in window.attributes.items()),
            tuple(_rows(con, "dumps.sql", *bounds)),
            tuple(_rows(con, "findings.sql", *bounds)),
            tuple(_figures(con, window, zone, limits)),
            tuple(_groups(_known(results, read), window, links)),
            (*exception_marks(episodes), *event_marks(con, window.span)),
        )


def _for_tiles(read: Read) -> dict[str, ReportResult]:
    """The reports that tiles need, with a line for each interval."""
    results = {}
    for name in dict.fromkeys(tile.report for tile in TILES):
        with suppress(CpmonError):  # the table of the report explains that there is no data
            results[name] = read(name)
    return results


def _known(results: Mapping[str, ReportResult], read: Read) -> Read:
    """Reads reports, other than those that are known with a line for each interval."""

    def look_up(name: str, *, by: timedelta | None = None, top: int | None = None) -> ReportResult:
        if by is None and top is None and name in results:
            return results[name]
        return read(name, by=by, top=top)

    return look_up


def _figures(
    con: duckdb.DuckDBPyConnection,
    window: Window,
    zone: ZoneInfo,
    limits: Mapping[str, float],
) -> Iterator[Figure]:
    for chart in charts():
        try:
            yield read_figure(con, chart, window, window.span, zone, limits.get(chart.rule))
        except CpmonError as error:
            yield Figure(chart, "", missing=str(error))


def read_figure(
    con: duckdb.DuckDBPyConnection,
    chart: Chart,
    window: Window,
    span: Span,
    zone: ZoneInfo,
    limit: float | None = None,
) -> Figure:
    """A chart of a window, with finer points where values vary; `span` may select an object."""
    by, finer, fine = window.step(), window.step(MOST_DETAIL), None
    points = read_points(con, chart, span, by, zone)
    if finer != by and len(points.bands):
        fine = detail(points, read_points(con, chart, span, finer, zone))
    return drawn_figure(chart, points, zone, limit, fine)


def _groups(read: Read, window: Window, links: Links) -> list[Group]:
    listings: dict[str, list[Listing]] = {name: [] for name in TITLES}
    for listed in reports().values():
        try:
            result = short_report(read, window, listed)
        except CpmonError as error:
            shown = Listing(listed.name, listed.title, missing=str(error))
        else:
            docs = {column.name: column.doc for column in reduction(listed.reduction).columns}
            shown = listing(result, docs, links)
        listings.setdefault(listed.group, []).append(shown)
    return [
        Group(name, TITLES.get(name, name.capitalize()), tuple(of_group))
        for name, of_group in listings.items()
        if of_group
    ]


def _rows(con: duckdb.DuckDBPyConnection, file: str, *parameters: Any) -> list[dict[str, Any]]:
    """The rows of a SQL file of this folder."""
    sql = (files(__package__) / file).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = table_of(con, sql, parameters).to_pylist()
    return rows


_MARKUP = re.compile("[&<>'\"]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?\Z")
_PLAIN = r"^(-?\d+(\.\d+)?)?$"
"""Texts that can serve as sort key."""
MOST_LINES = 500
"""Maximum lines of a table by time or object; `cpmon report` prints all."""
MOST_ROWS = 1000
"""Maximum lines of a log."""

Read = Callable[..., ReportResult]
"""Reads a report by name, with lines of a length (`by`) or a number of objects (`top`)."""


@dataclass(frozen=True, slots=True)
class Head:
    """A column heading. `parts` are the words of its label, `is_text` aligns it left."""

    parts: tuple[str, ...]
    unit: str
    about: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell text, its number where that cannot be parsed from the text ("101k"), and a link."""

    text: str
    number: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A report table of a page, or why it is `missing`.

    Attributes:
        covers: the span and the filters, as text.
        rows: cells of each line. below: cells of the mean and total lines.
    """

    name: str
    title: str
    covers: str = ""
    heads: tuple[Head, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    below: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""

    @property
    def body(self) -> str:
        """The rows as markup, by columns: a template takes ten times as long for each cell."""
        if not self.rows:
            return ""
        columns = zip(self.heads, zip(*self.rows, strict=True), strict=True)
        marked = [_marked(cells, is_text=head.is_text) for head, cells in columns]
        return "".join(f"<tr>{''.join(row)}</tr>\n" for row in zip(*marked, strict=True))


def _marked(cells: Sequence[Cell], *, is_text: bool) -> list[str]:
    """The cells of a column as markup; texts are escaped."""
    opened = '<td class="t" data-t' if is_text else "<td"
    texts = [cell.text for cell in cells]
    if _MARKUP.search("\0".join(texts)):
        texts = [escape(text) for text in texts]
    numbers = (f' data-v="{escape(cell.number)}"' if cell.number else "" for cell in cells)
    shown = (
        f'<a href="{escape(cell.href)}">{text}</a>' if cell.href else text
        for cell, text in zip(cells, texts, strict=True)
    )
    return [f"{opened}{number}>{text}</td>" for number, text in zip(numbers, shown, strict=True)]


def short_report(
    read: Read, window: Window, report: Report, most: int = MOST_LINES
) -> ReportResult:
    """Read a report with longer and longer lines until a page can hold it, or cut it, with a note.

    Raises:
        CpmonError: there is nothing to report.
    """
    if report.lines is not Lines.TIME:
        return read(report.name, top=MOST_ROWS if report.lines is Lines.ROW else most)
    by = window.step(most)
    result = read(report.name, by=by)
    longer = [step for step in STEPS if by is None or step > by]
    while result.table.num_rows > most and longer:
        length = (window.last - window.first) * result.table.num_rows / most**2
        by = next((step for step in longer if step >= length), longer[-1])
        longer = [step for step in longer if step > by]
        result = read(report.name, by=by)
    lines = result.table.num_rows
    if lines <= most:
        return result
    note = f"Only the first {most} of {counted(lines, 'line')}; cpmon report has all."
    return replace(result, table=result.table.slice(0, most), notes=(note, *result.notes))


def listing(result: ReportResult, docs: dict[str, str], links: Links = NO_LINKS) -> Listing:
    """Convert a report to a table; `docs`: column of the reduction -> documentation."""
    report, types = result.report, pa.types
    first, last = (page_clock(time, result.zone) for time in (result.starts, result.ends))
    intervals = counted(result.intervals, "interval")
    covers = ", ".join([f"{first} to {last} {result.zone.key}", intervals, *result.restrictions])
    heads = []
    for column in report.columns:
        kind = result.table.schema.field(column.name).type
        is_text = types.is_string(kind) or types.is_timestamp(kind) or types.is_boolean(kind)
        parts = tuple(column.label.replace("-|", "").split("|"))
        heads.append(Head(parts, column.unit, docs.get(column.name, ""), is_text))
    columns = [_linked(result, column, _cells(result, column), links) for column in report.columns]
    below = [
        (Cell(name), *(_cell(result, c, values.get(c.name)) for c in report.columns[1:]))
        for name, values in result.summaries
    ]
    rows = tuple(zip(*columns, strict=True))
    return Listing(
        report.name, report.title, covers, tuple(heads), rows, tuple(below), result.notes
    )


def _linked(
    result: ReportResult, column: ReportColumn, cells: list[Cell], links: Links
) -> list[Cell]:
    """The cells of a column, with links where they name an object that has a page."""
    follows = result.report.follows
    values = result.table.column(column.name).to_pylist()
    followed = [option for option, name in follows.items() if name == column.name]
    if followed or column.name in USER_COLUMNS:
        kind = followed[0] if followed else "user"
        addresses: Iterable[str] = (links.get((kind, value), "") for value in values)
    elif column.name in LOG_COLUMNS:
        addresses = named_in_log(values, links)
    else:
        return cells
    return [replace(cell, href=href) for cell, href in zip(cells, addresses, strict=True)]


def _cells(result: ReportResult, column: ReportColumn) -> list[Cell]:
    values = result.table.column(column.name)
    if not pa.types.is_string(values.type):
        texts = column_texts(column, values, result.zone)
        if pa.types.is_timestamp(values.type):
            texts = pc.replace_substring_regex(texts, REPEATED, SPELLED)
            return [Cell(text) for text in texts.to_pylist()]
        if column.base == HEX or pc.all(pc.match_substring_regex(texts, _PLAIN)).as_py():
            return [Cell(text) for text in texts.to_pylist()]
    return [_cell(result, column, value) for value in values.to_pylist()]


def _cell(result: ReportResult, column: ReportColumn, value: object) -> Cell:
    text = cell_text(column, value, result.zone)
    if isinstance(value, int | float) and column.base != HEX and not _NUMBER.match(text):
        return Cell(text, f"{value * column.scale:.12g}" if text else "")
    return Cell(text)


MOST_POINTS = 400
"""Maximum number of points of a series; charts have no pixels for more."""
MOST_DETAIL = 1_500
"""Maximum number of points of a series for readers who zoom: a day of minutes."""
STEPS = tuple(
    timedelta(minutes=m) for m in (1, 2, 5, 10, 15, 30, 60, 180, 360, 720, 1440, 7 * 1440)
)
"""Line lengths for aggregated reports, aligned to the hour."""


@dataclass(frozen=True, slots=True)
class Window:
    """A system and a time span, that of a run if there is one; UTC, None for no bound.

    `first`, `last`: begin and end of its intervals, UTC. `day`: one of several of a system
    (`by_day`).
    """

    system: str
    run_id: str | None
    since: datetime | None
    until: datetime | None
    intervals: int
    first: datetime
    last: datetime
    attributes: Mapping[str, str] = field(default_factory=dict)
    day: str = ""

    @property
    def title(self) -> str:
        """The title of the page."""
        if self.run_id:
            return f"Run {self.run_id}"
        return f"System {self.system}, {self.day}" if self.day else f"System {self.system}"

    @property
    def span(self) -> Span:
        """Its rows in a reduction."""
        return Span(self.system, self.run_id, self.since, self.until)

    @property
    def selection(self) -> dict[str, Any]:
        """The window as keyword arguments of a report or of exceptions."""
        return {"run": self.run_id, "system": self.system, "since": self.since, "until": self.until}

    def step(self, most: int = MOST_POINTS) -> timedelta | None:
        """The shortest line length that gives a series at most `most` points; None: intervals."""
        if self.intervals <= most:
            return None
        length = self.last - self.first
        return next((step for step in STEPS if length <= step * most), STEPS[-1])


def windows(
    con: duckdb.DuckDBPyConnection,
    run: str | None = None,
    system: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    *,
    systems: bool = False,
) -> list[Window]:
    """The runs in a span, by system and time, and the systems without runs in it; or all `systems`.

    `since` and `until` limit each window, UTC if without zone. Empty windows are left out.

    Raises:
        NothingToReportError: no measured interval is in that span.
        CpmonError: no such run or system.
    """
    point(con, ALL)  # a report before may have left the connection at another span
    runs = _names(con, "SELECT DISTINCT run_id FROM meta.run ORDER BY run_id")
    if run is not None and run not in runs:
        raise unknown("run", run, runs)
    names = _names(con, "SELECT DISTINCT system FROM meta.interval ORDER BY system")
    if system is not None and system not in names:
        raise unknown("system", system, names)
    bounds = utc(since), utc(until)
    rows = _rows(con, "windows.sql", *bounds, run, run, system, system, systems)
    page_windows = [Window(**row | {"attributes": dict(row["attributes"] or [])}) for row in rows]
    if not page_windows:
        raise NothingToReportError(
            "no measured interval is in that span",
            code="span-without-intervals",
            found=", ".join(names) or "no system in the store",
            effect="there is nothing to show; a first sample alone has no rates",
            remedy="ask for another span, or ingest a dump first",
        )
    return page_windows


def by_day(con: duckdb.DuckDBPyConnection, window: Window, zone: ZoneInfo) -> list[Window]:
    """The days of a system without runs; a run, or at most 24 hours, stay one window."""
    if window.run_id or window.last - window.first <= DAY + GRACE:
        return [window]
    days = local_days(window.first, window.last, zone)
    bounds = [day_bounds(day, day, zone) for day in days]
    since, until = ([utc(bound) for bound in side] for side in zip(*bounds, strict=True))
    span = window.system, window.since, window.until
    rows = _rows(con, "days.sql", [*map(str, days)], since, until, *span)
    return [replace(window, **row) for row in rows]


def local_days(first: datetime, last: datetime, zone: ZoneInfo) -> list[date]:
    """The days of the intervals from `first` to `last`, UTC without zone."""
    times = (first, max(first, last - INSIDE))
    begin, end = (time.replace(tzinfo=UTC).astimezone(zone).date() for time in times)
    return [date.fromordinal(n) for n in range(begin.toordinal(), end.toordinal() + 1)]


def _names(con: duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    return [str(name) for (name,) in con.execute(sql).fetchall()]


def plain_name(text: str) -> str:
    """Replaces characters that are unsafe in file names."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "page"


def unique_files(names: Iterable[str]) -> list[str]:
    """A file for each name, different also where a file system ignores case."""
    chosen: dict[str, str] = {}  # in lower case -> as it is
    for name in names:
        candidates = (f"{name}-{n}.html" if n > 1 else f"{name}.html" for n in itertools.count(1))
        file = next(file for file in candidates if file.lower() not in chosen)
        chosen[file.lower()] = file
    return list(chosen.values())


def file_names(page_windows: list[Window]) -> list[str]:
    """A unique file name for each window, derived from its run or system."""
    names = []
    for window in page_windows:
        plain = plain_name("-".join(filter(None, [window.run_id or window.system, window.day])))
        names.append(f"{'run' if window.run_id else 'system'}-{plain}")
    return unique_files(names)
