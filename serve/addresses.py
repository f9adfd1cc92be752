"""Addresses of pages: all that a page depends on is in its address, so that it can be mailed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from zoneinfo import ZoneInfo

import duckdb
from starlette.datastructures import QueryParams

from ..config.moments import find_zone, parse_moment
from ..core.errors import CpmonError
from ..core.grace_period import GRACE
from ..reduce.page.content import Window, windows
from ..reduce.page.object_page import MAIN, can_be_followed
from ..store.connection import systems_of

CHART = ("metric", "against", *MAIN)
"""Parameters that select metrics, objects, and what they are held against."""
WINDOW = ("run", "system", "since", "until")
"""Parameters that select a window."""
OBJECT = (*WINDOW, "kind", "name")
"""Parameters that select an object in a window."""
SPAN = ("since", "until")
ZOOM = ("from", "to")
"""Parameters of the part of a window that charts show."""
BASES = {"device": 16, "cpu": 10}
"""Kind of object whose name is a number -> its base."""


def selection(given: QueryParams, names: tuple[str, ...]) -> dict[str, str]:
    """What an address selects; its times are absolute, so that a cached page stays right.

    A parameter that is given several times has its values with commas between; times are of the
    parameter `zone`, by default of UTC.

    Raises:
        CpmonError: a time or the zone cannot be read.
    """
    texts = {name: ",".join(filter(None, given.getlist(name))) for name in names}
    chosen = {name: text for name, text in texts.items() if text}
    zone, times = find_zone(given.get("zone") or "UTC"), (*SPAN, *ZOOM)
    return {name: _moment(text, zone) if name in times else text for name, text in chosen.items()}


def span(
    chosen: Mapping[str, str], names: tuple[str, str] = SPAN
) -> tuple[datetime | None, datetime | None]:
    """Begin and end of a selection, UTC without zone; None without a bound."""
    since, until = (
        datetime.fromisoformat(chosen[name]) if name in chosen else None for name in names
    )
    return since, until


def chosen_window(
    con: duckdb.DuckDBPyConnection,
    chosen: Mapping[str, str],
    since: datetime | None,
    until: datetime | None,
) -> Window:
    """The run or system of a selection in a span, UTC without zone; of a single system that one.

    Raises:
        CpmonError: none is named, it is unknown, or nothing was measured in that span.
    """
    run, system = chosen.get("run"), chosen.get("system")
    if not (run or system):
        names = systems_of(con, with_intervals=True)
        if len(names) != 1:
            raise CpmonError("an address of a page names a run or a system")
        (system,) = names
    found = windows(con, run, system, since, until, systems=run is None)
    return next(each for each in found if each.run_id == run)


def page_address(window: Window, chosen: Mapping[str, str]) -> str:
    """The relative address of the page of a window within the span of a selection."""
    return f"page?{urlencode(_of_window(window, chosen))}"


def selected(address: str) -> dict[str, str]:
    """What a relative address selects, as `selection` gives it when it is asked for."""
    return dict(parse_qsl(urlsplit(address).query))


def _of_window(window: Window, chosen: Mapping[str, str]) -> dict[str, str]:
    own = {"run": window.run_id} if window.run_id else {"system": window.system}
    bounds = {"since": window.since, "until": window.until} if window.day else {}
    of_day = {name: bound.isoformat() for name, bound in bounds.items() if bound}
    return {**own, **of_day, **{name: chosen[name] for name in SPAN if name in chosen}}


def chosen_object(chosen: Mapping[str, str]) -> tuple[str, Any]:
    """The object that a selection names, as option and value.

    Raises:
        CpmonError: it names none, or several by a pattern.
    """
    kind, name = chosen.get("kind", ""), chosen.get("name", "")
    value: Any = name
    if kind in BASES:
        is_number = name.isascii() and name.isalnum() and len(name) <= 8
        try:
            value = int(name, BASES[kind]) if is_number else None
        except ValueError:
            value = None
    if kind not in MAIN or not can_be_followed(kind, value):
        raise CpmonError(
            "an address of an object names its kind and one object",
            expected=f"kind: one of {', '.join(MAIN)}; name: as reports print it",
            found=f"kind={kind}, name={name}",
        )
    return kind, value


@dataclass(frozen=True)
class ObjectAddresses(Mapping[tuple[str, Any], str]):
    """Relative addresses of all objects of a window; each page is made when it is asked for.

    It holds any object that can be asked for. Iteration yields none, as they are not listed.
    """

    window: Window
    chosen: Mapping[str, str]

    def __getitem__(self, key: tuple[str, Any]) -> str:
        """The address of an object.

        Raises:
            KeyError: it has no page.
        """
        kind, value = key
        if kind not in MAIN or not can_be_followed(kind, value):
            raise KeyError(key)
        name = f"{value:04X}" if kind == "device" else str(value)
        named = {**_of_window(self.window, self.chosen), "kind": kind, "name": name}
        return f"object?{urlencode(named)}"

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _moment(text: str, zone: ZoneInfo) -> str:
    """A typed time as ISO text in UTC; an interval that ends late at a full minute is before it."""
    try:
        moment = parse_moment(text, zone, datetime.now(UTC)).astimezone(UTC)
        is_minute = not (moment.second or moment.microsecond)
        return (moment + GRACE * is_minute).replace(tzinfo=None).isoformat()
    except ValueError:
        raise CpmonError(
            "a time in the address cannot be read",
            expected="a time in UTC, such as 2026-01-31T14:00",
            found=text,
        ) from None
