"""Processor time of pages: of four hours in one file, and of a batch with a small dump."""

from __future__ import annotations

import shutil
from pathlib import Path

from cpmon.generate import load_scenario, write_run

from .machine import MEGA
from .process import command, processor_seconds
from .reducing import RUN, SCENARIO
from .result import Bar, Row, Section

SMALL, SMALL_RUN = "small-lab", "LAB"
BARS_S = {"report --html --single-file": 4.0, "batch run with reduce and pages": 8.0}
"""Processor time that a command may take."""
BATCH = """
[[inbox]]
folder = "{folder}/inbox"
settle = "0s"

[[output]]
pages = true
path = "{folder}/batch/{{date}}"
"""


def measure(folder: Path, intervals: int, repetitions: int) -> list[Section]:
    """One section; every command runs in a process of its own.

    Args:
        folder: where dumps, stores and pages are made, and deleted again.
        intervals: of the run whose pages are written in one file.
    """
    place = (folder / "paging").absolute()
    shutil.rmtree(place, ignore_errors=True)
    dump = write_run(load_scenario(SCENARIO), RUN, place, intervals=intervals).dump
    store, size = place / "store", dump.stat().st_size
    command("ingest", str(dump), "--store", str(store))
    command("reduce", "--store", str(store))
    words = ("report", "--html", "--single-file", "--store", str(store), "-o", f"{place}/pages")
    processor_seconds(*words)  # the first command of a version caches what depends on it alone
    small = write_run(load_scenario(SMALL), SMALL_RUN, place / "inbox").dump.stat().st_size
    config = place / "cpmon.toml"
    config.write_text(BATCH.format(folder=place), encoding="utf-8")
    costs = dict.fromkeys(BARS_S, float("inf"))
    for _ in range(repetitions):
        pages = processor_seconds(*words)
        shutil.rmtree(place / "landed", ignore_errors=True)
        batch = processor_seconds(
            "batch", "run", "--config", str(config), "--store", f"{place}/landed"
        )
        costs = {name: min(costs[name], s) for name, s in zip(costs, (pages, batch), strict=True)}
    assert [*place.glob("batch/*/run-*.html")], "the batch wrote no page"
    shutil.rmtree(place)
    given = (
        f"`{SCENARIO}` of {intervals:,} intervals, {size / MEGA:,.0f} MB, reduced; `{SMALL}`, "
        f"{small / MEGA:.1f} MB, by a batch; processor time, the least of {repetitions}"
    )
    rows = tuple(Row(name, {"s": seconds}) for name, seconds in costs.items())
    bars = tuple(Bar(f"{n}, s", costs[n], most, at_least=False) for n, most in BARS_S.items())
    return [Section("Pages", given, rows, bars)]
