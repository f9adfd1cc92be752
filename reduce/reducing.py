"""What `cpmon reduce` does: which days are missing, and in which order they are computed."""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..schemas.arrow import schemas
from ..store import Store
from ..store.batch import Batch, batches
from ..store.catalogue import beginning, make_ready
from ..store.classes import take_classes
from ..store.days import Held, days_of, held
from ..store.disk import writing
from ..store.lateness import INSIDE
from ..store.parquet import write_result
from ..store.reduced import (
    INTERVAL,
    ByDay,
    Day,
    by_day,
    docs_path,
    keep,
    piece_path,
    publish,
    stamped,
    whole_file,
)
from ..store.sealing import Limits, limit
from ..store.stamps import Basis, bases
from ..store.store import replace_durably
from ..store.template import Draft
from ..store.workbench import Workbench
from .reductions import reduction, reductions
from .report_sql import TIME
from .rollups import LEVELS, Rollup, hours_of, read_columns, rollup_of
from .settings import Settings
from .shifts import Shift

MOST_DAYS = 2
"""Days of a system that are computed at once, where so many are missing."""
KEPT_AT_ONCE = 2
"""Reductions that are rolled up and written while the next is computed."""
MOST_WAITING = 100_000_000
"""Cells of these, of others that wait for it and of what some are still computed from; from so many
on the next is not computed yet."""
FIRST = 2
"""Reductions by time of most columns: those of runs, and short ones, are computed while these are
kept."""
LAST = 5
"""The next in columns: at the end there is something to keep for all threads. Were they among the
first, a tenth more memory would be used at once."""

FEW_RUNS = 16
"""Of rows of a day that stand together, up to which they are not copied."""


@dataclass(slots=True)
class Done:
    """What was done for a reduction.

    Attributes:
        rows: of intervals that were computed. days: that were added, or rolled up again.
        seconds: that it took, without what it shares with others.
    """

    name: str
    rows: int = 0
    days: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        if not self.days:
            return f"{self.name}: up to date"
        return f"{self.name}: {self.rows:,} rows in {self.seconds:.1f} s"


@dataclass(slots=True)
class _Work:
    """A reduction by time: what is kept of it, and which days are missing."""

    basis: Basis
    state: ByDay
    rollup: Rollup | None
    done: Done
    missing: set[Day] = field(default_factory=set)
    unrolled: set[Day] = field(default_factory=set)

    @property
    def columns(self) -> int:
        """How many are rolled up for each of several objects."""
        return len(self.rollup.shown) if self.rollup and self.rollup.keys else 0


