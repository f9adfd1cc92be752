"""Where a reader goes from a page of the server: other times, finer points, files, explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import duckdb

from ..core.grace_period import INSIDE, day_bounds
from ..reduce.page.content import Window
from ..reduce.page.page import Served
from ..reduce.reports.cells import utc
from ..store.connection import point
from ..store.sql.scope import ALL
from .addresses import SPAN, WINDOW

HOUR = timedelta(hours=1)


def served(
    con: duckdb.DuckDBPyConnection,
    window: Window,
    chosen: Mapping[str, str],
    zone: ZoneInfo,
    version: str,
) -> Served:
    """What the page of a window has at the server; `version` is the state that it shows."""
    before, after, newest = _neighbours(con, window)
    listens = after is None and not window.run_id
    whose = {name: chosen[name] for name in ("run", "system") if name in chosen}
    same = urlencode({name: chosen[name] for name in WINDOW if name in chosen})
    return Served(
        points=f"points?{same}",
        explain=f"explain?{urlencode(whose)}",
        files=same,
        whose=whose,
        changes=f"changes?{urlencode({**whose, 'known': version})}" if listens else "",
        links=[*_links(window, chosen, zone, before, after, newest)],
        span=clocks(window, zone),
    )


def clocks(window: Window, zone: ZoneInfo) -> tuple[str, str]:
    """Begin and end of a window as a form shows them: on the clocks of a zone, to the minute."""
    first, last = (_local(time, zone) for time in (window.first, window.last))
    return f"{first:%Y-%m-%dT%H:%M}", f"{last:%Y-%m-%dT%H:%M}"


def _local(time: datetime, zone: ZoneInfo) -> datetime:
    return time.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)


def _neighbours(
    con: duckdb.DuckDBPyConnection, window: Window
) -> tuple[datetime | None, datetime | None, datetime]:
    """The last interval before a window, the first after it, and the newest of its system."""
    point(con, ALL)
    ((before, after, newest),) = con.execute(
        "SELECT max(interval_end) FILTER (WHERE interval_end <= $first),"
        " min(interval_end) FILTER (WHERE interval_end > $last), max(interval_end)"
        " FROM meta.interval WHERE system = $system",
        {"first": window.first, "last": window.last, "system": window.system},
    ).fetchall()
    return before, after, newest


def _links(
    window: Window,
    chosen: Mapping[str, str],
    zone: ZoneInfo,
    before: datetime | None,
    after: datetime | None,
    newest: datetime,
) -> Iterator[tuple[str, str]]:
    """The day before and after on which something was measured, the last hour, and all."""
    for text, end in (("◂ previous day", before), ("next day ▸", after)):
        if end is not None:
            day = _local(end - INSIDE, zone).date()
            bounds = dict(zip(SPAN, map(utc, day_bounds(day, day, zone)), strict=True))
            yield text, _page(window, bounds)
    yield "last hour", _page(window, {"since": newest - HOUR})
    if any(name in chosen for name in SPAN):
        yield "whole span", f"page?{urlencode({k: v for k, v in chosen.items() if k not in SPAN})}"
    yield "chart of metrics", f"chart?{urlencode({'system': window.system, **_bounds(chosen)})}"


def _bounds(chosen: Mapping[str, str]) -> dict[str, str]:
    return {name: chosen[name] for name in SPAN if name in chosen}


def _page(window: Window, bounds: Mapping[str, datetime | None]) -> str:
    times = {name: time.isoformat() for name, time in bounds.items() if time}
    return f"page?{urlencode({'system': window.system, **times})}"
