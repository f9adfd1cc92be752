"""Writes pages: a file for each run or system, and `index.html`, which lists them.

A page is self-contained except for links to other pages: style, script and drawings are inline,
and its content security policy forbids the browser to fetch anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb

from ...config import Settings
from ...config.moments import find_zone
from ...core.errors import NothingToReportError
from ...core.text import length_of_time
from ...render.html import html_page
from ...render.printing import Format, show
from ..metrics.metric import TIME
from ..reports.cells import clock
from ..reports.report import report
from .content import NO_LINKS, Window, file_names, read_content, windows
from .drawing import runs_figure
from .episodes import Links
from .object_page import object_files, object_title, read_object, top_objects

Write = Callable[[Path, bytes], None]

MEASURES = (
    ("total_util", "Total util", "%", 100, 1),
    ("master_total_util", "Master util", "%", 100, 1),
    ("tv_ratio", "T/V ratio", "", 1, 2),
    ("pct_spin", "Spin time", "%", 100, 3),
    ("users_logged_on", "Users", "", 1, 0),
    ("dasd_page_rate", "DASD pages", "/s", 1, 0),
    ("xstor_page_rate", "Xstor pages", "/s", 1, 0),
)
"""Column of `run_summary`, heading, unit, factor, decimals."""


@dataclass(frozen=True, slots=True)
class Line:
    """A page in the index: its window, its file, and the texts of MEASURES (empty if unknown)."""

    window: Window
    file: str
    figures: tuple[str, ...]


def write_pages(  # noqa: PLR0913 - each is an option of the command
    con: duckdb.DuckDBPyConnection,
    folder: Path,
    write: Write,
    *,
    run: str | None = None,
    system: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    zone: str | None = None,
    top: int = 0,
    objects: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
) -> list[Path]:
    """Write a page for each run, and for each system without runs in the span, and the index.

    The pages of objects stand in a folder beside the page of their window, named after it.

    Args:
        con: a connection on which the reductions are views.
        folder: output folder of the pages.
        write: writes a file atomically.
        run, system: limit to one run or system.
        since, until: limit every window, UTC without zone.
        zone: time zone of the printed times; by default from the settings, which may have one for
            each system.
        top: so many objects of each kind get pages, the greatest.
        objects: objects that get pages as well, as option and value.

    Returns:
        The files, the index last.

    Raises:
        CpmonError: no such run or system, nothing to show, or a file cannot be written.
    """
    settings = settings or Settings()
    page_windows = windows(con, run, system, since, until)
    names = file_names(page_windows)
    written: list[Path] = []
    found: set[tuple[str, Any]] = set()
    for window, name in zip(page_windows, names, strict=True):
        hours = find_zone(zone or settings.zone(window.system))
        chosen = top_objects(con, window, top, settings) if top else []
        chosen = list(dict.fromkeys([*chosen, *(objects or {}).items()]))
        with_pages, links = _write_objects(
            con, folder / name, write, window, chosen, hours, settings
        )
        written += with_pages
        found |= links.keys()
        content = read_content(con, window, hours, settings, links)
        written.append(folder / name)
        write(written[-1], rendered("page.html", content=content, zone=hours))
    for kind, value in (objects or {}).items():
        if (kind, value) not in found:
            raise NothingToReportError(f"no report has a line of {object_title(kind, value)}")
    written.append(folder / "index.html")
    hours = find_zone(zone or settings.timezone)
    write(written[-1], index_page(con, page_windows, names, hours))
    return written


def index_page(
    con: duckdb.DuckDBPyConnection,
    page_windows: Sequence[Window],
    links: Sequence[str],
    zone: ZoneInfo,
    query: str = "",
) -> bytes:
    """The page that lists the pages of windows.

    Args:
        links: file or relative address of each page.
        query: address of a page that answers SQL; may be empty.
    """
    groups = _systems(con, read_lines(con, page_windows, links), zone)
    return rendered("index.html", measures=MEASURES, groups=groups, zone=zone, query=query)


def object_page(
    con: duckdb.DuckDBPyConnection,
    window: Window,
    kind: str,
    value: Any,
    zone: ZoneInfo,
    settings: Settings,
    trail: Sequence[tuple[str, str]],
    links: Links = NO_LINKS,
) -> bytes:
    """The page of any object of a window; `read_object` describes the arguments and the errors.

    Args:
        trail: text and address of the pages above it, the index first.
    """
    content = read_object(con, window, kind, value, zone, settings, links)
    return rendered("object.html", content=content, zone=zone, trail=trail)


def _write_objects(
    con: duckdb.DuckDBPyConnection,
    page: Path,
    write: Write,
    window: Window,
    objects: Sequence[tuple[str, Any]],
    zone: ZoneInfo,
    settings: Settings,
) -> tuple[list[Path], Links]:
    """Write the pages of objects into the folder beside the page of their window.

    Returns:
        The files, and the addresses of the objects as seen from that page.
    """
    files = object_files(objects)
    trail = [("All pages", "../index.html"), (window.title, f"../{page.name}")]
    written: dict[tuple[str, Any], Path] = {}
    for (kind, value), name in files.items():
        with suppress(NothingToReportError):
            data = object_page(con, window, kind, value, zone, settings, trail)
            written[kind, value] = page.with_suffix("") / name
            write(written[kind, value], data)
    links = {each: f"{file.parent.name}/{file.name}" for each, file in written.items()}
    return list(written.values()), links


@dataclass(frozen=True, slots=True)
class _System:
    """The pages of a system.

    Attributes:
        figure: the chart that compares its runs; empty for a single run.
        days: day -> processor utilization of its 24 hours, in percent; None where not measured.
    """

    system: str
    lines: Sequence[Line]
    figure: str
    days: Mapping[str, Sequence[float | None]] = field(default_factory=dict)


def _systems(
    con: duckdb.DuckDBPyConnection, lines: Sequence[Line], zone: ZoneInfo
) -> list[_System]:
    systems = []
    for number, (system, same) in enumerate(groupby(lines, lambda line: line.window.system)):
        mine = list(same)
        runs = [line.window.run_id for line in mine if line.window.run_id]
        figure = runs_figure(con, runs, f"runs-{number}") if len(runs) > 1 else ""
        first = min(line.window.first for line in mine)
        last = max(line.window.last for line in mine)
        days = _days(con, system, first, last, zone)
        systems.append(_System(system, mine, figure, days))
    return systems


HOURS = 24
HOURLY = "SYSTEM_SUMMARY_BY_TIME"
"""The report whose `total_util` shows how busy an hour was."""


def _days(
    con: duckdb.DuckDBPyConnection, system: str, first: datetime, last: datetime, zone: ZoneInfo
) -> dict[str, list[float | None]]:
    """Processor utilization of each hour of each day, in percent, from sums over processors."""
    days: dict[str, list[float | None]] = {}
    with suppress(NothingToReportError):
        hour = timedelta(hours=1)
        hourly = report(con, HOURLY, system=system, since=first, until=last, by=hour, zone=zone.key)
        for line in hourly.table.select([TIME, "total_util"]).to_pylist():
            begin = line[TIME].replace(tzinfo=UTC).astimezone(zone) - timedelta(microseconds=1)
            hours = days.setdefault(f"{begin:%Y-%m-%d}", [None] * HOURS)
            if line["total_util"] is not None:
                hours[begin.hour] = 100 * line["total_util"]
    return days


def rendered(template: str, **values: Any) -> bytes:
    """Fills in a template of `templates/`; texts are escaped."""
    place = f"templates/{template}"
    return html_page(__package__, place, clock=clock, in_words=length_of_time, **values)


def read_lines(
    con: duckdb.DuckDBPyConnection, page_windows: Sequence[Window], names: Sequence[str]
) -> list[Line]:
    """The lines of the index in the order of the windows."""
    columns = ", ".join(measure[0] for measure in MEASURES)
    rows = con.execute(f"SELECT system, run_id, {columns} FROM run_summary").fetchall()
    values_of = {(system, run): values for system, run, *values in rows}
    lines = []
    for window, name in zip(page_windows, names, strict=True):
        values = values_of.get((window.system, window.run_id), [None] * len(MEASURES))
        both = zip(values, MEASURES, strict=True)
        texts = tuple(show(value, Format(m[4]), scale=m[3]).text for value, m in both)
        lines.append(Line(window, name, texts))
    return lines
