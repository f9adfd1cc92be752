"""Computes jobs: the pieces of some days of a system, with their roll-ups."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb

from ...config.definitions import use as use_definitions
from ...config.moments import Shift
from ...core.errors import CpmonError
from ...core.sql import text
from ...jobs.engine import PassingError
from ...schemas.registry import site_folder, use
from ...store import Store
from ...store.files.disk import read_error, writing
from ...store.files.plain_paths import path_text
from ...store.results.entries import Day, Entry, Piece, add
from ...store.results.lineage import definition_version, lineages
from ...store.results.reduced import INTERVAL
from ...store.results.result_files import QueryWriter, files_of, is_one_of, result_rows
from ...store.sql.landed_views import INTERVALS
from ..metrics.metric import TIME
from ..metrics.rollups import DEPTH, EVER, SHIFT_ENDS, SHIFTS, Rollup, hours, rollup_of
from ..reductions.reductions import reductions
from ..reports.report_sql import shift_condition
from .database import ReductionDatabase, Result
from .planning import (
    KEPT_SETTINGS,
    SETTINGS,
    Chain,
    Done,
    JobSite,
    RollupJob,
    UnitJob,
    rolled_up,
)

ROLLED = "_rolled"
"""Temporary table of roll-ups that are written to several files."""
Advance = Callable[[int], None]
"""Progress callback: number of results that were computed since the last call."""
_opened: dict[str, Store] = {}


def compute(chain: Chain, advance: Advance | None = None) -> dict[str, Done]:
    """Compute the jobs of a chain in order; their pieces are durable when this returns.

    Computing is idempotent: the same jobs give the same bytes, and a piece replaces itself. A file
    gets its final name when it is complete; at the end of a job the manifest gets its entry.

    Args:
        advance: called with the number of further results.

    Returns:
        counts and times by reduction.

    Raises:
        CpmonError: a dump cannot be read, the memory limit is too small, or the jobs were planned
            by another version of cpmon.
    """
    site = chain[0].site
    if site.layouts != site_folder():  # a worker process
        use(site.layouts)
    use_definitions(site.own)
    store = _opened.get(site.store) or remember(Store(site.store))
    _check_definitions(store, site)
    with writing(store.root), store.files.scratch() as scratch:
        computation = _Computation(store, site, scratch, advance)
        for job in chain:
            try:
                with readable(str(job)):
                    if isinstance(job, UnitJob):
                        computation.unit(job)
                    else:
                        computation.roll_ups(job)
            finally:  # what is complete is kept, if another reduction fails
                computation.add_entries()
    return computation.done


def remember(store: Store) -> Store:
    """Reuse this open store for all jobs in it, so that its metadata is read once."""
    _opened.clear()
    _opened[store.location] = store
    return store


class _Computation:
    """Computes the jobs of a chain in one database."""

    def __init__(self, store: Store, site: JobSite, scratch: Path, advance: Advance | None) -> None:
        self.store, self.site, self.scratch, self.advance = store, site, scratch, advance
        self.database = ReductionDatabase(store, reductions(), scratch, site.limits)
        self.writer = self.database.writer
        self.done: dict[str, Done] = {}
        self._complete: list[Entry] = []
        self.kept = {lineage.name: lineage.kept for lineage in lineages(reductions())}

    def unit(self, job: UnitJob) -> None:
        """Computes the missing files of a unit."""
        by_name = {**job.missing, **{entry.result: [entry] for entry in job.whole}}
        results = {
            name: [Result(self.kept[name], is_one_of(days_of(e)) if e.days else "true") for e in es]
            for name, es in by_name.items()
        }
        self._check_not_pruned(job)
        self.database.restrict_to_unit(job.unit, itertools.chain(*results.values()))
        if SETTINGS in job.missing and job.carried:
            self._carry_settings(job.carried)
        self.depth = create_shifts(self.writer, self.site.shifts, INTERVALS)
        # Least shared first: the largest tables are read while few relations are materialized.
        shared = {n: self.database.shared_inputs(some[0]) for n, some in results.items() if some}
        # A second thread rolls up finished files while the next reduction is computed.
        executor = ThreadPoolExecutor(max_workers=1)
        try:
            rolled = []
            for name in sorted(shared, key=shared.__getitem__):
                files = [(entry, self._scratch()) for entry in by_name[name]]
                for (entry, path), result in zip(files, results[name], strict=True):
                    started = time.perf_counter()
                    self._count(entry, self.database.write(result, path, entry), started)
                rolled.append(executor.submit(self._finish, name, files))
            for future in rolled:
                future.result()
        finally:
            executor.shutdown(cancel_futures=True)

    def _check_not_pruned(self, job: UnitJob) -> None:
        """Checks that the samples of a job are still there.

        Raises:
            PassingError: some were pruned since it was planned.
        """
        pruned = {dump.dump for dump in self.store.dumps() if dump.pruned}
        if any(d.dump in pruned and not d.pruned for d in job.unit.basis.samples):
            raise changed_meanwhile(str(job), "these days are not reduced; other days are")

    def roll_ups(self, job: RollupJob) -> None:
        """Computes missing or outdated roll-ups from the pieces of intervals."""
        for entry in job.entries:
            started = time.perf_counter()
            rows = result_rows(self.store, files_of(job.pieces[entry.result]), union=True)
            self.depth = create_shifts(self.writer, self.site.shifts, rows)
            self._publish(self._rolled_up(entry.result, [entry], rows))
            self._count(entry, 0, started)

    def add_entries(self) -> None:
        """Adds the entries of all complete files to the manifest."""
        add(self.store, self._complete)
        self._complete.clear()

    def _publish(self, finished: Sequence[tuple[Entry, Path]]) -> None:
        self.store.files.publish({entry.file: path for entry, path in finished})
        self._complete += (entry for entry, _ in finished)

    def _carry_settings(self, piece: Piece) -> None:
        """Carry over the settings that are in effect at the end of the previous day."""
        if not self.store.files.exists(piece.file):
            raise CpmonError(
                "the settings of the day before are not kept",
                code="previous-settings-missing",
                place=piece.file,
                effect=f"{SETTINGS} is not computed from that day on",
                remedy="see why that day was not reduced, then run cpmon reduce again",
            )
        where = "true" if piece.level == INTERVAL else f"shift = '{EVER}'"
        rows = f"{result_rows(self.store, files_of([piece]), union=True)} WHERE {where}"
        self.database.substitute(KEPT_SETTINGS, f"SELECT * FROM {rows}")

    def _finish(self, name: str, files: Sequence[tuple[Entry, Path]]) -> None:
        """Roll up the files of a reduction and publish them with their roll-ups."""
        listed = ", ".join(path_text(path) for _, path in files)
        rolled = self._rolled_up(name, [e for e, _ in files], f"read_parquet([{listed}])")
        self._publish([*files, *rolled])

    def _rolled_up(
        self, name: str, entries: Sequence[Entry], rows: str
    ) -> list[tuple[Entry, Path]]:
        """Computes roll-ups: the entry and the scratch file of each.

        Args:
            entries: those of the files of intervals.
            rows: their rows: a relation, as SQL.
        """
        rollup = rollup_of(name)
        if rollup is None:
            return []
        files = [(rolled_up(entry, self.site), self._scratch()) for entry in entries]
        roll_up(self.writer, rollup, rows, self.depth, files)
        return files

    def _scratch(self) -> Path:
        """A new file in the scratch folder."""
        self._files = getattr(self, "_files", 0) + 1
        return self.scratch / f"{self._files}.parquet"

    def _count(self, entry: Entry, rows: int, started: float) -> None:
        name, days = entry.result, len(entry.days) or 1
        seconds = time.perf_counter() - started
        self.done.setdefault(name, Done(name)).add(Done(name, rows, days, seconds))
        if self.advance:
            self.advance(days)


def days_of(entry: Entry) -> list[Day]:
    """The days of the rows of a file, with their system."""
    return [(entry.system, day) for day in entry.days]


def _check_definitions(store: Store, site: JobSite) -> None:
    """Check that this process has the definitions that the jobs were planned with.

    Raises:
        CpmonError: reductions, layouts or user classes differ.
    """
    by_name = {lineage.name: lineage for lineage in lineages(reductions())}
    for name, expected in site.definitions.items():
        version = (
            definition_version(store, by_name[name]) if name in by_name else "no such reduction"
        )
        if version != expected:
            raise CpmonError(
                "this process has another cpmon, or other layouts, than the one that planned",
                code="worker-version-mismatch",
                place=name,
                expected=f"version {expected}",
                found=version,
                effect="nothing was computed here",
                remedy="install the same cpmon on every machine, and let CPMON_SCHEMAS name the"
                " same layouts there",
            )


def changed_meanwhile(place: str, effect: str) -> PassingError:
    """The error for results of a store that other processes changed while they were computed."""
    return PassingError(
        "dumps landed, were merged or pruned meanwhile",
        code="reduction-conflict",
        place=place,
        effect=effect,
        remedy="run cpmon reduce again",
    )


@contextmanager
def readable(days: str) -> Iterator[None]:
    """Maps read errors of DuckDB to PassingError, with the days that are not reduced.

    Raises:
        PassingError: a file is damaged or missing.
    """
    try:
        yield
    except (duckdb.InvalidInputException, duckdb.IOException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # results cannot be written
            raise
        if refused := read_error(error):
            raise refused from error
        raise PassingError(
            "a file of the store cannot be read",
            code="store-file-unreadable",
            place=days,
            found=str(error).split("\n", maxsplit=1)[0],
            effect="these days are not reduced; other days are",
            remedy="put the file back from a backup; or see with cpmon store check which dump it"
            " is, take it out with cpmon store drop, and ingest it again",
        ) from error


def roll_up(
    writer: QueryWriter,
    rollup: Rollup,
    rows: str,
    depth: int,
    files: Sequence[tuple[Entry, Path]],
) -> None:
    """Write the roll-ups of some days, over the whole day and by shift.

    Args:
        rows: the intervals of the days, all of one system: a relation, as SQL.
        depth: see `create_shifts`.
        files: the entry of each file and its path.

    Raises:
        CpmonError: the memory limit is too small.
    """
    query = f"({rollup.select(rows, text(files[0][0].system), depth)})"
    if len(files) > 1:
        writer.execute(f"CREATE TEMP TABLE {ROLLED} AS FROM {query}")
        query = ROLLED
    try:
        for entry, path in files:
            where = is_one_of(days_of(entry))
            writer.write_query(f"FROM {query} WHERE {where} ORDER BY {rollup.order}", path, entry)
    finally:
        writer.execute(f"DROP TABLE IF EXISTS {ROLLED}")


def create_shifts(writer: QueryWriter, shifts: Sequence[Shift], rows: str) -> int:
    """Creates the tables of shifts and of their interval ends; shift 0 covers all of the time.

    Args:
        rows: relation with all interval ends, as SQL.

    Returns:
        how many of the greatest values of an hour its percentile needs at most.
    """
    run = writer.execute
    run(f"CREATE OR REPLACE TEMP TABLE {SHIFTS} (shift_id INTEGER, shift VARCHAR, hours VARCHAR)")
    run(f"INSERT INTO {SHIFTS} VALUES (0, ?, '')", [EVER])
    run(
        f"CREATE OR REPLACE TEMP TABLE {SHIFT_ENDS} AS"
        f" SELECT DISTINCT CAST(0 AS INTEGER) AS shift_id, {TIME} FROM {rows}"
    )
    for number, shift in enumerate(shifts, 1):
        where, values = shift_condition(shift, TIME)
        run(f"INSERT INTO {SHIFTS} VALUES (?, ?, ?)", [number, shift.name, hours(shift)])
        run(
            f"INSERT INTO {SHIFT_ENDS} SELECT {number}, {TIME} FROM {SHIFT_ENDS}"
            f" WHERE shift_id = 0 AND {where}",
            values,
        )
    ((depth,),) = run(DEPTH).fetchall()
    return int(depth)
