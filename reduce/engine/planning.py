"""Plans `cpmon reduce`: finds missing results and the units of work that compute them."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from fnmatch import fnmatchcase
from math import ceil
from pathlib import Path

from ...config.definitions import Definitions, definitions
from ...config.moments import Shift
from ...core.errors import CpmonError, nearest
from ...core.grace_period import GRACE
from ...core.text import counted
from ...schemas.registry import site_folder
from ...store import Store
from ...store.format.landed_dump import LandedDump, days_of
from ...store.results.entries import NOT_BY_TIME, Day, Entries, Entry, Piece, entry_of_days
from ...store.results.lineage import Lineage, definition_version
from ...store.results.reduced import (
    INTERVAL,
    ByDay,
    by_day,
    docs_file,
    versions_of,
    whole_entry,
)
from ...store.sandbox.sandbox import Limits
from ...store.sql.scope import Basis, Scope, basis_of
from ..metrics.rollups import LEVEL, Rollup, hours_of, rollup_of
from ..reductions.reductions import reduction

SETTINGS, KEPT_SETTINGS = "system_config", "_kept_setting"
"""The reduction of settings, and the private one that carries settings to the next day."""
UNIT_BYTES = 256_000_000
"""Maximum size of the records of a unit of several days: DuckDB's default memory holds them."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Successive days of a system that are computed together.

    Attributes:
        previous: the last day before them that has intervals, if any.
        basis: the dumps that their results depend on.
    """

    system: str
    days: tuple[date, ...]
    previous: date | None
    basis: Basis

    @property
    def scope(self) -> Scope:
        """The intervals that belong to its days."""
        return _scope(self.system, self.days)


def units(
    dumps: Sequence[LandedDump], days: Sequence[date], missing: Collection[date], most_bytes: float
) -> Iterator[Unit]:
    """Group the missing days of a system into units, in order.

    Args:
        dumps: dumps of the system, by begin. days: all of its days, in order.
        most_bytes: maximum size of the records of a unit of several days; 0 for single days.
    """
    sizes = sizes_of(dumps)
    groups: list[list[int]] = []
    size = 0.0
    for place in (place for place, day in enumerate(days) if day in missing):
        own = sizes[days[place]]
        size += own
        # A large dump adds an interval to the day before it.
        fits = most_bytes > 0 and size <= max(most_bytes, 1.05 * own)
        if groups and groups[-1][-1] == place - 1 and fits:
            groups[-1].append(place)
        else:
            groups.append([place])
            size = own
    for group in groups:
        first = group[0]
        system, chosen = dumps[0].system, tuple(days[place] for place in group)
        previous = days[first - 1] if first else None
        yield Unit(system, chosen, previous, basis_of(dumps, _scope(system, chosen)))


def sizes_of(dumps: Iterable[LandedDump]) -> dict[date, float]:
    """Day -> size in bytes of its records, if those of a dump are spread evenly over its time."""
    sizes: defaultdict[date, float] = defaultdict(float)
    for dump in dumps:
        if dump.first_end:
            first, *others = dump.days
            ends = datetime.combine(first, time.min) + timedelta(days=1) + GRACE
            part = (ends + GRACE - datetime.fromisoformat(dump.first_end)) / timedelta(days=1)
            sizes[first] += dump.decoded_bytes * part / (part + len(others))
            for day in others:
                sizes[day] += dump.decoded_bytes / (part + len(others))
    return sizes


def by_file(days: Iterable[date], last: date) -> Iterator[list[date]]:
    """Group the days of a unit by the file that keeps their rows.

    That is one file for each month; the next dump changes the last day, which has its own.

    Args:
        last: the last day of the system.
    """
    for _, group in itertools.groupby(sorted(days), key=lambda day: (f"{day:%Y-%m}", day == last)):
        yield list(group)


def _scope(system: str, days: Sequence[date]) -> Scope:
    midnight = datetime.combine(days[0], time.min), datetime.combine(days[-1], time.min)
    return Scope(system, midnight[0] + GRACE, midnight[1] + timedelta(days=1) + GRACE)


@dataclass(frozen=True, slots=True)
class JobSite:
    """What all units of a call share.

    Attributes:
        store: path or URL of the store.
        layouts: the folder of the site's own layouts, if any.
        own: the reductions, reports and metrics of the site.
        definitions: reduction -> version of its SQL, layouts and classes. Workers must have the
            same versions, because the entries of pieces have them.
        hours: a digest of the shifts.
    """

    store: str
    layouts: Path | None
    own: Definitions
    definitions: Mapping[str, str]
    shifts: tuple[Shift, ...]
    hours: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class UnitJob:
    """The files to compute for a unit.

    Attributes:
        unit: the days, and the dumps that they depend on.
        missing: reduction -> entries of the files with its intervals.
        carried: the piece with the settings of the previous day, if any.
        whole: entries of reductions of runs, if the unit covers the whole store.
    """

    site: JobSite
    unit: Unit
    missing: Mapping[str, Sequence[Entry]]
    carried: Piece | None = None
    whole: tuple[Entry, ...] = ()

    @property
    def system(self) -> str:
        """Its system."""
        return self.unit.system

    @property
    def results(self) -> int:
        """Number of results: of a reduction and a day, or of runs."""
        days = sum(len(entry.days) for entries in self.missing.values() for entry in entries)
        return days + len(self.whole)

    @property
    def entries(self) -> list[Entry]:
        """Those of its files with intervals."""
        return [*itertools.chain(*self.missing.values())]

    def __str__(self) -> str:
        return _named(self.system, self.unit.days[0], self.unit.days[-1])


@dataclass(frozen=True, slots=True)
class RollupJob:
    """Days of a month of a system that have intervals but lack roll-ups.

    Attributes:
        pieces: reduction -> the pieces with the intervals of its days.
    """

    site: JobSite
    system: str
    pieces: Mapping[str, Sequence[Piece]]

    @property
    def results(self) -> int:
        """Number of results: of a reduction and a day."""
        return sum(map(len, self.pieces.values()))

    @property
    def entries(self) -> list[Entry]:
        """What one file with all of its intervals would have, for each reduction."""
        return [
            entry_of_days(name, INTERVAL, self.system, {p.day: (p.version, "") for p in pieces})
            for name, pieces in self.pieces.items()
        ]

    def __str__(self) -> str:
        days = [piece.day for pieces in self.pieces.values() for piece in pieces]
        return f"roll-ups of {_named(self.system, min(days), max(days))}"


def rolled_up(entry: Entry, site: JobSite) -> Entry:
    """The entry of the roll-ups of a file with intervals."""
    days = {day: (version, site.hours) for day, (version, _) in entry.days.items()}
    return entry_of_days(entry.result, LEVEL, entry.system, days)


Chain = tuple[UnitJob | RollupJob, ...]
"""Jobs of a system that run in this order, because each reads results of the previous one."""


@dataclass(slots=True)
class Done:
    """Counts and time of a reduction.

    Attributes:
        rows: rows of intervals computed. days: days computed or rolled up.
        seconds: elapsed time until the rows are written; shared work counts for the first reader.
    """

    name: str
    rows: int = 0
    days: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        if not self.days:
            return f"{self.name}: up to date"
        return f"{self.name}: {counted(self.rows, 'row')} in {self.seconds:.1f} s"

    def add(self, other: Done) -> None:
        """Add the counts of another unit."""
        self.rows += other.rows
        self.days += other.days
        self.seconds += other.seconds


def _named(system: str, first: date, last: date) -> str:
    return f"{system} {first}" if first == last else f"{system} {first} to {last}"


@dataclass(frozen=True, slots=True)
class DaySelection:
    """Systems and days to reduce; all of them by default.

    Attributes:
        systems: patterns of names, as `PROD*`.
        days: single UTC days.
        since, until: the first day, and the day after the last.
    """

    systems: tuple[str, ...] = ()
    days: frozenset[date] = frozenset()
    since: date | None = None
    until: date | None = None

    def __bool__(self) -> bool:
        """Whether it excludes anything."""
        return bool(self.systems or self.days or self.since or self.until)

    def has_system(self, system: str) -> bool:
        """Whether a system is selected."""
        return not self.systems or any(fnmatchcase(system, p) for p in self.systems)

    def has_day(self, day: date) -> bool:
        """Whether a day is selected."""
        return (
            (not self.days or day in self.days)
            and (self.since is None or day >= self.since)
            and (self.until is None or day < self.until)
        )

    def has(self, system: str, day: date) -> bool:
        """Whether a day of a system is selected."""
        return self.has_system(system) and self.has_day(day)

    def check(self, systems: Iterable[str]) -> None:
        """Check that each pattern matches a system of the store.

        Raises:
            CpmonError: a pattern matches none.
        """
        names = sorted(set(systems))
        for pattern in self.systems:
            if not any(fnmatchcase(name, pattern) for name in names):
                like = nearest(pattern, names)
                raise CpmonError(
                    f"no system of the store is {pattern}",
                    code="name-unknown",
                    expected=", ".join(names[:10]) + ", ..." * (len(names) > 10),
                    remedy=f"did you mean {like}?" if like else None,
                )


@dataclass(slots=True)
class Work:
    """A reduction by time: its pieces, and the days without results or without roll-ups."""

    lineage: Lineage
    state: ByDay
    rollup: Rollup | None
    done: Done
    missing: set[Day] = field(default_factory=set)
    unrolled: set[Day] = field(default_factory=set)


@dataclass(slots=True)
class Whole:
    """A reduction whose result is one file.

    Attributes:
        entry: that of its file. outdated: those that it replaces. is_kept: it is up to date.
    """

    lineage: Lineage
    entry: Entry
    outdated: list[Entry]
    is_kept: bool


class Plan:
    """The jobs that compute the missing results of some reductions.

    Attributes:
        works: reductions by time. whole: the others; empty if the selection excludes anything.
        chains: independent jobs.
        later: one chain for each system, of jobs that need settings computed by `chains`.
    """

    def __init__(
        self,
        store: Store,
        chosen: Sequence[Lineage],
        shifts: Iterable[Shift],
        limits: Limits,
        selection: DaySelection,
        jobs: int = 1,
    ) -> None:
        """Compare the store with what the reductions should have.

        Args:
            limits: those of a job.
            jobs: number of jobs that run at the same time.

        Raises:
            CpmonError: the selection matches no system of the store.
        """
        self._store, self._selection = store, selection
        self._dumps = store.dumps()
        selection.check(dump.system for dump in self._dumps)
        ordered = tuple(sorted(shifts, key=lambda shift: shift.name))
        hours = hashlib.blake2b(hours_of(ordered).encode(), digest_size=4).hexdigest()
        by_time = [lineage for lineage in chosen if lineage.by_time]
        self._not_by_time = Entries(store, [NOT_BY_TIME])
        rest = [] if selection else [lineage for lineage in chosen if not lineage.by_time]
        self.whole = [self._whole(lineage) for lineage in rest]
        versions = versions_of(store, self._dumps)
        self.works = [
            self._work(lineage, by_day(store, lineage, versions), hours) for lineage in by_time
        ]
        current = {lineage.name: definition_version(store, lineage) for lineage in by_time}
        self._site = JobSite(
            store.location, site_folder(), definitions(), current, ordered, hours, limits
        )
        self.chains: list[Chain] = []
        self.later: list[Chain] = []
        self._most_bytes = self._unit_size(jobs)
        for system, dumps in itertools.groupby(self._dumps, key=lambda dump: dump.system):
            if selection.has_system(system):
                self._plan_system(system, list(dumps))

    def describe(self) -> None:
        """Write the documentation of roll-up columns into the store, for the catalogue."""
        for work in self.works:
            if work.rollup and (work.missing or work.unrolled):
                file = docs_file(work.rollup.reduction)
                docs = {column.name: column.doc for column in reduction(work.lineage.name).columns}
                columns = json.dumps(work.rollup.docs(docs), indent=1).encode()
                files = self._store.files
                if not files.exists(file) or files.read(file) != columns:
                    files.replace(file, columns)

    @property
    def outdated(self) -> list[Piece | Entry]:
        """Files that are obsolete when all jobs are done."""
        of_days = [piece for work in self.works for piece in work.state.outdated]
        of_all = [entry for whole in self.whole if whole.is_kept for entry in whole.outdated]
        return [*of_days, *of_all]

    def _whole(self, lineage: Lineage) -> Whole:
        """The state of a reduction whose result is one file."""
        entry = whole_entry(self._store, lineage, self._dumps)
        kept = self._not_by_time.of(lineage.name)
        outdated = [old for old in kept if old.version != entry.version]
        return Whole(lineage, entry, outdated, len(outdated) < len(kept))

    def _work(self, lineage: Lineage, state: ByDay, hours: str) -> Work:
        """The selected days of a reduction without results or without current roll-ups."""
        rollup, meant = rollup_of(lineage.name), self._selection
        work = Work(lineage, state, rollup, Done(lineage.name))
        work.missing.update(day for day in state.open if meant.has(*day))
        for day in state.of_level(INTERVAL) if rollup else ():
            rolled = state.pieces[day].get(LEVEL)
            if (rolled is None or rolled.shifts != hours) and meant.has(*day):
                work.unrolled.add(day)
        old = [p for day in work.unrolled if (p := state.pieces[day].get(LEVEL))]
        days = {(piece.system, piece.day) for piece in old}
        state.outdated += [p for p in old if days >= {(p.system, d) for d in p.month or (p.day,)}]
        return work

    def _unit_size(self, jobs: int) -> float:
        """Maximum size of the records of a unit, in bytes, so that all jobs have equal work."""
        if jobs == 1:
            return UNIT_BYTES
        days = set().union(*(work.missing for work in self.works))
        size = 0.0
        for system, dumps in itertools.groupby(self._dumps, key=lambda dump: dump.system):
            sizes = sizes_of(dumps)
            size += sum(sizes[day] for of, day in days if of == system)
        return size / (jobs * max(1, ceil(size / UNIT_BYTES / jobs))) + 1

    def _plan_system(self, system: str, dumps: Sequence[LandedDump]) -> None:
        days = days_of(dumps)
        if not days:  # its dumps are cut before the end of their first interval
            return
        missing: defaultdict[date, set[str]] = defaultdict(set)
        unrolled: defaultdict[date, dict[str, Piece]] = defaultdict(dict)
        settings: Work | None = None
        for work in self.works:
            name = work.lineage.name
            for day in (day for of, day in work.missing if of == system):
                missing[day].add(name)
            for day in (day for of, day in work.unrolled if of == system):
                unrolled[day][name] = work.state.pieces[system, day][INTERVAL]
            if name == SETTINGS:
                settings = work
        chain = self._settings_days(system, days, settings) if settings else []
        of_settings = {u.days: u for u in units(dumps, days, chain, self._most_bytes)}
        # The first unit of each chain reads the stored settings of the previous day, if any.
        first = {unit.days for unit in of_settings.values() if unit.previous not in chain}
        # Entries of settings that an earlier job of the chain computes.
        carried: dict[date, Piece] = {}
        for unit in units(dumps, days, missing.keys(), self._most_bytes):
            names = set().union(*(missing[day] for day in unit.days)) - {SETTINGS}
            if settings and unit.days in first:
                names.add(SETTINGS)
                del of_settings[unit.days]
            if names:
                self.chains.append((self._job(unit, names, missing, days[-1], carried),))
        if settings and of_settings:
            only = {day: {SETTINGS} for day in chain}
            later = of_settings.values()
            jobs = [self._job(unit, {SETTINGS}, only, days[-1], carried) for unit in later]
            self.later.append(tuple(jobs))
        for group in by_file(unrolled, days[-1]):
            pieces: defaultdict[str, list[Piece]] = defaultdict(list)
            for day in group:
                for name, piece in unrolled[day].items():
                    pieces[name].append(piece)
            self.chains.append((RollupJob(self._site, system, dict(sorted(pieces.items()))),))

    def _settings_days(self, system: str, days: Sequence[date], work: Work) -> list[date]:
        """The days whose settings are computed: the selected missing days, and those before them.

        Settings stay in effect from day to day; without the previous day `valid_from` is wrong.
        """
        meant = {day for of, day in work.missing if of == system}
        open_days = {day for of, day in work.state.open if of == system}
        needed, is_needed = [], False
        for day in reversed(days):
            is_needed = day in meant or (is_needed and day in open_days)
            if is_needed:
                needed.append(day)
        return needed[::-1]

    def _job(
        self,
        unit: Unit,
        names: Collection[str],
        missing: Mapping[date, Collection[str]],
        last: date,
        carried: dict[date, Piece],
    ) -> UnitJob:
        """The job that computes some reductions of a unit.

        Args:
            last: the last day of the system.
            carried: pieces of settings by day, of jobs so far; those of this one are added.
        """
        entries: dict[str, list[Entry]] = {}
        previous = None
        for work in (work for work in self.works if work.lineage.name in names):
            name, expected = work.lineage.name, work.state.expected
            days = [day for day in unit.days if name in missing.get(day, ())]
            entries[name] = [
                entry_of_days(
                    name, INTERVAL, unit.system, {d: (expected[unit.system, d], "") for d in group}
                )
                for group in by_file(days, last)
            ]
            if name == SETTINGS and unit.previous:
                previous = self._carried((unit.system, unit.previous), work.state, carried)
        carried |= {p.day: p for entry in entries.get(SETTINGS, ()) for p in entry.pieces()}
        of_runs = [w for w in self.whole if w.lineage.of_runs and not w.is_kept]
        whole = (w.entry for w in of_runs if self._is_all(unit))
        return UnitJob(self._site, unit, entries, previous, tuple(whole))

    def _carried(self, day: Day, state: ByDay, carried: Mapping[date, Piece]) -> Piece | None:
        """The piece with the settings at the end of a day: stored, or still to be computed."""
        if pieces := state.pieces.get(day):
            return pieces.get(INTERVAL) or next(iter(pieces.values()))
        return carried.get(day[1])

    def by_day(self, chain: Chain) -> list[Chain]:
        """Jobs of the single days of a unit that failed; settings stay together.

        A day that cannot be read, or is too large, stops no others. Empty if there is one day.
        """
        job = chain[0]
        if not isinstance(job, UnitJob) or len(job.unit.days) == 1 or {*job.missing} == {SETTINGS}:
            return []
        dumps = [dump for dump in self._dumps if dump.system == job.system]
        parts = []
        if settings := job.missing.get(SETTINGS):
            parts.append(replace(job, missing={SETTINGS: settings}, whole=()))
        for unit in units(dumps, days_of(dumps), job.unit.days, 0):
            (day,) = unit.days
            entries = {
                name: [
                    entry_of_days(name, INTERVAL, job.system, {day: entry.days[day]})
                    for entry in some
                    if day in entry.days
                ]
                for name, some in job.missing.items()
                if name != SETTINGS
            }
            parts.append(UnitJob(job.site, unit, entries))
        return [(part,) for part in parts]

    def _is_all(self, unit: Unit) -> bool:
        """Whether a unit covers all dumps and days of the store."""
        return len(unit.basis.others) == len(self._dumps) and [*unit.days] == days_of(self._dumps)
