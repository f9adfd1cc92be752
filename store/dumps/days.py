"""Which days the dumps of a store hold intervals of.

What a dump holds never changes, so it is looked up once and remembered in `reduced/days.json`.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import pyarrow.parquet as pq

from ...schemas.errors import StoreError
from .disk import replace_durably
from .folders import DayFolder
from .grace_period import INSIDE, INSIDE_US
from .store import Store

FILE = "days.json"
INSIDE_KEY = "inside_us"

Facts = tuple[tuple[date, ...], bool]
"""Of a dump: `days` and `nominal` as `Held` has them. They never change."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a dump holds.

    Attributes:
        folder: of the dump.
        system, dump: its names.
        begins: the first day that it can have a say in, UTC.
        days: those that the intervals count to which it closes, as `grace_period` has it.
        nominal: every interval says how long it should be, so no other dump is asked for it.
        pruned: its samples were removed; what was reduced from them stands.
    """

    folder: Path
    system: str
    dump: str
    begins: date
    days: tuple[date, ...]
    nominal: bool
    pruned: bool = False


PRUNED = "pruned.json"
"""The file in a dump's folder that says when its samples were removed."""


def held(store: Store) -> list[Held]:
    """What every dump holds, by system, begin and dump."""
    return _KNOWN.setdefault(store, _Known()).held(store)


class _Known:
    """What is known of the dumps of a store: only days that changed are looked at again."""

    def __init__(self) -> None:
        self._facts: dict[str, Facts] = {}
        self._is_remembered = True
        self._of_day: dict[DayFolder, list[Held]] = {}
        self._all: list[Held] = []

    def held(self, store: Store) -> list[Held]:
        """What every dump holds."""
        days = store.folders.days()
        file = store.root / "reduced" / FILE
        if list(self._of_day) != days:
            self._look(days, file)
        if not self._is_remembered and file.parent.exists():
            self._is_remembered = _remember(file, self._all)
        return self._all.copy()

    def _look(self, days: Sequence[DayFolder], file: Path) -> None:
        changed = [day for day in days if day not in self._of_day]
        new = {dump for day in changed for dump in map(_name, day.dumps)}
        if not new <= self._facts.keys():
            self._facts = _read(file) | self._facts
        self._is_remembered &= new <= self._facts.keys()
        fresh = {day: [_held(dump, self._facts) for dump in day.dumps] for day in changed}
        by_day = self._of_day | fresh
        self._of_day = {day: by_day[day] for day in days}
        dumps = itertools.chain.from_iterable(self._of_day.values())
        self._all = sorted(dumps, key=lambda one: (one.system, one.begins, one.dump))


_KNOWN: WeakKeyDictionary[Store, _Known] = WeakKeyDictionary()


def days_of(dumps: Iterable[Held]) -> list[date]:
    """All days on which their intervals end, in order."""
    return sorted({day for dump in dumps for day in dump.days})


def _name(place: str) -> str:
    """Identity of the dump in a folder."""
    return place.rpartition("=")[2]


def _held(place: str, facts: dict[str, Facts]) -> Held:
    """What the dump in a folder holds; `facts` gets what was not known of it."""
    # Parts of a Path take four times as long, for each dump.
    system, landed_on, dump = (part.partition("=")[2] for part in place.rsplit(os.sep, 3)[1:])
    system, landed = unquote(system), date.fromisoformat(landed_on)
    if dump not in facts:
        facts[dump] = _look(Path(place) / "interval.parquet")
    days, nominal = facts[dump]
    pruned = os.path.exists(f"{place}/{PRUNED}")  # noqa: PTH110
    return Held(Path(place), system, dump, min([landed, *days]), days, nominal, pruned)


def _look(file: Path) -> Facts:
    """The days of a dump's intervals, and whether each has its nominal length."""
    if not file.exists():
        return (), True
    table = pq.ParquetFile(file).read(["interval_end", "nominal_s"])
    ends = table.column("interval_end").drop_null()
    # Functions of pyarrow with a scalar import pandas, which takes a third of a second.
    days = {(end - INSIDE).date() for end in ends.to_pylist()}
    return tuple(sorted(days)), table.column("nominal_s").null_count == 0


def _remember(file: Path, dumps: Sequence[Held]) -> bool:
    """Write it down; False on a disk that cannot be written, which serves readers all the same."""
    facts = {dump.dump: [[str(day) for day in dump.days], dump.nominal] for dump in dumps}
    try:
        replace_durably(file, json.dumps({INSIDE_KEY: INSIDE_US, "dumps": facts}))
    except (OSError, StoreError):
        return False
    return True


def _read(file: Path) -> dict[str, Facts]:
    """What is remembered; nothing where the file is missing or damaged."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        if document.get(INSIDE_KEY) != INSIDE_US:  # intervals counted to other days
            return {}
        return {
            dump: (tuple(map(date.fromisoformat, days)), bool(nominal))
            for dump, (days, nominal) in document["dumps"].items()
        }
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return {}
