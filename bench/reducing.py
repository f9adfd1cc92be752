"""`cpmon reduce` of a day against its ingest, every report afterwards, and many small days."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial
from math import inf
from pathlib import Path

from cpmon.generate import load_scenario, write_run
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report_names import find_report, report_names
from cpmon.store import Store, connect
from cpmon.store.check import rebuild

from .copies import copy_dump
from .machine import MEGA
from .process import command, whole_command
from .result import Bar, Row, Section
from .timing import Contestant, best_seconds

SCENARIO, RUN = "bank-day", "BANKDAY"
REDUCE_BAR = 2.0
"""Of the time that the dump took to land."""
MEMORY_BAR_MB = 1_000
REPORT_BAR = 0.125
"""Of the time that the dump took to land, in turns with the reports: half a second on a machine
that lands it in four, as that which the bar was set on. In seconds it would measure the machine,
and its neighbours."""
LIVE_BAR_S = 3.0
"""For a report on a day that was never reduced."""
LIVE = "SYSTEM_SUMMARY_BY_TIME"
SMALL, SMALL_RUN, SMALL_INTERVALS = "small-lab", "LAB", 30
DAYS_BAR = 3.0
"""For 24 small days, of the processor time of one."""
YEAR_BAR_S = 120.0
"""Processor time of a year of small days."""
EXPLAIN = "explain an interval"
EXPLAIN_BAR_S = 1.5


def measure(
    folder: Path, intervals: int, repetitions: int, names: Iterable[str] = ()
) -> list[Section]:
    """One section; every command runs in a process of its own.

    Args:
        folder: where the dump and the store are made, and deleted again.
        names: of the reports; all that have rows if none.

    Raises:
        AssertionError: a reduction has other rows kept than computed.
    """
    place = folder / f"{SCENARIO}-reduced"
    shutil.rmtree(place, ignore_errors=True)
    dump = write_run(load_scenario(SCENARIO), RUN, place, intervals=intervals).dump
    store, output = place / "store", place / "out.txt"
    ingest, reduce, asked = (float("inf"),) * 3
    peak = 0
    for _ in range(repetitions):
        shutil.rmtree(store, ignore_errors=True)
        ingest = min(ingest, command("ingest", str(dump), "--store", str(store))[0])
        asked = min(asked, *best_seconds({LIVE: _report(store, LIVE, output)}, 1).values())
        live = _rows(store)
        seconds, memory = command("reduce", "--store", str(store))
        reduce, peak = min(reduce, seconds), max(peak, memory)
    if _rows(store) != live:
        raise AssertionError("kept results have other rows than computed ones")
    again: list[float] = []

    def land() -> None:
        shutil.rmtree(place / "again", ignore_errors=True)
        again.append(command("ingest", str(dump), "--store", str(place / "again"))[0])

    printed = [name for name in names or report_names() if live[find_report(name).reduction]]
    contestants = {name: _report(store, name, output) for name in printed}
    reports = best_seconds({**contestants, "ingest": land}, repetitions)
    del reports["ingest"]
    at = "13:30" if intervals > 811 else "00:03"  # in the day, a guest loops
    words = ("explain", "--at", f"2006-10-16T{at}", "--store", str(store), "-o", str(output))
    explained = best_seconds({EXPLAIN: partial(whole_command, *words)}, repetitions)[EXPLAIN]
    slowest = max(reports, key=lambda name: reports[name])
    rows = [Row("ingest", {"s": ingest}), Row("reduce", {"s": reduce}, "all, with roll-ups")]
    rows.append(Row(f"{LIVE}, never reduced", {"s": asked}))
    rows.append(Row("ingest between reports", {"s": min(again)}))
    rows.append(Row(EXPLAIN, {"s": explained}, "against the time before it"))
    rows += [Row(name, {"s": seconds}) for name, seconds in reports.items()]
    given = (
        f"`{SCENARIO}` of {intervals:,} intervals, {dump.stat().st_size / MEGA:,.0f} MB; each "
        f"command in a process of its own, to a file; shortest of {repetitions}"
    )
    bars = (
        Bar("reduce / ingest", reduce / ingest, REDUCE_BAR, at_least=False),
        Bar("peak of reduce, MB", peak / MEGA, MEMORY_BAR_MB, at_least=False),
        Bar(f"{LIVE} never reduced, s", asked, LIVE_BAR_S, at_least=False),
        Bar(f"{EXPLAIN}, s", explained, EXPLAIN_BAR_S, at_least=False),
        Bar(
            f"slowest report ({slowest}) / ingest",
            reports[slowest] / min(again),
            REPORT_BAR,
            at_least=False,
        ),
    )
    shutil.rmtree(place)
    return [Section("Reducing a day", given, tuple(rows), bars)]


def measure_days(folder: Path, counts: Sequence[int], repetitions: int) -> list[Section]:
    """One section: processor time of `cpmon reduce` of so many small days.

    Args:
        folder: where the stores are made, and deleted again.
        counts: days of each store: one, some, and the most.
    """
    place = folder / f"{SMALL}-days"
    shutil.rmtree(place, ignore_errors=True)
    dump = write_run(load_scenario(SMALL), SMALL_RUN, place, intervals=SMALL_INTERVALS).dump
    seconds: dict[int, float] = {}
    for count in counts:
        store = place / str(count)
        command("ingest", str(dump), "--store", str(store))
        (landed,) = store.glob("records/*/*/*/*")
        copy_dump(landed, (timedelta(days=day) for day in range(1, count)))
        rebuild(Store(store))
        for _ in range(repetitions if count < counts[-1] else 1):
            shutil.rmtree(store / "reduced", ignore_errors=True)
            seconds[count] = min(seconds.get(count, inf), _processor_seconds(store))
    shutil.rmtree(place)
    one, some, most = (seconds[count] for count in counts)
    return [
        Section(
            "Reducing many small days",
            f"`{SMALL}`, days of {SMALL_INTERVALS} intervals, one landed and copied; processor time"
            f" of a process from its start to its end, the least of {repetitions}",
            tuple(Row(f"{count} days", {"s": s}) for count, s in seconds.items()),
            (
                Bar(f"{counts[1]} days / one", some / one, DAYS_BAR, at_least=False),
                Bar(f"{counts[-1]} days, s", most, YEAR_BAR_S, at_least=False),
            ),
        )
    ]


def _processor_seconds(store: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole_command("reduce", "--store", str(store))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _report(store: Path, name: str, output: Path) -> Contestant:
    """A process from its start to its end, all of which a reader waits for."""
    return partial(whole_command, "report", name, "--store", str(store), "-o", str(output))


def _rows(store: Path) -> dict[str, int]:
    """Rows of every reduction."""
    with connect(Store(store), reductions()) as connection:
        return {
            view.name: connection.sql(f'SELECT count(*) FROM "{view.name}"').fetchall()[0][0]
            for view in reductions()
            if not view.is_private
        }
