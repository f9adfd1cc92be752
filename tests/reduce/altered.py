"""Dumps in which a record is missing or counters have other values, and what is printed of them.

Each altered dump is of a system of its own, so that a store holds many of them: reductions are
computed once for all, and every report is then of one system.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from cpmon.core.errors import NothingToReportError
from cpmon.generate import dump_frames, load_scenario
from cpmon.ingest import ingest
from cpmon.reduce.metrics import Metric
from cpmon.reduce.metrics.metric import TIME
from cpmon.reduce.metrics.report_set import Lines, metrics_of
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import ReportResult, report
from cpmon.reduce.reports.report_names import find_report, report_names
from cpmon.store import Store
from cpmon.store.connection import Connection
from cpmon.store.sql.landed_views import macros
from tests.dumps import FRAME, control, frame, frame_end
from tests.generate.plain_reader import Record, records, sets
from tests.values import Place, is_structure, places

FRAME_END, INTERVAL_END = (1, 13), (1, 11)
FLAGS = {0xE2: "S", 0xC5: "E"}
SINCE = "holds_from"


def whole(scenario: str | Path, run: str, intervals: int = 3) -> bytes:
    """A dump of a scenario: a first sample, and so many intervals."""
    return b"".join(dump_frames(load_scenario(str(scenario)), run, intervals=intervals))


def without(dump: bytes, offset: int) -> bytes:
    """The dump written anew without the record that begins there."""
    parts = []
    every = [record for record in records(dump) if record[2:4] != FRAME_END]
    for part in sets(dump):
        behind = part.offset + -(-(part.end - part.start + 1) // FRAME) * FRAME
        kept = [r for r in every if part.offset <= r.offset < behind and r.offset != offset]
        if kept:
            parts.append(_written(FLAGS[part.flag], kept))
    return b"".join([*parts, control()])


def _written(flag: str, kept: Sequence[Record]) -> bytes:
    """A set of records, in as few frames as hold them."""
    frames: list[list[bytes]] = [[]]
    for record in kept:
        end = len(frame_end())
        if sum(map(len, frames[-1])) + len(record.data) + end > FRAME:
            frames[-1].append(frame_end())
            frames.append([])
        frames[-1].append(record.data)
    first = 0x40000
    last = first + (len(frames) - 1) * FRAME + sum(map(len, frames[-1])) - 1
    return control((flag, first, last)) + b"".join(frame(*inside) for inside in frames)


class Removal(NamedTuple):
    """A record that is removed: where it was, and what it is called."""

    offset: int
    name: str


def removals(dump: bytes, chance: random.Random, each: int) -> list[Removal]:
    """So many records of each kind, at random.

    The end of the first or the last interval is none of them: without it the dump, and the span
    of its reports, is shorter.
    """
    kinds: dict[tuple[int, int], list[Record]] = {}
    for record in records(dump):
        if record[2:4] != FRAME_END:
            kinds.setdefault((record.domain, record.number), []).append(record)
    kinds[INTERVAL_END] = kinds[INTERVAL_END][1:-1]
    chosen = [r for kind in kinds.values() for r in chance.sample(kind, min(each, len(kind)))]
    return [Removal(r.offset, f"{r.domain}.{r.number} of set {r.sample}") for r in chosen]


class Change(NamedTuple):
    """A counter that has another value."""

    place: Place
    how: str
    before: int
    after: int

    def __repr__(self) -> str:
        return f"{self.place.name} of {self.place.sample}: {self.before} {self.how} {self.after}"


def counters(dump: bytes) -> dict[tuple[str, str], list[Place]]:
    """(table, field) -> the places of a counter."""
    found: dict[tuple[str, str], list[Place]] = {}
    for place in places(dump):
        if place.field.is_cumulative and place.field.is_number and not is_structure(place):
            found.setdefault((place.layout.name, place.field.name), []).append(place)
    return found


def changed(
    dump: bytes, known: Mapping[tuple[str, str], list[Place]], chance: random.Random, count: int
) -> tuple[bytes, list[Change]]:
    """The dump with some falls, jumps and swaps of counters, and which those are."""
    after, changes = bytearray(dump), []
    for key in chance.choices(list(known), k=count):
        place = chance.choice(known[key])
        width = place.end - place.offset
        most, now = (1 << 8 * width) - 1, int.from_bytes(after[place.offset : place.end])
        how = chance.choice(["falls", "slips", "is zero", "jumps", "is highest", "swaps"])
        other = chance.choice(known[chance.choice([k for k in known if k[0] == key[0]])])
        value = {
            "falls": chance.randint(0, now),
            "slips": max(now - chance.randint(1, 1000), 0),
            "is zero": 0,
            "jumps": min(now + (1 << chance.randint(0, 8 * width - 1)), most),
            "is highest": most - chance.randint(0, 3),
            "swaps": int.from_bytes(after[other.offset : other.end]) & most,
        }[how]
        if how == "swaps" and other.end - other.offset == width:
            after[other.offset : other.end] = now.to_bytes(width)
        after[place.offset : place.end] = value.to_bytes(width)
        changes.append(Change(place, how, now, value))
    return bytes(after), changes


@dataclass
class Fleet:
    """Dumps of a store, each of a system and run of its own name."""

    folder: Path
    store: Store = field(init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.folder / "store", create=True)

    def add(self, name: str, dump: bytes) -> None:
        """Land a dump, with a run over all of it."""
        file = self.folder / f"{name}.mon"
        file.write_bytes(dump)
        about = f'run_id = "{name}"\nsystem = "{name}"\nbase_run_id = "BASE"\n'
        span = "since = 1999-01-01T00:00:00Z\nuntil = 2040-01-01T00:00:00Z\n"
        file.with_suffix(".run.toml").write_text(about + span, encoding="utf-8")
        ingest(file, self.store, system=name)

    def computed(self) -> duckdb.DuckDBPyConnection:
        """A catalogue whose reductions are computed; nobody computes them again."""
        computed = duckdb.connect()
        computed.execute(f"CREATE SCHEMA meta; CREATE SCHEMA monitor; {macros()}")
        with Connection(self.store, reductions(), live=True) as con:
            meta = [n for each in con.documented() if (n := each.name).startswith("meta.")]
            for name in ("monitor.mtrsys", *meta, *(made.name for made in reductions())):
                rows = con.sql(f"FROM {name}").to_arrow_table()
                computed.register("_rows", rows)
                computed.execute(f"CREATE TABLE {name} AS FROM _rows")
                computed.unregister("_rows")
        return computed


Cells = dict[tuple[Any, ...], Any]


def reported(
    con: duckdb.DuckDBPyConnection, system: str, **options: Any
) -> Iterator[tuple[str, ReportResult]]:
    """Every report of a system that has something to report."""
    for name in report_names():
        if options.get("by") and find_report(name).lines is not Lines.TIME:
            continue
        try:
            yield name, report(con, name, system=system, **options)
        except NothingToReportError:
            continue


def cells(result: ReportResult) -> Cells:
    """(keys of the line, column) -> each figure of a report, its mean line included.

    Of a setting the last value counts, and not since when it holds.
    """
    keys = [*([TIME] if result.lines is Lines.TIME else []), *result.report.keys]
    keys = [key for key in keys if key != SINCE]
    shown = [c.name for c in result.report.columns if c.name not in (*keys, SINCE)]
    found = {
        (*(line.get(key) for key in keys), name): line[name]
        for line in result.table.to_pylist()
        for name in shown
    }
    below = {"mean": result.mean, "total": result.total}
    sums = {(of, name): value for of, values in below.items() for name, value in values.items()}
    return found | sums


def is_same(one: Any, other: Any) -> bool:
    """Whether two figures print the same; seconds may be those of another record."""
    if _number(one) is None or _number(other) is None:
        return bool(one == other)
    return math.isclose(float(one), float(other), rel_tol=1e-6, abs_tol=1e-6)


def silent_changes(
    before: Mapping[str, ReportResult], after: Iterable[tuple[str, ReportResult]]
) -> list[str]:
    """Figures that changed, and are not blank, in reports that note nothing new."""
    found = []
    for name, result in after:
        if set(result.notes) - set(before[name].notes):
            continue
        known = cells(before[name])
        found += [
            f"{name} {key}: {known.get(key, 'nothing')} became {value}"
            for key, value in cells(result).items()
            if value is not None and not is_same(known.get(key), value)
        ]
    return found


def impossible(metrics: Mapping[str, Metric], row: Mapping[str, Any]) -> list[str]:
    """Figures of a row that lie outside of their range, or are no numbers."""
    found = []
    for name, value in row.items():
        number = _number(value)
        if number is None:
            continue
        low, high = -math.inf, math.inf
        if name in metrics:
            low = _bound(metrics[name].low, row, low)
            high = _bound(metrics[name].high, row, high)
        # Half a percent and a thousandth are tolerated.
        if not math.isfinite(number) or not low - 0.001 <= number <= high * 1.005 + 0.001:
            found.append(f"{name} is {number}, and not {low} to {high}")
    return found


def _bound(text: str, row: Mapping[str, Any], none: float) -> float:
    """A bound that is a number or another column of the row, or none."""
    bound = _number(row.get(text)) if text[:1].isalpha() else float(text or none)
    return none if bound is None else bound


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return float(value) if is_number else None


def impossible_rows(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Figures of all reductions that lie outside of their range."""
    found = []
    for made in reductions():
        metrics = metrics_of(made.name)
        for row in con.sql(f"FROM {made.name}").to_arrow_table().to_pylist() if metrics else []:
            found += [
                f"{made.name} of {row['system']}: {text}" for text in impossible(metrics, row)
            ]
    return found
