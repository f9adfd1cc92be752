"""Writes pages: a file for each run or system, and `index.html`, which lists them.

A page is self-contained except for links to other pages: style, script and drawings are inline,
and its content security policy forbids the browser to fetch anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from ...config import Settings
from ...config.moments import find_zone
from ...core.text import length_of_time
from ...render.html import html_page
from ...render.printing import Format, show
from ..reports.cells import clock
from .content import Window, file_names, read_content, windows
from .drawing import runs_figure

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
    settings: Settings | None = None,
) -> list[Path]:
    """Write a page for each run, and for each system without runs in the span, and the index.

    Args:
        con: a connection on which the reductions are views.
        folder: output folder of the pages.
        write: writes a file atomically.
        run, system: limit to one run or system.
        since, until: limit every window, UTC without zone.
        zone: time zone of the printed times; by default from the settings, which may have one for
            each system.

    Returns:
        The files, the index last.

    Raises:
        CpmonError: no such run or system, nothing to show, or a file cannot be written.
    """
    settings = settings or Settings()
    page_windows = windows(con, run, system, since, until)
    names = file_names(page_windows)
    written = []
    for window, name in zip(page_windows, names, strict=True):
        hours = find_zone(zone or settings.zone(window.system))
        content = read_content(con, window, hours, settings)
        written.append(folder / name)
        write(written[-1], rendered("page.html", content=content, zone=hours))
    hours = find_zone(zone or settings.timezone)
    lines = read_lines(con, page_windows, names)
    written.append(folder / "index.html")
    write(
        written[-1],
        rendered("index.html", measures=MEASURES, groups=_systems(con, lines), zone=hours),
    )
    return written


@dataclass(frozen=True, slots=True)
class _System:
    """The pages of a system, and the figure that compares its runs; empty for a single run."""

    system: str
    lines: Sequence[Line]
    figure: str


def _systems(con: duckdb.DuckDBPyConnection, lines: Sequence[Line]) -> list[_System]:
    systems = []
    for number, (system, same) in enumerate(groupby(lines, lambda line: line.window.system)):
        mine = list(same)
        runs = [line.window.run_id for line in mine if line.window.run_id]
        figure = runs_figure(con, runs, f"runs-{number}") if len(runs) > 1 else ""
        systems.append(_System(system, mine, figure))
    return systems


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
