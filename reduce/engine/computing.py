"""Computes jobs: the pieces of some days of a system, with their roll-ups."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
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
from ...store.results.entries import Entry, Piece, add, entry_of_day
from ...store.results.kept_files import QueryWriter, files_of, kept_rows
from ...store.results.lineage import definition_version, lineages
from ...store.results.reduced import INTERVAL
from ..metrics.metric import TIME
from ..metrics.rollups import EVER, LEVELS, ROWS, SHIFT_ENDS, SHIFTS, SUMS, Rollup, hours, rollup_of
from ..reductions.reductions import reductions
from ..reports.report_sql import shift_condition
from .database import ReductionDatabase, Result
from .planning import KEPT_SETTINGS, SETTINGS, Chain, Done, RollupJob, Site, UnitJob

_opened: dict[str, Store] = {}


def compute(chain: Chain) -> dict[str, Done]:
    """Compute the jobs of a chain in order; their pieces are durable when this returns.

    Computing is idempotent: the same jobs give the same bytes, and a piece replaces itself. A file
    gets its final name when it is complete; at the end of a job the manifest gets its entry.

    Returns:
        counts and times by reduction.

    Raises:
        CpmonError: a dump cannot be read, the memory limit is too small, or the jobs were planned
            by another version of cpmon.
        StoreError: the results cannot be written.
    """
    site = chain[0].site
    if site.layouts != site_folder():  # a worker process
        use(site.layouts)
    use_definitions(site.own)
    store = _opened.get(site.store) or remember(Store(site.store))
    _check_definitions(store, site)
    with writing(store.root), store.files.scratch() as scratch:
        computation = _Computation(store, site, scratch)
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

    def __init__(self, store: Store, site: Site, scratch: Path) -> None:
        self.store, self.site, self.scratch = store, site, scratch
        self.database = ReductionDatabase(store, reductions(), scratch, site.limits)
        self.writer = self.database.writer()
        self.done: dict[str, Done] = {}
        self._complete: list[Entry] = []
        self.kept = {lineage.name: lineage.kept for lineage in lineages(reductions())}

    def unit(self, job: UnitJob) -> None:
        """Computes the missing pieces of a unit."""
        results = {
            (name, day): Result(self.kept[name], job.unit.condition(day))
            for name, days in job.missing.items()
            for day in days
        }
        whole = [Result(self.kept[entry.result]) for entry in job.whole]
        self.database.restrict_to_unit(job.unit, [*results.values(), *whole])
        if SETTINGS in job.missing and job.carried:
            self._carry_settings(job.carried)
        # Least shared first: the largest tables are read while few relations are materialized.
        shared = {piece: self.database.shared_inputs(result) for piece, result in results.items()}
        # A second thread rolls up the finished file while the next reduction is computed.
        executor = ThreadPoolExecutor(max_workers=1)
        try:
            rolled = []
            for name, day in sorted(results, key=shared.__getitem__):
                where = job.unit.system, day
                entry = entry_of_day(name, INTERVAL, where, job.missing[name][day])
                scratch = self._write(entry, results[name, day])
                rolled.append(executor.submit(self._finish, entry, scratch))
            for entry, result in zip(job.whole, whole, strict=True):
                self._publish([(entry, self._write(entry, result))])
            for future in rolled:
                future.result()
        finally:
            executor.shutdown(cancel_futures=True)

    def roll_ups(self, job: RollupJob) -> None:
        """Computes missing or outdated roll-ups from the pieces of intervals."""
        for name, pieces in job.pieces.items():
            for piece in pieces:
                started = time.perf_counter()
                rows = kept_rows(self.store, files_of([piece]))
                self._publish(self._rolled_up(name, piece, rows))
                self._count(name, 0, started)

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
        rows = f"{kept_rows(self.store, files_of([piece]), union=True)} WHERE {where}"
        self.database.substitute(KEPT_SETTINGS, f"SELECT * FROM {rows}")

    def _write(self, entry: Entry, result: Result) -> Path:
        """Write the rows of a reduction to a scratch file."""
        started = time.perf_counter()
        path = self._scratch(entry.result)
        self._count(entry.result, self.database.write(result, path, entry), started)
        return path

    def _finish(self, entry: Entry, scratch: Path) -> None:
        """Roll up a day and publish its piece and roll-ups."""
        (piece,) = entry.pieces()
        rolled = self._rolled_up(entry.result, piece, f"read_parquet({path_text(scratch)})")
        self._publish([(entry, scratch), *rolled])

    def _rolled_up(self, name: str, piece: Piece, rows: str) -> list[tuple[Entry, Path]]:
        """Computes the roll-ups of a day: the entry and the scratch file of each.

        Args:
            rows: the rows of the piece: a relation, as SQL.
        """
        rollup = rollup_of(name)
        if rollup is None:
            return []
        day = piece.system, piece.day
        entries = [
            entry_of_day(name, level, day, piece.version, self.site.hours) for level in LEVELS
        ]
        paths = [(entry, self._scratch(name)) for entry in entries]
        roll_up(self.writer, rollup, rows, self.site.shifts, paths)
        return paths

    def _scratch(self, name: str) -> Path:
        """A new file in the scratch folder."""
        self._files = getattr(self, "_files", 0) + 1
        return self.scratch / f"{name}.{self._files}"

    def _count(self, name: str, rows: int, started: float) -> None:
        seconds = time.perf_counter() - started
        self.done.setdefault(name, Done(name)).add(Done(name, rows, 1, seconds))


def _check_definitions(store: Store, site: Site) -> None:
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
            remedy="put the file back from a backup; or run cpmon store repair, and land the dumps"
            " again that it drops",
        ) from error


def roll_up(
    writer: QueryWriter,
    rollup: Rollup,
    rows: str,
    shifts: Sequence[Shift],
    paths: Sequence[tuple[Entry, Path]],
) -> None:
    """Write the roll-ups of a day, over the whole day and by shift.

    Args:
        rows: the intervals of the day, all of one system: a relation, as SQL.
        paths: the entry of each level, and the file to write.

    Raises:
        OSError: a file cannot be written.
        CpmonError: the memory limit is too small.
    """
    run = writer.execute
    run(f"CREATE TEMP VIEW {ROWS} AS FROM {rows}")
    try:
        _create_shifts(writer, shifts)
        run(f"CREATE TEMP TABLE {SUMS} AS {rollup.sums()}")
        for entry, path in paths:
            ((depth,),) = run(rollup.depth_of(entry.level)).fetchall()
            query = rollup.select(entry.level, text(entry.system), depth)
            writer.write_query(query, path, entry)
    finally:
        run(f"DROP VIEW {ROWS}")
        for table in (SHIFTS, SHIFT_ENDS, SUMS):
            run(f"DROP TABLE IF EXISTS {table}")


def _create_shifts(writer: QueryWriter, shifts: Sequence[Shift]) -> None:
    """Creates the tables of shifts and of their interval ends; shift 0 covers all of the time."""
    run = writer.connection.execute
    run(f"CREATE TEMP TABLE {SHIFTS} (shift_id INTEGER, shift VARCHAR, hours VARCHAR)")
    run(f"INSERT INTO {SHIFTS} VALUES (0, ?, '')", [EVER])
    run(
        f"CREATE TEMP TABLE {SHIFT_ENDS} AS"
        f" SELECT DISTINCT CAST(0 AS INTEGER) AS shift_id, {TIME} FROM {ROWS}"
    )
    for number, shift in enumerate(shifts, 1):
        where, values = shift_condition(shift, TIME)
        run(f"INSERT INTO {SHIFTS} VALUES (?, ?, ?)", [number, shift.name, hours(shift)])
        run(
            f"INSERT INTO {SHIFT_ENDS} SELECT {number}, {TIME} FROM {SHIFT_ENDS}"
            f" WHERE shift_id = 0 AND {where}",
            values,
        )
