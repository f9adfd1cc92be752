"""What `cpmon reduce` does: which days are missing, and in which order they are computed."""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ...config import Settings
from ...config.shifts import Shift
from ...store import Store
from ...store.catalogue.catalogue import make_ready
from ...store.dumps.cleanup import remove
from ...store.dumps.days import Held, days_of, held
from ...store.dumps.disk import replace_durably, writing
from ...store.results.lineage import Lineage, lineages
from ...store.results.reduced import (
    INTERVAL,
    ByDay,
    Day,
    by_day,
    docs_path,
    keep,
    outdated_files,
    piece_path,
    publish,
    versions_of,
    whole_file,
)
from ...store.results.reduction_database import QueryWriter, ReductionDatabase, Result
from ...store.results.units import Unit, units
from ...store.runs.classes import take_classes
from ...store.sandbox.sandbox import Limits
from ...store.views.views import text
from ..metrics.rollups import EVER, LEVELS, Rollup, hours_of, rollup_of
from ..reductions.reductions import reduction, reductions
from .rolling import roll_up

SETTINGS, KEPT_SETTINGS = "system_config", "_kept_setting"
"""What is kept of settings, and where the next days look for those that still hold."""


@dataclass(slots=True)
class Done:
    """What was done for a reduction.

    Attributes:
        rows: of intervals that were computed. days: that were added, or rolled up again.
        seconds: until its rows were written; what it shares with others counts for the first.
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

    lineage: Lineage
    state: ByDay
    rollup: Rollup | None
    done: Done
    missing: set[Day] = field(default_factory=set)
    unrolled: set[Day] = field(default_factory=set)


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
    by_name = {lineage.name: lineage for lineage in lineages(views)}
    chosen = [by_name[view.name] for view in wanted]
    store.clean()
    with writing(store.root):
        folder.mkdir(exist_ok=True)
        with store.scratch() as scratch:
            reducer = _Reducer(store, settings, held(store), scratch)
            done = {result.name: result for result in reducer.run(chosen)}
        make_ready(store, views)
    return [done[lineage.name] for lineage in chosen]


class _Reducer:
    """One call of `reduce`: the database is created when something is missing."""

    def __init__(
        self, store: Store, settings: Settings, dumps: Sequence[Held], scratch: Path
    ) -> None:
        self.store, self.dumps, self.scratch = store, dumps, scratch
        self.versions = versions_of(dumps)
        self.shifts: list[Shift] = sorted(settings.shifts.values(), key=lambda shift: shift.name)
        hours = hours_of(self.shifts).encode()
        self.hours = hashlib.blake2b(hours, digest_size=4).hexdigest()
        self._limits = Limits(settings.memory_limit, settings.threads)
        self._whole: dict[str, Done] = {}
        self._described: set[str] = set()

    @functools.cached_property
    def database(self) -> ReductionDatabase:
        return ReductionDatabase(self.store, reductions(), self.scratch, self._limits)

    @functools.cached_property
    def writer(self) -> QueryWriter:
        return self.database.writer()

    def run(self, chosen: Sequence[Lineage]) -> Iterator[Done]:
        """Compute what is missing; yields in any order."""
        rest = [lineage for lineage in chosen if not lineage.by_time]
        works = [self._work(lineage) for lineage in chosen if lineage.by_time]
        of_runs = [lineage for lineage in rest if lineage.of_runs]
        for unit in self._missing(works):
            self._compute(works, unit, of_runs if self._is_all(unit) else [])
        if left := self._not_kept(of_runs):
            self.database.restrict_to_runs(map(_whole, left))
            self._keep_whole(left)
        if left := self._not_kept([lineage for lineage in rest if not lineage.of_runs]):
            self.database.unrestrict(map(_whole, left))
            self._keep_whole(left)
        for work in works:
            self._roll_up_again(work)
            remove(self.store.root, work.state.outdated)
            yield work.done
        for lineage in rest:
            remove(self.store.root, outdated_files(self.store, lineage, self.dumps))
        yield from (self._whole.get(lineage.name, Done(lineage.name)) for lineage in rest)

    def _missing(self, works: Sequence[_Work]) -> Iterator[Unit]:
        """The units that some reduction lacks."""
        for system in dict.fromkeys(dump.system for dump in self.dumps):
            of_system = [dump for dump in self.dumps if dump.system == system]
            missing = {day for work in works for of, day in work.missing if of == system}
            yield from units(of_system, days_of(of_system), missing)

    def _work(self, lineage: Lineage) -> _Work:
        state, rollup = by_day(self.store, lineage, self.versions), rollup_of(lineage.name)
        work = _Work(lineage, state, rollup, Done(lineage.name), set(state.open))
        for day in state.of_level(INTERVAL) if rollup else ():
            pieces = state.pieces[day]
            if any(level not in pieces or pieces[level].shifts != self.hours for level in LEVELS):
                work.unrolled.add(day)
        return work

    def _is_all(self, unit: Unit) -> bool:
        """Whether a unit holds all that there is."""
        return len(unit.dependencies) == len(self.dumps) and [*unit.days] == days_of(self.dumps)

    def _compute(self, works: Sequence[_Work], unit: Unit, of_runs: Sequence[Lineage]) -> None:
        """The days of a unit, and reductions of runs with it."""
        whole = self._not_kept(of_runs)
        by_day = {
            (work.lineage.name, day): Result(work.lineage.kept, unit.condition(day))
            for work in works
            for day in unit.days
            if (unit.system, day) in work.missing
        }
        self.database.restrict_to_unit(unit, [*by_day.values(), *map(_whole, whole)])
        for work in works:
            if work.lineage.name == SETTINGS:
                self._carry_settings(work, unit)
        # Roll-ups read finished files, so they are made while the next reduction is computed.
        executor = ThreadPoolExecutor(max_workers=1)
        try:
            rolled = [
                executor.submit(self._roll_up, work, day, *self._keep_day(work, day, result))
                for work in works
                for day in ((unit.system, day) for day in unit.days)
                if (result := by_day.get((work.lineage.name, day[1])))
            ]
            self._keep_whole(whole)
            for future in rolled:
                future.result()
        finally:
            executor.shutdown(cancel_futures=True)

    def _carry_settings(self, work: _Work, unit: Unit) -> None:
        """Let the settings at the end of the day before a unit still hold, since when they do."""
        if unit.previous is None:
            return
        day = unit.system, unit.previous
        file = piece_path(self.store, SETTINGS, INTERVAL, day, work.state.expected[day])
        level = INTERVAL
        if not file.exists():  # pruned
            pieces = work.state.pieces.get(day, {})
            level = next((level for level in pieces), "")
            if not level:
                return
            file = pieces[level].path
        where = "true" if level == INTERVAL else f"shift = '{EVER}'"
        rows = f"FROM read_parquet({text(str(file))}, union_by_name = true) WHERE {where}"
        self.database.substitute(KEPT_SETTINGS, f"SELECT * {rows}")

    def _keep_day(self, work: _Work, day: Day, result: Result) -> tuple[Path, str]:
        """Publish the intervals of a day first: roll-ups without them were left by a prune."""
        started = time.perf_counter()
        version = work.state.expected[day]
        path = self._path(work, INTERVAL, day, version)
        scratch = self._scratch(work, INTERVAL)
        work.done.rows += self.database.write(result, scratch)
        publish(self.store, scratch, path)
        work.done.days += 1
        work.done.seconds += time.perf_counter() - started
        return path, version

    def _roll_up(self, work: _Work, day: Day, piece: Path, version: str) -> None:
        """The roll-ups of a day, from the piece of its intervals."""
        if work.rollup is None:
            return
        self._describe(work.rollup)
        paths = {level: self._scratch(work, level) for level in LEVELS}
        roll_up(self.writer, work.rollup, piece, self.shifts, paths, day[0])
        for level, scratch in paths.items():
            publish(self.store, scratch, self._path(work, level, day, f"{version}.{self.hours}"))

    def _describe(self, rollup: Rollup) -> None:
        """Write the documentation of the columns of roll-ups beside them, for the catalogue."""
        if rollup.reduction in self._described:
            return
        self._described.add(rollup.reduction)
        file = docs_path(self.store, rollup.reduction)
        docs = {column.name: column.doc for column in reduction(rollup.reduction).columns}
        columns = json.dumps(rollup.docs(docs), indent=1)
        if not file.exists() or file.read_text(encoding="utf-8") != columns:
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_durably(file, columns)

    def _roll_up_again(self, work: _Work) -> None:
        """Where only roll-ups are missing, or are by other shifts, the intervals are kept."""
        started = time.perf_counter()
        for day in sorted(work.unrolled):
            piece = work.state.pieces[day][INTERVAL]
            self._roll_up(work, day, piece.path, piece.version)
            work.done.days += 1
        work.done.seconds += time.perf_counter() - started

    def _not_kept(self, chosen: Sequence[Lineage]) -> list[Lineage]:
        """Reductions that are kept in one file, and are not."""
        return [b for b in chosen if not whole_file(self.store, b, self.dumps).exists()]

    def _keep_whole(self, chosen: Sequence[Lineage]) -> None:
        """Compute reductions that are kept in one file, of what the database shows."""
        for lineage in chosen:
            started = time.perf_counter()
            scratch = self.scratch / f"{lineage.name}.parquet"
            rows = self.database.write(_whole(lineage), scratch)
            keep(self.store, lineage, scratch)
            self._whole[lineage.name] = Done(lineage.name, rows, 1, time.perf_counter() - started)

    def _scratch(self, work: _Work, level: str) -> Path:
        return self.scratch / f"{work.lineage.name}.{level}"

    def _path(self, work: _Work, level: str, day: Day, version: str) -> Path:
        path = piece_path(self.store, work.lineage.name, level, day, version)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def _whole(lineage: Lineage) -> Result:
    return Result(lineage.kept)
