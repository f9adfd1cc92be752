"""Results of reductions that are kept: computed once, read by every report until data changes.

    reduced/processors_by_time/level=hour/system=VMSYS1/2001-12-18-<version>.<shifts>.parquet
    reduced/processors_by_time/level=hour/system=VMSYS1/2001-11.<digest>.parquet
    reduced/run_summary-<version>.parquet

Rows of intervals are kept in a piece a day, with roll-ups of it beside it; anything else in one
file. The pieces of a month that is over are merged (`merging`). A name carries a version of all
that a result was made from: with another dump of that time, run, layout, user class or SQL the
version changes, the file is no longer read, and the reduction is computed live again. An outdated
result is never shown, but for one case: where the samples of a day were pruned, what was made of
them is all there is.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

import msgspec

from ..dumps.landed_dump import LandedDump, days_of
from ..dumps.store import Store
from .kept_files import FOLDER, Day, KeptFile, Piece, files_of, month_pieces, result_file, system_of
from .lineage import (
    Lineage,
    day_versions,
    definition_version,
    definitions_text,
    digest,
    lineages,
    whole_version,
)

if TYPE_CHECKING:
    from ..views.views import View

INTERVAL = "interval"
LEVELS = (INTERVAL, "15m", "hour")
"""From the finest to the coarsest. Days are summed up when they are read, since each zone has its
own: a report by days of 30 days with 400 users takes 0.9 s of processor time, of hours 0.7 s."""

DEFINITIONS = f"{FOLDER}/definitions.json"
"""The versions of the reductions' definitions, as of the last `cpmon reduce`."""

_PIECE = re.compile(
    rf"{FOLDER}/\w+/level=(\w+)/system=[^/]+/(\d{{4}}-\d\d-\d\d)-(\w+)(?:\.(\w+))?\.parquet"
)
"""Files of other names are the user's own."""


@dataclass(frozen=True, slots=True)
class Versions:
    """What each day rests on.

    Attributes:
        of_days: a version of the dumps of each day.
        pruned: days whose samples are gone, at least in part.
        months: reduction -> its pieces that are in files of months.
    """

    of_days: dict[Day, str]
    pruned: set[Day]
    months: Mapping[str, Sequence[Piece]]


@dataclass(slots=True)
class ByDay:
    """How far a reduction by time is kept.

    Attributes:
        expected: the version of each day that is in the store.
        pieces: what may be read of each day, by level.
        outdated: files that nobody reads any more; none of months, which a merge replaces.
        pruned: days whose samples are gone, at least in part.
    """

    name: str
    expected: dict[Day, str]
    pieces: dict[Day, dict[str, Piece]] = field(default_factory=dict)
    outdated: list[str] = field(default_factory=list)
    pruned: set[Day] = field(default_factory=set)

    @property
    def open(self) -> list[Day]:
        """Days of which nothing is kept, and which can be computed."""
        return [day for day in self.expected if day not in self.pieces and day not in self.pruned]

    def of_level(self, level: str) -> dict[Day, Piece]:
        """The pieces of one level."""
        return {day: levels[level] for day, levels in self.pieces.items() if level in levels}

    def of_levels(self, levels: Sequence[str]) -> list[Piece]:
        """The pieces of some levels, level by level."""
        return [piece for level in levels for piece in self.of_level(level).values()]

    def is_current(self, piece: Piece) -> bool:
        """Whether a piece was computed from what is in the store today."""
        return self.expected.get((piece.system, piece.day)) == piece.version


@dataclass(frozen=True, slots=True)
class Kept:
    """What the catalogue reads instead of computing it.

    Attributes:
        files: results of intervals; if it is open, only those of closed days.
        is_open: days are missing, so that it must be computed live, but for closed days.
        closed: days whose samples are gone, or of which only roll-ups are wanted.
        days: what is kept of each day; of no day if the reduction is not by time.
    """

    files: tuple[KeptFile, ...]
    is_open: bool = False
    closed: tuple[Day, ...] = ()
    days: ByDay = field(default_factory=lambda: ByDay("", {}))

    @property
    def tells_columns(self) -> bool:
        """Whether everything is read from files, and one of them has the columns of today."""
        fine = self.days.of_levels([INTERVAL])
        return not self.is_open and (not self.closed or any(map(self.days.is_current, fine)))

    @property
    def is_uniform(self) -> bool:
        """Whether all files have the columns of today: the first of them then tells of all."""
        return all(map(self.days.is_current, self.days.of_levels(LEVELS)))

    @property
    def rollups(self) -> tuple[KeptFile, ...]:
        """The files of all levels but the finest."""
        return files_of(self.days.of_levels(LEVELS[1:]))

    def newest(self, levels: Sequence[str]) -> str:
        """A file of some levels that has the columns of today, if there is one."""
        pieces = self.days.of_levels(levels)
        return max(pieces, key=lambda p: (self.days.is_current(p), p.day, p.file)).file


