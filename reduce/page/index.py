"""The index of pages: systems, days, hours, runs, reports, objects and last exceptions.

An index holds what it shows as data too: its search reads it, and an index above reads those of
the folders below it (`merged`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import msgspec
from markupsafe import escape

from ...core.errors import NothingToReportError
from ...render.printing import Format, show
from ...store.connection import point
from ...store.sql.scope import ALL, Scope
from ..metrics.metric import TIME
from ..metrics.report_set import Lines, reports
from ..reports.report import report
from .chart import Points, charts, runs_points
from .content import Content, Window, local_days
from .episodes import time_fragment

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
HOURLY = "SYSTEM_SUMMARY_BY_TIME"
"""The report whose `total_util` shows how busy an hour was."""
HOUR = timedelta(hours=1)
NEWEST = 20
"""Maximum number of exceptions of a system."""
MOST_PAGES = 6
"""Maximum number of pages that a report is linked to; the search finds it on all."""
_COMPARISONS = re.compile(rb'(<ul id="comparisons"[^>]*>)(.*?)(</ul>)', re.DOTALL)
_DATA = re.compile(rb'<script type="application/json" id="index-data">(.*?)</script>', re.DOTALL)


class Exceeded(msgspec.Struct, frozen=True):
    """An exception in the index. `href` leads to its time on its page. Times are UTC."""

    severity: str
    title: str
    object: str
    first: datetime
    last: datetime
    worst: str
    href: str


class IndexedPage(msgspec.Struct, frozen=True):
    """A page in the index.

    Attributes:
        run: empty for a page of a system.
        days: the days that it covers, in its zone.
        first, last: begin and end of its intervals, UTC without zone.
        figures: texts of MEASURES. reports: those that have lines.
        objects: titles and addresses of the pages of its objects.
    """

    system: str
    run: str
    title: str
    href: str
    zone: str
    days: tuple[str, ...]
    first: datetime
    last: datetime
    intervals: int
    level: str = ""
    figures: tuple[str, ...] = ("",) * len(MEASURES)
    reports: tuple[str, ...] = ()
    objects: tuple[tuple[str, str], ...] = ()
    exceptions: tuple[Exceeded, ...] = ()


class Index(msgspec.Struct, frozen=True):
    """What an index shows; `titles`: report -> its title.

    `hours`: system -> end of each measured hour, UTC, and its processor utilization in percent.
    """

    pages: tuple[IndexedPage, ...]
    hours: dict[str, dict[datetime, float]]
    titles: dict[str, str]


def indexed(
    window: Window,
    href: str,
    zone: ZoneInfo,
    content: Content | None = None,
    objects: Iterable[tuple[str, str]] = (),
) -> IndexedPage:
    """A page as the index shows it; without content it has all reports and no exceptions.

    `objects`: titles and addresses of the pages of its objects.
    """
    days = [str(day) for day in local_days(window.first, window.last, zone)]
    shown = "" if window.run_id or window.day else f", {' to '.join(sorted({days[0], days[-1]}))}"
    names, exceptions = list(reports()), list[Exceeded]()
    if content:
        listings = [each for group in content.groups for each in group.listings]
        names = [each.name for each in listings if each.rows]
        for row in content.episodes:
            if row["at"]:  # it has a time on the page
                worst = "" if row["value"] is None else f"{row['value']:.1f} {row['unit'] or ''}"
                exceptions.append(
                    Exceeded(
                        row["severity"],
                        row["title"],
                        row["object"] or "",
                        row["first_interval"],
                        row["last_interval"],
                        worst.strip(),
                        href + row["at"],
                    )
                )
    return IndexedPage(
        window.system,
        window.run_id or "",
        window.title + shown,
        href,
        zone.key,
        tuple(days),
        window.first,
        window.last,
        window.intervals,
        window.attributes.get("cp_level", ""),
        reports=tuple(names),
        objects=tuple(objects),
        exceptions=tuple(_newest(exceptions)),
    )


def read_index(con: duckdb.DuckDBPyConnection, pages: Sequence[IndexedPage]) -> Index:
    """The index of pages, with the figures of their runs and the hours of their systems."""
    figures = _figures(con, {page.system for page in pages if page.run})
    shown = [
        msgspec.structs.replace(page, figures=figures.get((page.system, page.run), page.figures))
        for page in pages
    ]
    hours = {}
    for system, same in groupby(pages, lambda page: page.system):
        mine = list(same)
        first, last = min(page.first for page in mine), max(page.last for page in mine)
        hours[system] = _hours(con, system, first, last, mine[0].zone)
    titles = {name: str(reports()[name].title) for page in pages for name in page.reports}
    return Index(tuple(shown), hours, titles)


def merged(below: Mapping[str, Index]) -> Index:
    """One index over those of several folders, by their addresses with a slash at the end."""
    pages, hours, titles = [], dict[str, dict[datetime, float]](), dict[str, str]()
    for folder, index in below.items():
        titles |= index.titles
        pages += [_moved(page, folder) for page in index.pages]
        for system, of_system in index.hours.items():
            hours[system] = hours.get(system, {}) | of_system
    pages.sort(key=lambda page: (page.system, page.first, page.run))
    shown = {
        one
        for _, same in groupby(pages, lambda page: page.system)
        for one in _newest(one for page in same for one in page.exceptions)
    }
    for place, page in enumerate(pages):
        exceptions = tuple(one for one in page.exceptions if one in shown)
        pages[place] = msgspec.structs.replace(page, exceptions=exceptions)
    return Index(tuple(pages), hours, titles)


def load_index(page: bytes) -> Index | None:
    """The data of an index; None if the page is none or was written by an earlier version."""
    found = _DATA.search(page)
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(found[1], type=Index) if found else None
    return None


def comparisons_of(page: bytes) -> str:
    """The links of an index to pages of comparisons, as markup; empty without any."""
    found = _COMPARISONS.search(page)
    return found[2].decode() if found else ""


def with_comparison(page: bytes, title: str, href: str) -> bytes:
    """An index that links a page of a comparison."""
    link = f'<li><a href="{escape(href)}">{escape(title)}</a></li>'
    if link in comparisons_of(page):
        return page
    return _COMPARISONS.sub(lambda m: m[1] + m[2] + link.encode() + m[3], page, count=1)


def metric_address(index: Index, run: str, metric: str) -> str:
    """The address of a column of run_summary on the page of a run, or of the page; may be empty."""
    href = next((page.href for page in index.pages if page.run == run), "")
    place = _place(metric) if metric else ""
    return href + place if href and (place or not metric) else ""


@cache
def _place(metric: str) -> str:
    """The fragment of the chart that draws a metric over time, or else of its table."""
    for chart in charts():
        if metric in [series.column for series in chart.series] and not chart.top:
            return f"#c-{chart.name}"
    for each in reports().values():
        if metric in [column.name for column in each.columns] and each.lines is Lines.TIME:
            return f"#r-{each.name}"
    return ""


@dataclass(frozen=True, slots=True)
class Hour:
    """A cell of the hours of a day: processor utilization in percent, None if not measured.

    `href`: of the page at that hour, or empty. `is_skipped`: clocks were set forward over it.
    """

    load: float | None
    href: str = ""
    is_skipped: bool = False


@dataclass(frozen=True, slots=True)
class System:
    """The pages of a system.

    Attributes:
        runs: the points of the chart that compares its runs; None for a single run.
        heads: headings of the hours; an hour that clocks are set back over is there twice.
        days: day -> its hours.
        exceptions: the newest. reports: name and title -> the newest pages that have it.
    """

    system: str
    zone: ZoneInfo
    pages: Sequence[IndexedPage]
    runs: Points | None = None
    heads: Sequence[str] = ()
    days: Mapping[str, Sequence[Hour]] = field(default_factory=dict)
    exceptions: Sequence[Exceeded] = ()
    reports: Mapping[tuple[str, str], Sequence[IndexedPage]] = field(default_factory=dict)


def read_systems(con: duckdb.DuckDBPyConnection, index: Index) -> list[System]:
    """The parts of the page of an index."""
    systems = []
    for system, same in groupby(index.pages, lambda page: page.system):
        pages = list(same)
        zone = ZoneInfo(pages[0].zone)
        runs = list(dict.fromkeys(page.run for page in pages if page.run))
        points = None
        if len(runs) > 1:
            point(con, Scope(system, None, None))
            points = runs_points(con, runs)
        heads, days = hour_cells(index.hours.get(system, {}), pages, zone)
        exceptions = _newest(one for page in pages for one in page.exceptions)
        newest = sorted(pages, key=lambda page: page.last, reverse=True)
        having = {
            (name, title): [page for page in newest if name in page.reports][:MOST_PAGES]
            for name, title in index.titles.items()
        }
        having = {report: some for report, some in having.items() if some}
        systems.append(System(system, zone, pages, points, heads, days, exceptions, having))
    return systems


def hour_cells(
    hours: Mapping[datetime, float], pages: Sequence[IndexedPage], zone: ZoneInfo
) -> tuple[list[str], dict[str, list[Hour]]]:
    """Headings of the hours of days of 23, 24 or 25 hours, and day -> its cells.

    `hours`: end, UTC without zone -> percent. Cells link the pages that cover the hour.
    """
    cells: dict[str, dict[tuple[int, int], Hour]] = {}
    for end, load in sorted(hours.items()):
        begin = (end - HOUR).replace(tzinfo=UTC).astimezone(zone)
        of_day = cells.setdefault(f"{begin:%Y-%m-%d}", {})
        of_day[begin.hour, begin.fold] = Hour(load, _hour_href(end - HOUR, end, pages))
    again = {key for of_day in cells.values() for key in of_day if key[1]}
    keys = sorted({(hour, 0) for hour in range(24)} | again)
    heads = [f"{hour:02}{' again' if fold else ''}" for hour, fold in keys]
    days = {
        day: [
            of_day.get(key) or Hour(None, is_skipped=_is_skipped(day, *key, zone)) for key in keys
        ]
        for day, of_day in cells.items()
    }
    return heads, days


def _hour_href(begin: datetime, end: datetime, pages: Sequence[IndexedPage]) -> str:
    """The address of an hour on the page that covers most of it, the shortest of several."""

    def covered(page: IndexedPage) -> timedelta:
        return min(end, page.last) - max(begin, page.first)

    covering = [page for page in pages if page.first < end and page.last > begin]
    if not covering:
        return ""
    page = min(covering, key=lambda page: (-covered(page), page.last - page.first))
    return page.href + time_fragment(max(begin, page.first), min(end, page.last))


def _is_skipped(day: str, hour: int, fold: int, zone: ZoneInfo) -> bool:
    """Whether no clock of the zone shows that hour of that day (again)."""
    local = datetime.fromisoformat(day).replace(hour=hour, fold=fold, tzinfo=zone)
    shown = local.astimezone(UTC).astimezone(zone)
    return (shown.hour, shown.fold) != (hour, fold)


def _newest(exceptions: Iterable[Exceeded]) -> list[Exceeded]:
    return sorted(exceptions, key=lambda one: one.last, reverse=True)[:NEWEST]


def _moved(page: IndexedPage, folder: str) -> IndexedPage:
    """A page as seen from above its folder."""
    return msgspec.structs.replace(
        page,
        href=folder + page.href,
        objects=tuple((title, folder + href) for title, href in page.objects),
        exceptions=tuple(
            msgspec.structs.replace(one, href=folder + one.href) for one in page.exceptions
        ),
    )


def _figures(
    con: duckdb.DuckDBPyConnection, systems: set[str]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Texts of MEASURES of each run of some systems."""
    if not systems:
        return {}
    # Reports of a page have left the connection at its span.
    point(con, Scope(min(systems), None, None) if len(systems) == 1 else ALL)
    columns = ", ".join(measure[0] for measure in MEASURES)
    rows = con.execute(
        f"SELECT system, run_id, {columns} FROM run_summary WHERE list_contains(?, system)",
        [sorted(systems)],
    ).fetchall()
    return {
        (system, run): tuple(
            show(value, Format(m[4]), scale=m[3]).text
            for value, m in zip(values, MEASURES, strict=True)
        )
        for system, run, *values in rows
    }


def _hours(
    con: duckdb.DuckDBPyConnection, system: str, first: datetime, last: datetime, zone: str
) -> dict[datetime, float]:
    """Processor utilization of each hour, in percent, from sums over processors."""
    with suppress(NothingToReportError):
        hourly = report(con, HOURLY, system=system, since=first, until=last, by=HOUR, zone=zone)
        lines: list[dict[str, Any]] = hourly.table.select([TIME, "total_util"]).to_pylist()
        loads = {line[TIME]: line["total_util"] for line in lines}
        return {end: round(100 * load, 2) for end, load in loads.items() if load is not None}
    return {}
