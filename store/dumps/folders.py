"""The folders of landed dumps, by system and day; only a day that changed is listed again.

A store gets old, and nearly every question to it begins with which dumps there are. What is in a
folder can have changed only if the folder did, so that one look at a day stands for one at each of
its dumps. Whoever changes what is inside the folder of a dump has to `touch` that of its day.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SETTLED_NS = 2_000_000_000
"""A folder that changed this short a while before it was listed may change again unseen.

Times of change are no finer than that on some disks.
"""

Signature = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DayFolder:
    """The dumps of a system that begin on a day, as they are until one of them changes.

    Then another object stands for the day, so that what was found out can be kept by this one.

    Attributes:
        path: of the folder. dumps: paths of the folders in it, in any order.
    """

    path: str
    dumps: tuple[str, ...]


class Folders:
    """What is below the folder `records` of a store."""

    def __init__(self, records: Path) -> None:
        """Nothing is looked at yet."""
        self._records = str(records)
        self._systems: dict[str, tuple[Signature, list[str]]] = {}
        self._latest_first: list[str] = []
        self._days: dict[str, tuple[Signature, DayFolder]] = {}
        self._tables: dict[DayFolder, Mapping[str, Sequence[str]]] = {}

    def days(self) -> list[DayFolder]:
        """All days of all systems, in any order."""
        before, self._days, folders = self._days, {}, []
        for path in self._paths():
            current, settled = _signature(path)
            signature, day = before.get(path, ((), None))
            if day is None or signature != current:
                day = DayFolder(path, tuple(inside(path, "dump=")))
            if settled:
                self._days[path] = current, day
            folders.append(day)
        return folders

    def dumps(self) -> list[str]:
        """Paths of the folders of all dumps, in any order."""
        return [dump for day in self.days() for dump in day.dumps]

    def find(self, dump: str) -> str | None:
        """Path of the folder of a dump, by identity. It is looked for in the latest days first."""
        for day in self._paths():
            if os.path.exists(path := f"{day}/dump={dump}"):  # noqa: PTH110
                return path
        return None

    def tables(self) -> dict[str, list[str]]:
        """Each table that has landed -> paths of the folders of the dumps that have it."""
        before = self._tables
        by_table: dict[str, list[str]] = {}
        self._tables = {day: before[day] if day in before else _tables(day) for day in self.days()}
        for of_day in self._tables.values():
            for table, dumps in of_day.items():
                by_table.setdefault(table, []).extend(dumps)
        return by_table

    def _paths(self) -> list[str]:
        """The folders of all days, the latest first."""
        before, self._systems, same = self._systems, {}, True
        paths: list[str] = []
        for path in inside(self._records, "system="):
            current, settled = _signature(path)
            signature, days = before.get(path, ((), []))
            if signature != current or not settled:
                days, same = inside(path, "date="), False
            if settled:
                self._systems[path] = current, days
            paths += days
        if not same or len(paths) != len(self._latest_first):
            self._latest_first = sorted(paths, key=_date, reverse=True)
        return self._latest_first


def inside(folder: str | Path, begin: str) -> list[str]:
    """Paths of what is in a folder, if that is there, whose names begin so; in any order.

    Patterns take ten times as long.
    """
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.name.startswith(begin)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def touch(dump: Path) -> None:
    """Say that something inside the folder of a dump has changed.

    Raises:
        OSError: the disk refuses it.
    """
    os.utime(dump.parent)


def _signature(folder: str) -> tuple[Signature, bool]:
    """What changes with what is in a folder; and whether it would change again if that did now.

    A clock that was set back lets a folder be of the future: then it may have any time again.
    """
    try:
        status = os.stat(folder)  # noqa: PTH116
    except OSError:
        return (), False
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    place = status.st_dev, status.st_ino, status.st_nlink, status.st_size
    return (*place, status.st_mtime_ns, status.st_ctime_ns), time.time_ns() - changed > SETTLED_NS


def _date(path: str) -> str:
    return path.rpartition("=")[2]


def _tables(day: DayFolder) -> dict[str, list[str]]:
    by_table: dict[str, list[str]] = {}
    for dump in day.dumps:
        for file in inside(dump, ""):
            name, _, suffix = file[len(dump) + 1 :].rpartition(".")
            if suffix == "parquet":
                by_table.setdefault(name, []).append(dump)
    return by_table
