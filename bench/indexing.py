"""How long the index of a month of pages takes: from a store, and from the indexes of its days."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from cpmon.generate import load_scenario, write_run
from cpmon.reduce.page.content import by_day, file_names, windows
from cpmon.reduce.page.index import indexed, load_index, merged, read_index
from cpmon.reduce.page.page import index_page, index_part, render_index
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.check import rebuild
from cpmon.store.connection import Connection

from .copies import copy_dump
from .process import command
from .result import Bar, Row, Section
from .timing import best_seconds

SCENARIO, RUN = "small-lab", "LAB"
UTC = ZoneInfo("UTC")
OBJECTS = tuple((f"User LNX{n:03}", f"system/user-lnx{n:03}.html") for n in range(50))
"""Objects that have pages on each day: ten of each kind."""
SECONDS = 10.0
"""What the index of a month may take."""
REDUCTIONS = ("processors_by_time", "system_summary_by_time")


def measure(folder: Path, days: int, repetitions: int) -> list[Section]:
    """One section: the index of so many days of a system without runs.

    Raises:
        AssertionError: an index lacks a day.
    """
    place = folder / "indexing"
    shutil.rmtree(place, ignore_errors=True)
    store = _store(place, days)
    with connect(Store(store), reductions()) as connection:
        _write_days(connection, place / "pages")
        contestants: dict[str, Callable[[], bytes]] = {
            "from the store": lambda: _from_store(connection),
            "from the indexes of the days": lambda: _from_days(connection, place / "pages"),
        }
        found = [load_index(make()) for make in contestants.values()]
        assert all(index and len(index.pages) == days for index in found), found
        best = best_seconds(contestants, repetitions)
    shutil.rmtree(place)
    given = (
        f"{days} days of `{SCENARIO}`, landed once and copied, reduced; {len(OBJECTS)} objects "
        f"have pages on each day; best of {repetitions}"
    )
    rows = tuple(Row(name, {"s": seconds}) for name, seconds in best.items())
    bars = tuple(Bar(f"index {name}, s", s, SECONDS, at_least=False) for name, s in best.items())
    return [Section("The index of pages", given, rows, bars)]


def _store(place: Path, days: int) -> Path:
    """A reduced store of so many days, without its run."""
    dump = write_run(load_scenario(SCENARIO), RUN, place, intervals=10).dump
    (alone := place / "alone").mkdir()  # away from its run file
    store = place / "store"
    command("ingest", str(shutil.copy(dump, alone)), "--store", str(store))
    (landed,) = store.glob("records/*/*/*/*")
    copy_dump(landed, (timedelta(days=number) for number in range(1, days)))
    rebuild(Store(store))
    command("reduce", *REDUCTIONS, "--store", str(store))
    return store


def _write_days(con: Connection, folder: Path) -> None:
    """The index of each day in its folder, as a batch writes it."""
    [whole] = windows(con)
    for window in by_day(con, whole, UTC):
        below = folder / window.day
        page = indexed(window, "system.html", UTC, objects=OBJECTS)
        below.mkdir(parents=True)
        (below / "index.html").write_bytes(render_index(con, read_index(con, [page])))


def _from_store(con: Connection) -> bytes:
    [whole] = windows(con)
    days = by_day(con, whole, UTC)
    return index_page([index_part(con, days, file_names(days), UTC)])


def _from_days(con: Connection, folder: Path) -> bytes:
    indexes = {f"{p.parent.name}/": load_index(p.read_bytes()) for p in folder.glob("*/index.html")}
    return render_index(con, merged({name: index for name, index in indexes.items() if index}))
