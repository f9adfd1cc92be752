"""Writes pages: a file for each run or day of a system, and `index.html`, which lists them.

A page is self-contained except for links to other pages, and the runtime of interactive charts
beside it: style, script and drawings are inline, and its content security policy forbids the
browser to fetch anything else.
"""

from __future__ import annotations

import os.path
import posixpath
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import msgspec

from ...config import Settings
from ...config.moments import find_zone
from ...core.errors import NothingToReportError
from ...core.grace_period import GRACE
from ...render.html import html_page
from ..reports.cells import page_clock
from .content import NO_LINKS, Window, by_day, file_names, read_content, windows
from .drawing import CONFIGURATION, drawn_runs
from .episodes import MOST_MARKS, Links
from .index import (
    MEASURES,
    Index,
    IndexedPage,
    System,
    comparisons_of,
    indexed,
    read_index,
    read_systems,
)
from .object_page import object_files, object_title, read_object, top_objects
from .runtime import BESIDE, FILE, Runtime, runtime, write_runtime

Write = Callable[[Path, bytes], None]


@dataclass(frozen=True, slots=True)
class Served:
    """What a page of a server has beside that of a file.

    Attributes:
        points: address of finer points of its charts, to which a span is added.
        explain: address that explains a span, which is added.
        files: query of the addresses of files, to which the name of a chart or report is added.
        whose: run or system, as parameters. span: its begin and end on the clocks of its zone.
        links: text and address of other times.
        changes: address of events of newer intervals. is_followed: they are drawn as they land.
    """

    points: str = ""
    explain: str = ""
    files: str = ""
    whose: Mapping[str, str] = field(default_factory=dict)
    span: tuple[str, str] = ("", "")
    links: Sequence[tuple[str, str]] = ()
    changes: str = ""
    is_followed: bool = False


NOT_SERVED = Served()


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
    above: str = "",
    single_file: bool = False,
) -> list[Path]:
    """Write a page for each run, and for each day of a system without runs, and the index.

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
        above: address of an index above that of the folder, which has the runtime of charts beside
            it; may be empty.
        single_file: put the runtime of interactive charts into each page, not beside the pages.

    Returns:
        The files, the index last; the runtime first, if it was not there.

    Raises:
        CpmonError: no such run or system, nothing to show, or a file cannot be written.
    """
    settings = settings or Settings()
    own, pages, written = objects or {}, list[IndexedPage](), list[Path]()
    page_windows = [
        day
        for window in windows(con, run, system, since, until)
        for day in by_day(con, window, find_zone(zone or settings.zone(window.system)))
    ]
    index = posixpath.dirname(above)
    charts = Runtime(text=runtime()) if single_file else Runtime(posixpath.join(index, FILE))
    if not single_file:
        written += write_runtime(Path(os.path.normpath(folder / index)), write)
    shown: set[tuple[str, Any]] = set()
    for window, name in zip(page_windows, file_names(page_windows), strict=True):
        hours = find_zone(zone or settings.zone(window.system))
        chosen = top_objects(con, window, top, settings) if top else []
        chosen = list(dict.fromkeys([*chosen, *own.items()]))
        page = folder / name
        of_objects, links = _write_objects(
            con, page, write, window, chosen, hours, settings, charts
        )
        content = read_content(con, window, hours, settings, links)
        write(page, rendered("page.html", content=content, zone=hours, runtime=charts))
        titles = [(object_title(kind, value), link) for (kind, value), link in links.items()]
        pages.append(indexed(window, name, hours, content, titles))
        written += [*of_objects, page]
        shown |= links.keys()
    for kind, value in own.items():
        if (kind, value) not in shown:
            raise NothingToReportError(f"no report has a line of {object_title(kind, value)}")
    written.append(file := folder / "index.html")
    kept = comparisons_of(file.read_bytes()) if file.is_file() else ""
    write(file, render_index(con, read_index(con, pages), above=above, comparisons=kept))
    return written


