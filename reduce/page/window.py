"""The window of a page: a run, or the intervals of a system without runs in the span."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

import duckdb

from ...core.errors import NothingToReportError, unknown
from ..reports.cells import utc
from ..reports.report_sql import Span

MOST_POINTS = 400
"""Maximum number of points of a series; charts have no pixels for more."""
STEPS = tuple(
    timedelta(minutes=m) for m in (1, 2, 5, 10, 15, 30, 60, 180, 360, 720, 1440, 7 * 1440)
)
"""Line lengths for aggregated reports, aligned to the hour."""

WINDOWS = (files(__package__) / "windows.sql").read_text(encoding="utf-8")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Window:
    """A system and a time span.

    Attributes:
        run_id: the run that defines the span, if any.
        since, until: UTC without zone; None means no bound.
        attributes: from the run file.
        intervals: number of measured intervals. first, last: begin and end of their coverage, UTC.
    """

    system: str
    run_id: str | None
    since: datetime | None
    until: datetime | None
    intervals: int
    first: datetime
    last: datetime
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"Run {self.run_id}" if self.run_id else f"System {self.system}"

    @property
    def span(self) -> Span:
        """Its rows in a reduction."""
        return Span(self.system, self.run_id, self.since, self.until)

    @property
    def selection(self) -> dict[str, Any]:
        """The window as keyword arguments of a report or of exceptions."""
        names = {"run": self.run_id, "system": self.system}
        return {**names, "since": self.since, "until": self.until}

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
) -> list[Window]:
    """The runs in a span, by system and time, and the systems without runs in it.

    Args:
        con: a connection on which the reductions are views.
        run, system: limit to one run or system.
        since, until: limit each window; UTC if without zone. Empty windows are left out.

    Raises:
        NothingToReportError: no measured interval is in that span.
        CpmonError: no such run or system.
    """
    runs = _names(con, "SELECT DISTINCT run_id FROM meta.run ORDER BY run_id")
    if run is not None and run not in runs:
        raise unknown("run", run, runs)
    systems = _names(con, "SELECT DISTINCT system FROM meta.interval ORDER BY system")
    if system is not None and system not in systems:
        raise unknown("system", system, systems)
    parameters = [utc(since), utc(until), run, run, system, system]
    rows = con.sql(WINDOWS, params=parameters).to_arrow_table().to_pylist()
    page_windows = [Window(**row | {"attributes": dict(row["attributes"] or [])}) for row in rows]
    if not page_windows:
        raise NothingToReportError(
            "no measured interval is in that span",
            code="span-without-intervals",
            found=", ".join(systems) or "no system in the store",
            effect="there is nothing to show; a first sample alone has no rates",
            remedy="ask for another span, or ingest a dump first",
        )
    return page_windows


def _names(con: duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    return [str(name) for (name,) in con.execute(sql).fetchall()]


def plain_name(text: str) -> str:
    """Replaces characters that are unsafe in file names."""
    return _UNSAFE.sub("-", text).strip("-.") or "page"


def file_names(page_windows: list[Window]) -> list[str]:
    """A unique file name for each window, derived from its run or system."""
    names: list[str] = []
    for window in page_windows:
        plain = plain_name(window.run_id or window.system)
        base = f"{'run' if window.run_id else 'system'}-{plain}"
        candidates = (f"{base}-{n}" if n > 1 else base for n in itertools.count(1))
        taken = {name.lower() for name in names}  # some file systems are case-insensitive
        names.append(next(name for name in candidates if name.lower() not in taken))
    return [f"{name}.html" for name in names]
