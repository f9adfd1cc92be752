"""`cpmon reduce`: plans units of work, runs them, then computes results that span all units."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ...config import Settings
from ...core.errors import StoreError
from ...jobs import Engine, InOrder
from ...jobs.engine import ATTEMPTS, PassingError
from ...store import Store
from ...store.files.disk import writing
from ...store.format.landed_dump import LandedDump
from ...store.measured.classes import import_classes
from ...store.results.entries import add, replace
from ...store.results.lineage import lineages
from ...store.results.merging import merge
from ...store.results.reduced import record_definitions, whole_entry
from ...store.sandbox.sandbox import Limits
from ..reductions.reductions import reduction, reductions
from .computing import changed_meanwhile, compute, readable, remember
from .database import ReductionDatabase, Result
from .planning import Chain, DaySelection, Done, Plan, Whole

Advance = Callable[[int, int], None]
"""Progress callback: number of results so far (of a reduction and a day), total number."""
ALL_DAYS = "what is of all days"


@dataclass(frozen=True, slots=True)
class Failure:
    """A unit of work that failed. `name`: its system and days."""

    name: str
    error: Exception


@dataclass(slots=True)
class Reduced:
    """Result of a call of `reduce`.

    Attributes:
        done: counts by reduction, in the order of the request.
        units: number of units that succeeded.
        left_out: reductions over all days, which a selection of days excludes.
    """

    done: list[Done] = field(default_factory=list)
    units: int = 0
    systems: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def reduce(store: Store, names: Sequence[str], settings: Settings) -> list[Done]:
    """Compute and store the missing results of all reductions, or of those named.

    User classes that the settings name are imported before.

    Raises:
        CpmonError: a name is unknown, the classes or a limit of the settings are wrong, or a unit
            failed; the other units are computed all the same.
    """
    reduced = reduce_selected(store, names, settings)
    for failure in reduced.failures:
        raise failure.error
    return reduced.done


def reduce_selected(
    store: Store,
    names: Sequence[str],
    settings: Settings,
    selection: DaySelection | None = None,
    engine: Engine | None = None,
    advance: Advance | None = None,
) -> Reduced:
    """Like `reduce`, for selected systems and days; the engine runs the units.

    Results that span units, such as those of runs, are computed in this process, and only without
    a selection. A unit that fails does not stop the others.

    Raises:
        CpmonError: a name is unknown, the classes or a limit of the settings are wrong, the
            selection matches no system, or the engine does not work.
    """
    started = time.perf_counter()
    engine, selection = engine or InOrder(), selection or DaySelection()
    if settings.classes is not None:
        import_classes(store, settings.classes)
    views = reductions()
    chosen_views = [reduction(name) for name in names] or [v for v in views if not v.is_private]
    by_name = {lineage.name: lineage for lineage in lineages(views)}
    chosen = [by_name[view.name] for view in chosen_views]
    limits = Limits(settings.memory_limit, settings.threads)
    store.clean()
    remember(store)
    with writing(store.root):
        shared, shifts = limits.share(engine.jobs), settings.shifts.values()
        plan = Plan(store, chosen, shifts, shared, selection, engine.jobs)
        plan.describe()
        record_definitions(store, views)
        coordinator = _Coordinator(store, plan, engine, advance or (lambda _done, _of: None))
        coordinator.run_units()
        whole = coordinator.keep_whole(limits)
        replace(store, (), plan.outdated)
        merge(store, chosen, limits)
    done = {work.lineage.name: work.done for work in plan.works} | whole
    reduced = coordinator.reduced
    reduced.done = [done[lineage.name] for lineage in chosen if lineage.name in done]
    reduced.left_out = [lineage.name for lineage in chosen if lineage.name not in done]
    reduced.seconds = time.perf_counter() - started
    return reduced


class _Coordinator:
    """Runs the jobs of a plan and collects their outcomes."""

    def __init__(self, store: Store, plan: Plan, engine: Engine, advance: Advance) -> None:
        self.store, self.plan, self.engine, self.advance = store, plan, engine, advance
        self.reduced = Reduced()
        self.results = 0
        self.total = sum(job.results for chain in [*plan.chains, *plan.later] for job in chain)
        self.whole: dict[str, Done] = {}

    def run_units(self) -> None:
        """Compute all units.

        Raises:
            StoreError: the results cannot be written; units in progress are abandoned.
        """
        chains = [*self.plan.chains, *self.plan.later]
        self._advance(0)
        self.reduced.systems = len({job.system for chain in chains for job in chain})
        for wave in (self.plan.chains, self.plan.later):
            for chain, done in self._run(wave):
                self.reduced.units += len(chain)
                for name, of_unit in done.items():
                    self._done(name).add(of_unit)

    def _run(self, chains: Sequence[Chain]) -> Iterator[tuple[Chain, dict[str, Done]]]:
        ended = self.results
        is_here = isinstance(self.engine, InOrder)
        function = partial(compute, advance=self._advance) if is_here else compute
        days: list[Chain] = []
        for number, outcome in self.engine.run(function, chains):
            chain, error = chains[number], outcome.error
            if isinstance(error, StoreError):
                raise error
            split = self.plan.by_day(chain) if error else []
            days += split
            ended += 0 if split else sum(job.results for job in chain)
            self._advance(ended - self.results)
            if error is None:
                yield chain, outcome.result or {}
            elif not split:
                name = " and ".join(dict.fromkeys([str(chain[0]), str(chain[-1])]))
                self.reduced.failures.append(Failure(name, error))
        if days:
            yield from self._run(days)

    def _advance(self, results: int) -> None:
        self.results += results
        self.advance(self.results, self.total)

    def _done(self, name: str) -> Done:
        works = (work.done for work in self.plan.works if work.lineage.name == name)
        return next(works, None) or self.whole.setdefault(name, Done(name))

    def keep_whole(self, limits: Limits) -> dict[str, Done]:
        """Compute reductions with one file, unless a unit has computed them."""
        for whole in self.plan.whole:
            whole.is_kept |= whole.lineage.name in self.whole
        for attempts_left in reversed(range(ATTEMPTS)):
            left = [whole for whole in self.plan.whole if not whole.is_kept]
            try:
                if left:
                    with self.store.files.scratch() as scratch, readable(ALL_DAYS):
                        self._compute_whole(left, scratch, limits)
            except PassingError as error:
                if not attempts_left:
                    self.reduced.failures.append(Failure(ALL_DAYS, error))
        return {
            whole.lineage.name: self.whole.get(whole.lineage.name, Done(whole.lineage.name))
            for whole in self.plan.whole
        }

    def _compute_whole(self, left: Sequence[Whole], scratch: Path, limits: Limits) -> None:
        dumps = self.store.dumps()
        for whole in left:  # take the version before the dumps are read
            whole.entry = whole_entry(self.store, whole.lineage, dumps)
        database = ReductionDatabase(self.store, reductions(), scratch, limits)
        for of_runs in (True, False):
            some = [whole for whole in left if whole.lineage.of_runs is of_runs]
            results = [_result(whole) for whole in some]
            if some:
                (database.restrict_to_runs if of_runs else database.unrestrict)(results)
            for whole in some:
                self._keep(database, whole, scratch, dumps)

    def _keep(
        self,
        database: ReductionDatabase,
        whole: Whole,
        scratch: Path,
        dumps: Sequence[LandedDump],
    ) -> None:
        """Compute a result and publish it.

        Args:
            dumps: those of the store when the database was opened.

        Raises:
            PassingError: the store has changed since.
        """
        started, name = time.perf_counter(), whole.lineage.name
        file = scratch / f"{name}.parquet"
        rows = database.write(_result(whole), file, whole.entry)
        if self.store.dumps() != dumps:
            raise changed_meanwhile(name, "its result is not kept; reports compute it")
        self.store.files.publish({whole.entry.file: file})
        add(self.store, [whole.entry])
        whole.is_kept = True
        self.whole[name] = Done(name, rows, 1, time.perf_counter() - started)


def _result(whole: Whole) -> Result:
    return Result(whole.lineage.kept)
