"""`cpmon reduce` and `cpmon ingest` by one process and by two."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

from cpmon.generate import load_scenario, write_run
from cpmon.store import Store
from cpmon.store.check import rebuild

from .copies import copy_dump, pieces
from .machine import MEGA
from .process import command
from .result import Bar, Row, Section

SCENARIO, RUN = "bank-day", "BANKDAY"
JOBS = ("1", "2")


def measure(folder: Path, intervals: int, days: int, repetitions: int) -> list[Section]:
    """One section; every command runs in a process of its own.

    Args:
        intervals: of each day. days: of the store that is reduced, and dumps that land.

    Raises:
        AssertionError: pieces differ.
    """
    place = folder / "jobs"
    shutil.rmtree(place, ignore_errors=True)
    dump = write_run(load_scenario(SCENARIO), RUN, place, intervals=intervals).dump
    dumps = [dump, *(place / f"{number}.mon" for number in range(1, days))]
    for number, copy in enumerate(dumps[1:], 1):
        seeded = write_run(
            load_scenario(SCENARIO), RUN, place / str(number), intervals=intervals, seed=number
        )
        seeded.dump.replace(copy)
    store = _days(place / "store", dump, days)
    found: dict[str, dict[str, bytes]] = {}
    times = {jobs: {"ingest, s": float("inf"), "reduce, s": float("inf")} for jobs in JOBS}
    for _ in range(repetitions):
        for jobs in JOBS:
            shutil.rmtree(place / "landed", ignore_errors=True)
            shutil.rmtree(store / "reduced", ignore_errors=True)
            landing = ("ingest", *map(str, dumps), "--store", str(place / "landed"))
            for name, words in (
                ("ingest, s", landing),
                ("reduce, s", ("reduce", "--store", str(store))),
            ):
                seconds = command(*words, "--jobs", jobs)[0]
                times[jobs][name] = min(times[jobs][name], seconds)
            found[jobs] = {n: of for n, of in pieces(Store(store)).items() if "=" in n}
    if found["1"] != found["2"]:
        raise AssertionError("pieces differ with the number of processes")
    size = dump.stat().st_size / MEGA
    shutil.rmtree(place)
    rows = tuple(Row(f"--jobs {jobs}", times[jobs]) for jobs in JOBS)
    one, two = (times[jobs]["reduce, s"] for jobs in JOBS)
    bars = (Bar("reduce --jobs 2 / --jobs 1", two / one, 1.0, at_least=False),)
    given = (
        f"{days} dumps of `{SCENARIO}` of {intervals} intervals, {size:,.0f} MB each; {days} days,"
        f" one landed and copied; each command in a process of its own; shortest of {repetitions};"
        " the rows of both are the same bytes"
    )
    return [Section("Several processes", given, rows, bars)]


def _days(place: Path, dump: Path, days: int) -> Path:
    """A store of so many days, one of them landed and the others copied."""
    command("ingest", str(dump), "--store", str(place))
    (folder,) = place.glob("records/*/*/*/*")
    copy_dump(folder, (timedelta(days=day) for day in range(1, days)))
    rebuild(Store(place))
    return place
