"""Materialized results of reductions: computed once, read by every report until data changes.

    reduced/processors_by_time/level=hour/system=VMSYS1/2001-12-18.<token>.parquet
    reduced/processors_by_time/level=hour/system=VMSYS1/2001-11.<token>.parquet
    reduced/run_summary.<token>.parquet

A reduction by time is stored in a piece per day, with a piece for each roll-up level; any other
in one file. The pieces of a past month are merged (`merging`). The manifest has the version of
everything that a result was computed from (`entries`): a new dump of that time, or another run,
layout, user class or SQL changes the version; the file is then no longer read and the reduction is
computed live again. Outdated results are never shown, with one exception: if the samples of a day
were pruned, they cannot be computed again.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from ..format.landed_dump import LandedDump, days_of
from ..format.manifest import month_folder
from ..format.store import Store
from ..sql.scope import ALL, Scope
from .entries import FOLDER, NOT_BY_TIME, Day, Entries, Entry, Piece, new_name
from .lineage import (
    Lineage,
    day_versions,
    definition_version,
    definitions_text,
    digest,
    lineages,
    whole_version,
)
from .result_files import ResultFile, files_of

if TYPE_CHECKING:
    from ..sql.views import View

INTERVAL = "interval"
LEVELS = (INTERVAL, "hour")
"""From the finest to the coarsest. Days are aggregated on read, since they depend on the time zone:
a report by days over 30 days with 400 users takes 0.9 s of processor time, by hours 0.7 s."""

DEFINITIONS = f"{FOLDER}/definitions.json"
"""Versions of the definitions of reductions at the last `cpmon reduce`."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of the dumps that each day of a scope depends on, and what else reductions share.

    Attributes:
        of_days: day -> version of its dumps.
        pruned: days whose samples were pruned, at least in part.
        entries: those of the months of these days, at least.
    """

    of_days: Mapping[Day, str]
    pruned: set[Day]
    entries: Entries


@dataclass(slots=True)
class ByDay:
    """The materialized days of a reduction by time.

    Attributes:
        expected: day in the store -> current version.
        pieces: day -> level -> readable piece.
        outdated: pieces in files of which no piece is read.
        pruned: days whose samples were pruned, at least in part.
    """

    name: str
    expected: dict[Day, str]
    pieces: dict[Day, dict[str, Piece]] = field(default_factory=dict)
    outdated: list[Piece] = field(default_factory=list)
    pruned: set[Day] = field(default_factory=set)

    @property
    def open(self) -> list[Day]:
        """Days that are not materialized but can be computed."""
        return [day for day in self.expected if day not in self.pieces and day not in self.pruned]

    def of_level(self, level: str) -> dict[Day, Piece]:
        """The pieces of one level."""
        return {day: levels[level] for day, levels in self.pieces.items() if level in levels}

    def of_levels(self, levels: Sequence[str]) -> list[Piece]:
        """The pieces of some levels, level by level."""
        return [piece for level in levels for piece in self.of_level(level).values()]

    def is_current(self, piece: Piece) -> bool:
        """Whether a piece has the current version of its day."""
        return self.expected.get((piece.system, piece.day)) == piece.version


@dataclass(frozen=True, slots=True)
class Materialized:
    """The materialized results of a reduction, as the catalogue reads them.

    Attributes:
        files: results of intervals; only those of closed days if `is_open`.
        is_open: days are missing, so that all but closed days must be computed live.
        closed: days that are never computed live: pruned ones, and those with only roll-ups.
        days: the materialized days; empty if the reduction is not by time.
    """

    files: tuple[ResultFile, ...]
    is_open: bool = False
    closed: tuple[Day, ...] = ()
    days: ByDay = field(default_factory=lambda: ByDay("", {}))

    @property
    def tells_columns(self) -> bool:
        """Whether all rows are read from files, and one of these has the current columns."""
        fine = self.days.of_levels([INTERVAL])
        return not self.is_open and (not self.closed or any(map(self.days.is_current, fine)))

    @property
    def is_uniform(self) -> bool:
        """Whether all files have the current columns, so that the first defines the schema."""
        return all(map(self.days.is_current, self.days.of_levels(LEVELS)))

    @property
    def rollups(self) -> tuple[ResultFile, ...]:
        """The files of all levels but the finest."""
        return files_of(self.days.of_levels(LEVELS[1:]))

    def newest(self, levels: Sequence[str]) -> str:
        """The newest file of some levels; one with the current columns if there is any."""
        pieces = self.days.of_levels(levels)
        return max(pieces, key=lambda p: (self.days.is_current(p), p.day, p.file)).file


class MaterializedResults:
    """The materialized results of the days of a scope, looked up on demand and cached."""

    def __init__(self, store: Store, views: Sequence[View], scope: Scope = ALL) -> None:
        """Reads nothing."""
        self._store, self._views, self._scope = store, views, scope
        self._results = dict[str, Materialized | None]()

    @functools.cached_property
    def _lineages(self) -> dict[str, Lineage]:
        return {lineage.name: lineage for lineage in lineages(self._views) if lineage.public}

    def of(self, name: str) -> Materialized | None:
        """The results of a reduction; None if nothing is materialized."""
        if name not in self._results:
            lineage = self._lineages.get(name)
            self._results[name] = self._look_up(lineage) if lineage else None
        return self._results[name]

    def all(self) -> dict[str, Materialized]:
        """Reduction -> its results, of those that have any."""
        return {name: result for name in self._lineages if (result := self.of(name))}

    def _look_up(self, lineage: Lineage) -> Materialized | None:
        if lineage.by_time:
            state = by_day(self._store, lineage, self._versions)
            return _kept(state) if state.pieces or state.pruned else None
        kept = self._not_by_time.of(lineage.name)
        version = whole_version(self._store, lineage, self._store.dumps()) if kept else ""
        files = tuple(ResultFile(entry.file) for entry in kept if entry.version == version)
        return Materialized(files) if files else None

    @functools.cached_property
    def _not_by_time(self) -> Entries:
        return Entries(self._store, [NOT_BY_TIME])

    @functools.cached_property
    def _versions(self) -> Versions:
        return versions_of(self._store, self._store.dumps(), self._scope)


def kept(store: Store, views: Sequence[View]) -> dict[str, Materialized]:
    """Reduction -> its materialized results, of those that have any."""
    return MaterializedResults(store, views).all()


def versions_of(
    store: Store, dumps: Sequence[LandedDump], scope: Scope = ALL, entries: Entries | None = None
) -> Versions:
    """Versions of the days of a scope, independent of a reduction.

    Args:
        dumps: all dumps of the store.
        entries: those of the store, if they were read.
    """
    of_days: dict[Day, str] = {}
    pruned: set[Day] = set()
    for system, group in itertools.groupby(dumps, key=lambda dump: dump.system):
        if scope.has_system(system):
            system_dumps = list(group)
            versions = day_versions(system_dumps)
            of_days |= {(system, day): v for day, v in versions.items() if scope.has_day(day)}
            days = days_of(dump for dump in system_dumps if dump.pruned)
            pruned |= {(system, day) for day in days if scope.has_day(day)}
    months = None
    if scope != ALL:
        months = {month_folder(system, f"{day:%Y-%m}") for system, day in (*of_days, *pruned)}
    return Versions(of_days, pruned, entries or Entries(store, months))


def states_by_day(store: Store, views: Sequence[View]) -> list[ByDay]:
    """The materialized days of each public reduction by time."""
    versions = versions_of(store, store.dumps())
    by_time = (lineage for lineage in lineages(views) if lineage.by_time and lineage.public)
    return [by_day(store, lineage, versions) for lineage in by_time]


def by_day(store: Store, lineage: Lineage, versions: Versions) -> ByDay:
    """The materialized days of a reduction by time."""
    definition = definition_version(store, lineage)
    expected = {day: digest([definition, version]) for day, version in versions.of_days.items()}
    state = ByDay(lineage.name, expected, pruned=versions.pruned)
    pieces = [*versions.entries.pieces(lineage.name)]
    _add(state, (piece for piece in pieces if state.is_current(piece)))
    pruned = state.pruned - state.pieces.keys()  # these cannot be computed again
    _add(state, (p for p in pieces if (p.system, p.day) in pruned))
    read = {piece.file for levels in state.pieces.values() for piece in levels.values()}
    state.outdated = [piece for piece in pieces if piece.file not in read]
    return state


def _add(state: ByDay, pieces: Iterable[Piece]) -> None:
    """Adds pieces; of two of a day and level the later entry is read."""
    for piece in pieces:
        state.pieces.setdefault((piece.system, piece.day), {})[piece.level] = piece


def meanings(store: Store, name: str) -> dict[str, str]:
    """Column -> meaning, of the roll-ups of a reduction; empty if it cannot be read."""
    try:
        return msgspec.json.decode(store.files.read(docs_file(name)), type=dict[str, str])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def docs_file(name: str) -> str:
    """Path of the file with the meanings of the columns of a reduction's roll-ups."""
    return f"{FOLDER}/{name}/columns.json"


def record_definitions(store: Store, views: Sequence[View]) -> None:
    """Writes the versions of definitions, which only cpmon can compute, for other programs.

    Called before results are written, so that an outdated result never looks current, even after a
    kill.
    """
    definitions = definitions_text(store, views).encode()
    if not store.files.exists(DEFINITIONS) or store.files.read(DEFINITIONS) != definitions:
        store.files.replace(DEFINITIONS, definitions)


def whole_entry(store: Store, lineage: Lineage, dumps: Sequence[LandedDump]) -> Entry:
    """The entry of the result of a reduction that is not by time."""
    version = whole_version(store, lineage, dumps)
    return Entry(lineage.name, f"{FOLDER}/{new_name(lineage.name)}", version=version)


def _kept(state: ByDay) -> Materialized:
    fine, is_open = state.of_level(INTERVAL), bool(state.open)
    closed = {*state.pieces.keys() - fine.keys(), *state.pruned}
    files = files_of(piece for day, piece in fine.items() if day in closed or not is_open)
    return Materialized(files, is_open, tuple(sorted(closed)), state)
