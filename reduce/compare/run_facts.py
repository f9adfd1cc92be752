"""Reads data about the runs to compare: facts, totals, and the intervals of the steady state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import duckdb
import numpy as np

from ...core.errors import CpmonError, unknown
from ...core.sql import name as quoted
from ...core.text import counted, length_of_time
from ...store.connection import Connection
from ...store.measured.runs import part_of_run
from ..metrics import Metric, MetricKind, compared_metrics
from ..reports.layout_notes import RESTING, assumed_notes, dumps_of
from ..reports.report_notes import doubts_note
from ..reports.report_sql import doubts_sql
from ..statistics import Array

ATTRIBUTES = ("cp_level", "users", "processors")
NOTE = "note"
"""The run attribute that is printed below every comparison with the run."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run: its time, system and attributes, and its columns of run_summary.

    `since` and `until` bound the steady state, UTC; `seconds` is its measured part.
    """

    run_id: str
    system: str
    since: datetime
    until: datetime
    intervals: int
    seconds: float | None
    attributes: Mapping[str, str]
    values: Mapping[str, float | None]


def base_and_runs(
    con: duckdb.DuckDBPyConnection, runs: Sequence[str], base: str | None
) -> tuple[str, ...]:
    """The base run, by default that of all run files, then the other runs.

    Raises:
        CpmonError: a run is unknown or named twice, or the base run is not unique.
    """
    rows = con.execute("SELECT run_id, base_run_id FROM meta.run ORDER BY run_id").fetchall()
    base_of = {str(run): named for run, named in rows}
    if not runs:
        raise CpmonError(
            "no run is named to compare", code="run-required", remedy="name one or more with --run"
        )
    for run in filter(None, (base, *runs)):
        if run not in base_of:
            raise unknown("run", run, base_of)
    bases = {base} if base else {base_of[run] for run in runs if base_of[run]}
    if len(bases) != 1:
        raise CpmonError(
            "the runs do not name one base run",
            code="base-run-ambiguous",
            expected="one run to compare with",
            found=", ".join(sorted(map(str, bases))) or "none",
            remedy="name it with --base",
        )
    (chosen,) = bases
    order = (str(chosen), *runs)
    if chosen not in base_of:
        raise unknown("base run", str(chosen), base_of)
    if len(set(order)) < len(order):
        raise CpmonError(
            "a run would be compared with itself",
            code="run-compared-with-itself",
            found=f"base run {order[0]}, runs {', '.join(runs)}",
            remedy="name every run once, and another one with --base",
        )
    return order


def measure_parts(
    con: Connection,
    runs: Sequence[str],
    base: str | None,
    part_of: Callable[[str], tuple[datetime | None, datetime | None]],
) -> None:
    """Limit base run and runs to parts of their steady states, on a connection.

    `part_of`: run -> bounds of its part, UTC.

    Raises:
        CpmonError: as for `base_and_runs`, or a run has no steady state in its part.
    """
    parts = []
    for run in base_and_runs(con, runs, base):
        parts.append(part_of_run(con.store, run, *part_of(run)))
    con.measure(parts)


def read_facts(con: duckdb.DuckDBPyConnection, runs: Sequence[str]) -> dict[str, RunFacts]:
    """Run -> its facts; only runs with a row in run_summary."""
    measures = [metric.name for metric in compared_metrics()]
    names = ", ".join([*(f"r.{name}" for name in ATTRIBUTES), *(f"s.{name}" for name in measures)])
    rows = con.execute(
        "SELECT r.run_id, r.system, r.steady_since, r.steady_until, s.intervals, s.seconds, "
        f"{names} FROM meta.run AS r JOIN run_summary AS s USING (run_id) "
        "WHERE list_contains(?, r.run_id)",
        [list(runs)],
    ).fetchall()
    facts = {}
    for run, system, since, until, intervals, seconds, *rest in rows:
        row = dict(zip((*ATTRIBUTES, *measures), rest, strict=True))
        attributes, values = texts(row, ATTRIBUTES), {name: row[name] for name in measures}
        facts[run] = RunFacts(run, system, since, until, intervals, seconds, attributes, values)
    return facts


def recorded_attributes(
    con: duckdb.DuckDBPyConnection, system: str, since: datetime, until: datetime
) -> dict[str, str]:
    """The ATTRIBUTES from records of a time (UTC without zone): CP level if unique, means."""
    ((users, processors),) = con.execute(
        "SELECT round(avg(users)), round(avg(processors)) FROM system_summary2_by_time"
        " WHERE system = ? AND interval_end > ? AND interval_end <= ? AND seconds IS NOT NULL",
        [system, since, until],
    ).fetchall()
    levels = set(dumps_of(con, system, since, until).values())
    level = levels.pop() if len(levels) == 1 else ""
    recorded = dict(zip(ATTRIBUTES, (level or None, users, processors), strict=True))
    return {
        key: f"{value:.0f}" if isinstance(value, float) else value
        for key, value in recorded.items()
        if value is not None
    }


def run_notes(
    con: duckdb.DuckDBPyConnection, runs: Sequence[str], shown: Mapping[str, str]
) -> list[str]:
    """Notes about the runs, a line each; `shown`: displayed metric -> its heading."""
    rows = con.execute(
        "SELECT string_agg(run_id, ', ' ORDER BY run_id), note FROM"
        " (SELECT run_id, attributes[?] AS note FROM meta.run WHERE list_contains(?, run_id))"
        " WHERE note <> '' GROUP BY note ORDER BY ALL",
        [NOTE, list(runs)],
    ).fetchall()
    notes = [f"{named}: {note}" for named, note in rows]
    steady = "(FROM _run_interval WHERE list_contains(?, run_id) AND is_steady)"
    doubts: dict[str, list[tuple[str, int]]] = {run: [] for run in runs}
    for run, doubt, n in con.execute(doubts_sql(steady, key="run_id"), [list(runs)]).fetchall():
        doubts[run].append((doubt, n))
    notes += [f"{run}: {note}" for run in runs for note in doubts_note(doubts[run])]
    gaps = con.execute(
        "SELECT r.run_id, count(DISTINCT i.interval_end) AS n FROM meta.run AS r"
        " JOIN meta.interval AS i ON i.system = r.system"
        " AND ends_within(i.interval_end, r.steady_since, r.steady_until)"
        # The first sample of a run may be late; the time before it does not belong to the run.
        " AND i.interval_end - to_microseconds(CAST(least(i.seconds, i.usual_s) * 5e5 AS BIGINT))"
        " >= r.steady_since"
        " WHERE list_contains(?, r.run_id)"
        " AND i.previous_end IS NULL AND (i.gap OR i.restart OR i.clock_set)"
        " GROUP BY r.run_id ORDER BY r.run_id",
        [list(runs)],
    ).fetchall()
    for run, n in gaps:
        left_out = counted(n, "interval")
        notes.append(f"{run}: {left_out} left out, behind a gap, an IPL or a clock that was set.")
    notes += _uncovered_notes(con, runs)
    if not shown.keys() & RESTING:
        return notes
    dumps = con.execute(
        "SELECT DISTINCT d.dump FROM meta.run AS r JOIN meta.dump AS d ON d.system = r.system"
        " AND d.first_tod <= r.until AND d.last_tod >= r.since WHERE list_contains(?, r.run_id)",
        [list(runs)],
    ).fetchall()
    return [*notes, *assumed_notes(con, [dump for (dump,) in dumps], shown)]


def _uncovered_notes(con: duckdb.DuckDBPyConnection, runs: Sequence[str]) -> Iterator[str]:
    """Notes on time without intervals at the begin and end of steady states."""
    begin = "min(i.interval_end - to_microseconds(CAST(i.seconds * 1e6 AS BIGINT)))"
    rows = con.execute(
        f"SELECT r.run_id, date_diff('microsecond', r.steady_since, {begin}) / 1e6,"
        " date_diff('microsecond', max(i.interval_end), r.steady_until) / 1e6, max(i.usual_s)"
        " FROM meta.run AS r JOIN meta.interval AS i ON i.system = r.system"
        " AND ends_within(i.interval_end, r.steady_since, r.steady_until)"
        # What lies behind a gap has its note.
        " WHERE (i.previous_end IS NOT NULL OR i.gap OR i.restart OR i.clock_set)"
        " AND list_contains(?, r.run_id)"
        " GROUP BY r.run_id, r.steady_since, r.steady_until ORDER BY r.run_id",
        [list(runs)],
    ).fetchall()
    for run, early_s, late_s, usual_s in rows:
        for place, seconds in (("begin", early_s), ("end", late_s)):
            if usual_s and seconds >= usual_s / 2:  # the first sample of a run may be late
                length = length_of_time(timedelta(seconds=round(seconds)))
                yield f"{run}: no interval in {length} at its {place}."


def texts(values: Mapping[str, Any], keys: Iterable[str]) -> dict[str, str]:
    """Some attributes of a run as texts; empty if it has none."""
    return {key: str(values[key]) if values.get(key) is not None else "" for key in keys}


@dataclass(frozen=True, slots=True)
class Intervals:
    """The intervals of a steady state, in order of time.

    Attributes:
        middle, seconds: (intervals,) time of the middle since the steady state began, and length.
        sums: `summed` or `divided` of a metric -> (intervals,), NaN where NULL.
    """

    middle: Array
    seconds: Array
    sums: Mapping[str, Array]

    def binned(self, length: float) -> Mapping[str, Array]:
        """The sums in bins of `length` seconds: (bins,) each, NaN if an interval lacks a value.

        The last column, "", has the seconds of each bin: levels are means over time.
        """
        places = np.floor(self.middle / length).astype(int)
        bins = int(places.max(initial=-1)) + 1
        counts = np.bincount(places, minlength=bins).astype(float)
        columns = {name: np.bincount(places, sums, bins) for name, sums in self.sums.items()}
        columns |= {"": np.bincount(places, self.seconds, bins)}
        return {name: np.where(counts > 0, column, np.nan) for name, column in columns.items()}


def summed(metric: Metric) -> str:
    """SQL: what a metric sums over intervals; of a level its value times the seconds."""
    is_level = metric.kind is MetricKind.LEVEL_RATIO or not metric.denominator
    return f"{metric.sampled} * seconds" if is_level else metric.sampled


def divided(metric: Metric) -> str:
    """SQL: what it divides that by, summed likewise; empty of a level."""
    if metric.kind is MetricKind.LEVEL_RATIO:
        return f"{metric.denominator} * seconds"
    return metric.denominator


def pair_length(base: Intervals, run: Intervals) -> float:
    """Bin length, in seconds, for pairing two steady states: the longer median interval."""
    return max(float(np.median(i.seconds)) if i.seconds.size else 1.0 for i in (base, run))


def read_intervals(con: duckdb.DuckDBPyConnection, runs: Sequence[str]) -> dict[str, Intervals]:
    """Run -> the intervals of its steady state."""
    names = dict.fromkeys(n for m in compared_metrics() for n in (summed(m), divided(m)) if n)
    casts = ", ".join(f"CAST({name} AS DOUBLE) AS {quoted(name)}" for name in names)
    rows = con.execute(
        "SELECT run_id, CAST(epoch(interval_end) AS DOUBLE) AS _end, CAST(seconds AS DOUBLE) AS"
        f" _seconds, {casts} FROM _run_interval WHERE is_steady"
        " AND list_contains(?, run_id) ORDER BY run_id, interval_end",
        [list(runs)],
    ).fetchnumpy()
    intervals = {}
    for run in runs:
        mine = rows["run_id"] == run
        columns = {n: np.ma.filled(rows[n], np.nan)[mine] for n in (*names, "_end", "_seconds")}
        ends, seconds = columns.pop("_end"), columns.pop("_seconds")
        begin = ends[0] - seconds[0] if ends.size else 0.0
        intervals[run] = Intervals(ends - begin - seconds / 2, seconds, columns)
    return intervals