@dataclass(frozen=True, slots=True)
class IndexPart:
    """The data of some systems of an index, and what its page shows of them."""

    index: Index
    systems: Sequence[System]


def index_part(
    con: duckdb.DuckDBPyConnection,
    page_windows: Sequence[Window],
    links: Sequence[str],
    zone: ZoneInfo,
) -> IndexPart:
    """The part of pages at addresses, which are not read."""
    both = zip(page_windows, links, strict=True)
    index = read_index(con, [indexed(window, link, zone) for window, link in both])
    return IndexPart(index, read_systems(con, index))


def index_page(
    parts: Sequence[IndexPart], query: str = "", above: str = "", comparisons: str = ""
) -> bytes:
    """The index of parts, with the address of a page for SQL and of the index above, if any.

    `comparisons`: as of `comparisons_of`.
    """
    hours: dict[str, dict[datetime, float]] = {}
    titles: dict[str, str] = {}
    for part in parts:
        hours |= part.index.hours
        titles |= part.index.titles
    index = Index(tuple(page for part in parts for page in part.index.pages), hours, titles)
    systems = [system for part in parts for system in part.systems]
    figures = [
        drawn_runs(system.runs, f"runs-{number}") if system.runs else ""
        for number, system in enumerate(systems)
    ]
    return rendered(
        "index.html",
        measures=MEASURES,
        systems=systems,
        figures=figures,
        data=msgspec.to_builtins(index, str_keys=True, enc_hook=str),
        query=query,
        above=above,
        comparisons=comparisons,
    )


def render_index(
    con: duckdb.DuckDBPyConnection, index: Index, above: str = "", comparisons: str = ""
) -> bytes:
    """The page of an index; `above` and `comparisons` are those of `index_page`."""
    part = IndexPart(index, read_systems(con, index))
    return index_page([part], above=above, comparisons=comparisons)


def object_page(  # noqa: PLR0913 - all that a page depends on
    con: duckdb.DuckDBPyConnection,
    window: Window,
    kind: str,
    value: Any,
    zone: ZoneInfo,
    settings: Settings,
    trail: Sequence[tuple[str, str]],
    links: Links = NO_LINKS,
    *,
    charts: Runtime = BESIDE,
    served: Served | None = None,
) -> bytes:
    """The page of any object of a window; `read_object` describes the arguments and the errors.

    `trail`: text and address of the pages above it, the index first.
    """
    content = read_object(con, window, kind, value, zone, settings, links)
    return rendered(
        "object.html",
        content=content,
        zone=zone,
        trail=trail,
        runtime=charts,
        served=served or NOT_SERVED,
    )


def _write_objects(
    con: duckdb.DuckDBPyConnection,
    page: Path,
    write: Write,
    window: Window,
    objects: Sequence[tuple[str, Any]],
    zone: ZoneInfo,
    settings: Settings,
    charts: Runtime,
) -> tuple[list[Path], Links]:
    """Write the pages of objects; returns the files, and addresses from the page of the window."""
    files = object_files(objects)
    trail = [("All pages", "../index.html"), (window.title, f"../{page.name}")]
    written: dict[tuple[str, Any], Path] = {}
    below = charts if charts.text else Runtime(f"../{charts.address}")
    for (kind, value), name in files.items():
        with suppress(NothingToReportError):
            data = object_page(con, window, kind, value, zone, settings, trail, charts=below)
            written[kind, value] = page.with_suffix("") / name
            write(written[kind, value], data)
    links = {each: f"{file.parent.name}/{file.name}" for each, file in written.items()}
    return list(written.values()), links


def rendered(template: str, **values: Any) -> bytes:
    """Fills in a template of `templates/`; texts are escaped."""
    place = f"templates/{template}"
    common: dict[str, Any] = {
        "clock": page_clock,
        "configuration": CONFIGURATION,
        "runtime": BESIDE,
        "most_marks": MOST_MARKS,
        "served": NOT_SERVED,
        "second": GRACE,
    }
    return html_page(__package__, place, **(common | values))