class KeptResults:
    """What is kept of the reductions of a store, looked up once it is asked for."""

    def __init__(self, store: Store, views: Sequence[View]) -> None:
        """Nothing is read yet."""
        self._store, self._results = store, dict[str, Kept | None]()
        self._lineages = {each.name: each for each in lineages(views) if each.public}

    def of(self, name: str) -> Kept | None:
        """What can be read of a reduction; None where nothing is kept of it."""
        if name not in self._results:
            lineage = self._lineages.get(name)
            self._results[name] = self._found(lineage) if lineage else None
        return self._results[name]

    def all(self) -> dict[str, Kept]:
        """What can be read of each reduction that has kept results."""
        return {name: result for name in self._lineages if (result := self.of(name))}

    def _found(self, lineage: Lineage) -> Kept | None:
        if not self._is_there(lineage.name):
            return None
        if lineage.by_time:
            state = by_day(self._store, lineage, self._versions)
            return _kept(state) if state.pieces or state.pruned else None
        file = whole_file(self._store, lineage, self._store.dumps())
        return Kept((KeptFile(file),)) if file in self._top[1] else None

    def _is_there(self, name: str) -> bool:
        folders, files = self._top
        if f"{FOLDER}/{name}" in folders or f"{FOLDER}/{name}" in files:
            return True
        return any(file.startswith(f"{FOLDER}/{name}-") for file in files) or (
            bool(folders or files) and bool(self._versions.pruned)
        )

    @functools.cached_property
    def _top(self) -> tuple[set[str], set[str]]:
        """The folders and files of results."""
        top = self._store.files.inside(FOLDER)
        return {*top.folders}, {file.name for file in top.files} - self._store.left_out.files

    @functools.cached_property
    def _versions(self) -> Versions:
        return versions_of(self._store, self._store.dumps())


def kept(store: Store, views: Sequence[View]) -> dict[str, Kept]:
    """What can be read of each reduction that has kept results."""
    return KeptResults(store, views).all()


def versions_of(store: Store, dumps: Sequence[LandedDump]) -> Versions:
    """What the days of some dumps rest on, whatever is computed of them."""
    versions = Versions({}, set(), month_pieces(store))
    for system, group in itertools.groupby(dumps, key=lambda dump: dump.system):
        of_system = list(group)
        for day, version in day_versions(of_system).items():
            versions.of_days[system, day] = version
        versions.pruned.update((system, day) for day in days_of(d for d in of_system if d.pruned))
    return versions


def states_by_day(store: Store, views: Sequence[View]) -> list[ByDay]:
    """How far each reduction by time is kept, of those that readers know."""
    versions = versions_of(store, store.dumps())
    by_time = (lineage for lineage in lineages(views) if lineage.by_time and lineage.public)
    return [by_day(store, lineage, versions) for lineage in by_time]


def by_day(store: Store, lineage: Lineage, versions: Versions) -> ByDay:
    """How far a reduction by time is kept."""
    of_lineage = definition_version(store, lineage)
    expected = {day: digest([of_lineage, version]) for day, version in versions.of_days.items()}
    state = ByDay(lineage.name, expected, pruned=versions.pruned)
    others: list[Piece] = []
    of_months = versions.months.get(lineage.name, ())
    for piece in itertools.chain(of_months, day_pieces(store, lineage.name)):
        if state.is_current(piece):
            _add(store, state, piece)
        else:
            others.append(piece)
    settled = set(state.pieces)
    for piece in others:
        where = (piece.system, piece.day)
        if where in state.pruned and where not in settled:
            _add(store, state, piece)
        else:
            _drop(state, piece)
    return state


def _add(store: Store, state: ByDay, piece: Piece) -> None:
    """Take a piece as that of its day and level; of two, one of which a kill left, the newer."""
    pieces = state.pieces.setdefault((piece.system, piece.day), {})
    if (other := pieces.get(piece.level)) is not None:
        piece, other = sorted((piece, other), key=lambda each: -store.files.changed(each.file))
        _drop(state, other)
    pieces[piece.level] = piece


def _drop(state: ByDay, piece: Piece) -> None:
    if piece.month is None:
        state.outdated.append(piece.file)


def day_pieces(store: Store, name: str) -> Iterator[Piece]:
    """All pieces of a reduction that are files of their own, up to date or not."""
    for file in store.files.names(f"{FOLDER}/{name}"):
        if file not in store.left_out.files and (match := _PIECE.fullmatch(file)):
            level, day, version, shifts = match.groups("")
            yield Piece(level, system_of(file), date.fromisoformat(day), version, shifts, file)


def piece_file(name: str, level: str, where: Day, version: str) -> str:
    """Where the piece of a day belongs. `version`: with that of the shifts, behind a dot."""
    system, day = where
    return result_file(name, level, system, f"{day}-{version}.parquet")


def meanings(store: Store, name: str) -> dict[str, str]:
    """What the columns of a reduction's roll-ups mean; nothing where that cannot be read."""
    try:
        return msgspec.json.decode(store.files.read(docs_file(name)), type=dict[str, str])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def docs_file(name: str) -> str:
    """Where it stands what the columns of a reduction's roll-ups say."""
    return f"{FOLDER}/{name}/columns.json"


def record_definitions(store: Store, views: Sequence[View]) -> None:
    """Write the versions of definitions, which only cpmon can compute, for other readers.

    This precedes the results, so that a killed process leaves no outdated result that looks
    current.
    """
    definitions = definitions_text(store, views).encode()
    if not store.files.exists(DEFINITIONS) or store.files.read(DEFINITIONS) != definitions:
        store.files.replace(DEFINITIONS, definitions)


def whole_file(store: Store, lineage: Lineage, dumps: Sequence[LandedDump]) -> str:
    """Where the result of a reduction that is not by time belongs."""
    return f"{FOLDER}/{lineage.name}-{whole_version(store, lineage, dumps)}.parquet"


def whole_files(store: Store, name: str) -> list[str]:
    """The files of a reduction that is not by time, up to date or not."""
    names = (each.name for each in store.files.inside(FOLDER).files)
    return [file for file in names if file.startswith(f"{FOLDER}/{name}-")]


def _kept(state: ByDay) -> Kept:
    fine, is_open = state.of_level(INTERVAL), bool(state.open)
    closed = {*state.pieces.keys() - fine.keys(), *state.pruned}
    files = files_of(piece for day, piece in fine.items() if day in closed or not is_open)
    return Kept(files, is_open, tuple(sorted(closed)), state)
