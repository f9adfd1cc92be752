"""What a question about one day costs while a store gets old: dumps of a day, then of years."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

from cpmon.cli.main import Status
from cpmon.generate import load_scenario, write_run
from cpmon.reduce.reductions.reductions import tables_of
from cpmon.reduce.rules.rule import Purpose, load_rules
from cpmon.store import Store, connect
from cpmon.store.check import rebuild

from .copies import copy_dump
from .process import command
from .result import Bar, Row, Section

SCENARIO, RUN = "small-lab", "LAB"
DAY, YEARS = timedelta(days=1), timedelta(days=3 * 365)
"""What the dumps of the young and of the old store cover."""
DUMPS = 10_000
PACE = YEARS / DUMPS
"""From one dump to the next."""
MOST = 1.2
"""So many times what it costs there a question may cost."""
SECONDS = {"select 1": 0.25, "report": 0.35}
"""Processor time that a question may cost, in either store."""
OVER_LONG = {
    "a month": (("--since", "{since}", "--until", "{until}"), 0.8),
    "--by 1w, all days": (("--by", "1w"), 1.5),
}
"""Options of a report of kept days of the old store, and the processor time that it may cost."""
WHOLE = "store info"
"""No question about a day."""
REDUCTIONS = ("processors_by_time", "users_by_time")
MOMENT = "%Y-%m-%dT%H:%M"


def measure(folder: Path, dumps: int, repetitions: int) -> list[Section]:
    """One section: processor time of commands over one day, in stores of a day and of many dumps.

    Args:
        dumps: of the old store; as many a day as `DUMPS` in three years are.
    """
    place = folder / "ageing"
    shutil.rmtree(place, ignore_errors=True)
    dump = write_run(load_scenario(SCENARIO), RUN, place, intervals=2).dump
    young, old = (_store(place / f"{count}", dump, count) for count in (DAY // PACE, dumps))
    costs = {
        name: [min(_cpu(words, store) for _ in range(repetitions)) for store in (young, old)]
        for name, words in _questions(young).items()
    }
    costs["reduce the next dump"] = [_reduce_next(store, repetitions) for store in (young, old)]
    rows = [Row(n, {"a day, s": c[0], f"{dumps:,} dumps, s": c[1]}) for n, c in costs.items()]
    bars = [
        Bar(f"{name}, old / young", cost[1] / cost[0], MOST, at_least=False)
        for name, cost in costs.items()
        if name != WHOLE
    ]
    bars += [
        Bar(f"{name}, s", max(costs[name]), most, at_least=False) for name, most in SECONDS.items()
    ]
    for name, cost in _long_reports(old, repetitions).items():
        rows.append(Row(f"report, {name}", {f"{dumps:,} dumps, s": cost}))
        bars.append(Bar(f"report, {name}, s", cost, OVER_LONG[name][1], at_least=False))
    shutil.rmtree(place)
    given = (
        f"`{SCENARIO}`, landed once, and copied {DAY // PACE} times a day: the old store is of "
        f"{dumps * PACE // DAY:,} days; processor time of commands, the least of {repetitions}; "
        f"reports and exceptions of kept results; `{WHOLE}` adds up the sizes of all files, and "
        "has no bar"
    )
    return [Section("A store that ages", given, tuple(rows), tuple(bars))]


def _store(place: Path, dump: Path, count: int) -> Path:
    """A reduced store with so many dumps."""
    command("ingest", str(dump), "--store", str(place))
    (folder,) = place.glob("records/*/*/*/*")
    copy_dump(folder, (number * PACE for number in range(1, count)), _read())
    rebuild(Store(place))
    command("reduce", *REDUCTIONS, "--jobs", str(os.cpu_count()), "--store", str(place))
    return place


def _read() -> frozenset[str]:
    """The tables that the questions, the reductions and all rules read."""
    own = (tables_of(name) for name in REDUCTIONS)
    return frozenset({"interval", "useact"}).union(
        *own, *(rule.tables for rule in load_rules(Purpose.EXCEPTIONS))
    )


def _reduce_next(store: Path, repetitions: int) -> float:
    """Processor time to reduce the day of another dump, the least of some."""
    dumps = Store(store).dumps()
    first = store / dumps[0].folder
    costs = []
    for number in range(len(dumps), len(dumps) + repetitions):
        copy_dump(first, [number * PACE], _read())
        rebuild(Store(store))
        costs.append(_cpu(("reduce", *REDUCTIONS), store))
    return min(costs)


def _questions(store: Path) -> dict[str, tuple[str, ...]]:
    """Commands about four hours of the first day."""
    begin = _first_interval(store)
    since, until = ((begin + timedelta(hours=hour)).strftime(MOMENT) for hour in (2, 6))
    rows = (
        f"SELECT count(*) FROM interval.useact WHERE interval_end BETWEEN '{since}' AND '{until}'"
    )
    span = ("--since", since, "--until", until)
    return {
        "select 1": ("query", "SELECT 1"),
        "interval.useact": ("query", rows),
        "report": ("report", "processors_by_time", *span),
        "exceptions": ("exceptions", *span),
        WHOLE: ("store", "info"),
    }


def _long_reports(store: Path, repetitions: int) -> dict[str, float]:
    """Processor time of reports over long spans of kept days, the least of some."""
    since = _first_interval(store)
    span = {
        "since": since.strftime(MOMENT),
        "until": (since + timedelta(days=30)).strftime(MOMENT),
    }
    return {
        name: min(
            _cpu(("report", "processors_by_time", *(o.format(**span) for o in options)), store)
            for _ in range(repetitions)
        )
        for name, (options, _) in OVER_LONG.items()
    }


def _first_interval(store: Path) -> datetime:
    """The end of the first interval of a store."""
    with connect(Store(store)) as connection:
        ((begin,),) = connection.sql("SELECT min(interval_end) FROM meta.interval").fetchall()
    assert isinstance(begin, datetime)
    return begin


def _cpu(words: tuple[str, ...], store: Path) -> float:
    """Processor time of a command in a process of its own.

    Raises:
        AssertionError: it ended with another status than done, or done with findings.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with store.with_suffix(".txt").open("wb") as answer:
        done = subprocess.run(
            [sys.executable, "-m", "cpmon", *words, "--store", str(store)],
            stdout=answer,
            stderr=answer,
            check=False,
        )
    if done.returncode not in (Status.DONE, Status.WARNINGS):
        raise AssertionError(f"cpmon {' '.join(words)} ended with {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
