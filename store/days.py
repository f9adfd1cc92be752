"""Which days the dumps of a store hold intervals of.

What a dump holds never changes, so it is looked up once and remembered in `reduced/days.json`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import unquote

import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..schemas.errors import StoreError
from .store import Store, replace_durably

FILE = "days.json"
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Held:
    """What a dump holds.

    Attributes:
        folder: of the dump.
        system, dump: its names.
        begins: the first day that it can have a say in, UTC.
        days: those on which intervals end that it closes; one that ends at midnight ends the day.
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
    file = store.root / "reduced" / FILE
    known = _read(file)
    found = [_held(folder, known) for folder in dump_folders(store)]
    facts = {one.dump: [[str(day) for day in one.days], one.nominal] for one in found}
    if file.parent.exists() and facts.keys() - known.keys():
        with suppress(
            OSError, StoreError
        ):  # a disk that cannot be written serves readers all the same
            replace_durably(file, json.dumps(facts))
    return sorted(found, key=lambda one: (one.system, one.begins, one.dump))


def days_of(dumps: Iterable[Held]) -> list[date]:
    """All days on which their intervals end, in order."""
    return sorted({day for one in dumps for day in one.days})


def dump_folders(store: Store) -> Iterator[Path]:
    """The folders of all dumps. Patterns take ten times as long, and a store gets old."""
    for system in inside(store.records, "system="):
        for day in inside(system, "date="):
            for dump in inside(day, "dump="):
                yield Path(dump)


def inside(folder: str | Path, begin: str) -> list[str]:
    """Paths of what is in a folder, if that is there, whose names begin so; in any order."""
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.name.startswith(begin)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _held(folder: Path, known: dict[str, tuple[Sequence[date], bool]]) -> Held:
    place = str(folder)  # parts of a Path take four times as long, for each dump, each time
    system, landed_on, dump = (part.partition("=")[2] for part in place.rsplit(os.sep, 3)[1:])
    system, landed = unquote(system), date.fromisoformat(landed_on)
    days, nominal = known[dump] if dump in known else _look(folder / "interval.parquet")
    pruned = os.path.exists(f"{place}/{PRUNED}")  # noqa: PTH110
    return Held(folder, system, dump, min([landed, *days]), tuple(days), nominal, pruned)


def _look(file: Path) -> tuple[list[date], bool]:
    """The days of a dump's intervals, and whether each has its nominal length."""
    if not file.exists():
        return [], True
    table = pq.ParquetFile(file).read(["interval_end", "nominal_s"])
    ends = table.column("interval_end").drop_null()
    if not len(ends):
        return [], True
    days = pc.cast(pc.floor_temporal(pc.subtract(ends, _TICK), unit="day"), "date32")
    return sorted(pc.unique(days).to_pylist()), table.column("nominal_s").null_count == 0


def _read(file: Path) -> dict[str, tuple[Sequence[date], bool]]:
    """What is remembered; nothing where the file is missing or damaged."""
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        return {
            dump: ([date.fromisoformat(day) for day in days], bool(nominal))
            for dump, (days, nominal) in said.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