class _Line:
    """Rows that are kept on other threads; who brings more of them than there is room for waits."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._cells: dict[Future[None], int] = {}

    def add(self, keep: Callable[[], None], cells: int) -> None:
        """Let rows be kept; raises what went wrong with earlier ones."""
        self._cells[self._pool.submit(keep)] = cells
        while sum(self._cells.values()) > MOST_WAITING:
            for done in wait(self._cells, return_when=FIRST_COMPLETED).done:
                done.result()
                del self._cells[done]

    def finish(self) -> None:
        """Wait for all that are left."""
        for one in self._cells:
            one.result()


def reduce(store: Store, names: Sequence[str], settings: Settings) -> list[Done]:
    """Compute what is missing of the reductions, or of those named, and keep it.

    User classes that the settings name are taken into the store before.

    Raises:
        CpmonError: a name is not known, or the classes or a limit of the settings are wrong.
        StoreError: the disk refuses the results.
    """
    if settings.classes is not None:
        take_classes(store, settings.classes)
    views = reductions()
    wanted = [reduction(name) for name in names] or [v for v in views if not v.is_private]
    folder = store.root / "reduced"
    known = {basis.name: basis for basis in bases(views)}
    chosen = [known[view.name] for view in wanted]
    with writing(store.root):
        folder.mkdir(exist_ok=True)
        dumps = held(store)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as scratch:
            reducer = _Reducer(store, settings, dumps, Path(scratch))
            done = {found.name: found for found in reducer.run(chosen)}
            make_ready(store, views, reducer.catalogue)
    return [done[basis.name] for basis in chosen]


class _Reducer:
    """One call of `reduce`: the bench is built when something is missing."""

    def __init__(
        self, store: Store, settings: Settings, dumps: Sequence[Held], scratch: Path
    ) -> None:
        self.store, self.dumps, self.scratch = store, dumps, scratch
        self.stamps = stamped(dumps)
        self.shifts: list[Shift] = sorted(settings.shifts.values(), key=lambda shift: shift.name)
        said = hours_of(self.shifts).encode()
        self.hours = hashlib.blake2b(said, digest_size=4).hexdigest()
        self._limits = Limits(settings.memory_limit, settings.threads)
        self._whole: dict[str, Done] = {}
        self._described: set[str] = set()
        self.catalogue: Draft | None = None

    @functools.cached_property
    def bench(self) -> Workbench:
        """That of days and runs."""
        return self._new_bench()

    def _new_bench(self) -> Workbench:
        bench = Workbench(self.store, reductions(), self.scratch)
        limit(bench.connection, self._limits)
        return bench

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        return self.bench.connection

    def run(self, chosen: Sequence[Basis]) -> Iterator[Done]:
        """Compute what is missing; yields in any order."""
        rest = [basis for basis in chosen if not basis.by_time]
        others = self._not_kept(basis for basis in rest if not basis.of_runs)
        works = [self._work(basis) for basis in chosen if basis.by_time]
        with ThreadPoolExecutor(max_workers=1) as pool:
            catalogue = None
            if any(work.missing for work in works):  # what shows no results need not wait for them
                catalogue = pool.submit(beginning, Store(self.store.root), self.scratch)
            if others or catalogue:
                schemas()  # a tenth of a second: once, before others need them
            beside = pool.submit(self._keep_of_all, others)
            self._keep_missing(works, [basis for basis in rest if basis.of_runs])
            beside.result()
            self.catalogue = catalogue.result() if catalogue else None
        for work in works:
            self._roll_up_again(work)
            for path in work.state.outdated:
                path.unlink(missing_ok=True)
            yield work.done
        yield from (self._whole.get(basis.name, Done(basis.name)) for basis in rest)

    def _keep_of_all(self, chosen: Sequence[Basis]) -> None:
        """Reductions that rest on all dumps and on no runs, on a bench of their own."""
        if chosen:
            bench = self._new_bench()
            bench.widen(chosen)
            self._keep_whole(chosen, bench)

    def _keep_missing(self, works: Sequence[_Work], of_runs: Sequence[Basis]) -> None:
        """The days that are missing, batch by batch, and the reductions of runs."""
        for system in dict.fromkeys(one.system for one in self.dumps):
            of_system = [one for one in self.dumps if one.system == system]
            missing = {day for work in works for of, day in work.missing if of == system}
            days = days_of(of_system)
            for batch in batches(of_system, days, sorted(missing), MOST_DAYS):
                is_all = len(batch.basis) == len(self.dumps) and len(batch.days) == len(days)
                self._compute(works, batch, self._not_kept(of_runs) if is_all else [])
        if left := self._not_kept(of_runs):
            self.bench.narrow_to_runs(left)
            self._keep_whole(left, self.bench)

    def _work(self, basis: Basis) -> _Work:
        state, rollup = by_day(self.store, basis, self.stamps), rollup_of(basis.name)
        work = _Work(basis, state, rollup, Done(basis.name), set(state.open))
        for day in state.of_level(INTERVAL) if rollup else ():
            found = state.pieces[day]
            if any(level not in found or found[level].shifts != self.hours for level in LEVELS):
                work.unrolled.add(day)
        return work

    def _compute(self, works: Sequence[_Work], batch: Batch, of_runs: Sequence[Basis]) -> None:
        """The days of a batch; reductions of runs as well, where it holds all that there is."""
        days = {(batch.system, day) for day in batch.days}
        these = [work for work in works if work.missing & days]
        these.sort(key=lambda work: -work.columns)  # long ones are kept while others are computed
        first, last, short = these[:FIRST], these[FIRST : FIRST + LAST], these[FIRST + LAST :]
        rest = [*short, *last]
        self.bench.narrow(
            batch, [*(work.basis for work in first), *of_runs, *(work.basis for work in rest)]
        )
        with ThreadPoolExecutor(max_workers=KEPT_AT_ONCE) as pool:
            line = _Line(pool)
            for work in first:
                self._keep_by_time(work, batch, line)
            self._keep_whole(of_runs, self.bench)
            for work in rest:
                self._keep_by_time(work, batch, line)
            line.finish()

    def _keep_by_time(self, work: _Work, batch: Batch, line: _Line) -> None:
        started = time.perf_counter()
        found = self.bench.promised(work.basis, batch.where())
        work.done.seconds += time.perf_counter() - started
        line.add(functools.partial(self._keep_days, work, batch, found.rows), found.cells)

    def _keep_days(self, work: _Work, batch: Batch, compute: Callable[[], pa.Table]) -> None:
        """The interval level is published first: roll-ups without it were left by a prune."""
        started = time.perf_counter()
        stamps = {day: work.state.expected[batch.system, day] for day in batch.days}
        stamps = {day: s for day, s in stamps.items() if (batch.system, day) in work.missing}
        rows = compute()
        for day, of_day in _by_day(rows, stamps):
            self._publish(of_day, work, INTERVAL, (batch.system, day), stamps[day])
            work.done.rows += len(of_day)
        self._roll_up(work, batch.system, rows, stamps)
        work.done.days += len(stamps)
        work.done.seconds += time.perf_counter() - started

    def _roll_up(
        self, work: _Work, system: str, rows: pa.Table, stamps: Mapping[date, str]
    ) -> None:
        """The roll-ups of some days, from their rows: of all at once, as each column takes a while.

        Rows of other days may be among them.

        Args:
            stamps: of the intervals of each day.
        """
        if work.rollup is None:
            return
        self._describe(work.rollup)
        measured = rows.select(read_columns(work.rollup))
        ends = pa.table({TIME: rows.column(TIME).unique()} if self.shifts else {})
        of_shifts = {shift: self._of_shift(ends, shift) for shift in self.shifts}
        for level, rolled in work.rollup.tables(measured, of_shifts).items():
            for day, of_day in _by_day(rolled, stamps):
                stamp = f"{stamps[day]}.{self.hours}"
                self._publish(of_day, work, level, (system, day), stamp)

    def _of_shift(self, ends: pa.Table, shift: Shift) -> pa.Array:
        """Those ends of intervals that are in its hours."""
        text, values = shift.where(TIME)
        with self.connection.cursor() as own:  # another thread uses the connection
            own.register("_ends", ends)
            within = own.sql(f"SELECT {TIME} FROM _ends WHERE {text}", params=values)
            return within.to_arrow_table().column(TIME).combine_chunks()

    def _describe(self, rollup: Rollup) -> None:
        """What the columns of roll-ups say stands beside them, for the catalogue."""
        if rollup.reduction in self._described:
            return
        self._described.add(rollup.reduction)
        file = docs_path(self.store, rollup.reduction)
        said = json.dumps(rollup.docs(), indent=1)
        if not file.exists() or file.read_text(encoding="utf-8") != said:
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_durably(file, said)

    def _roll_up_again(self, work: _Work) -> None:
        """Where only roll-ups are missing, or are by other shifts, the intervals are at hand."""
        started = time.perf_counter()
        for system, day in sorted(work.unrolled):
            piece = work.state.pieces[system, day][INTERVAL]
            rows = pq.ParquetFile(piece.path).read()
            self._roll_up(work, system, rows, {day: piece.stamp})
            work.done.days += 1
        work.done.seconds += time.perf_counter() - started

    def _not_kept(self, chosen: Iterable[Basis]) -> list[Basis]:
        """Reductions that are kept in one file, and are not."""
        return [b for b in chosen if not whole_file(self.store, b, self.dumps).exists()]

    def _keep_whole(self, chosen: Iterable[Basis], bench: Workbench) -> None:
        """Compute reductions that are kept in one file, of what a bench lets them see."""
        for basis in chosen:
            started = time.perf_counter()
            rows = keep(self.store, basis, bench.rows(basis))
            self._whole[basis.name] = Done(basis.name, rows, 1, time.perf_counter() - started)

    def _publish(self, table: pa.Table, work: _Work, level: str, where: Day, stamp: str) -> None:
        path = piece_path(self.store, work.basis.name, level, where, stamp)
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = self.scratch / f"{work.basis.name}.{level}"
        write_result(scratch, table)
        publish(scratch, path)


def _by_day(rows: pa.Table, days: Iterable[date]) -> Iterator[tuple[date, pa.Table]]:
    """The rows of each of some days, of intervals or of spans that end then."""
    found = pc.subtract(rows.column(TIME), INSIDE).cast(pa.date32()).to_numpy()
    for day in days:
        yield day, _chosen(rows, found == np.datetime64(day))


def _chosen(rows: pa.Table, chosen: npt.NDArray[np.bool_]) -> pa.Table:
    """Some of the rows; those that stand together are not copied."""
    edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False)).reshape(-1, 2)
    if len(edges) > FEW_RUNS:
        return rows.filter(pa.array(chosen))
    runs = [rows.slice(first, behind - first) for first, behind in edges.tolist()]
    return pa.concat_tables(runs) if runs else rows.slice(0, 0)
