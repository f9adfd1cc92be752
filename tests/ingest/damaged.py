"""What a damaged dump landed as, held against the rows of the undamaged one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cpmon.ingest import Code

BESIDE = {"interval", "finding", "quarantine"}
FEW = "useact", "sytprp", "ioddev"
"""Tables whose deltas are judged of most dumps."""

Offsets = np.ndarray[Any, np.dtype[np.int64]]
Back = Callable[[Offsets], Offsets]


@dataclass(frozen=True)
class Seen:
    """A dump as it landed. `told`: code -> offset of the first, and count."""

    tables: dict[str, pa.Table]
    told: dict[Code, tuple[int, int]]
    about: dict[str, Any]


def at_home(offsets: Offsets) -> Offsets:
    return offsets


def shifted(at: int, by: int) -> Back:
    """Where rows were before bytes were put in at `at`, or taken out; -1 for those put in."""

    def back(offsets: Offsets) -> Offsets:
        moved = np.where(offsets >= at + max(by, 0), offsets - by, offsets)
        return np.where((offsets >= at) & (offsets < at + by), -1, moved)

    return back


def check_rows(
    seen: Seen,
    intact: Seen,
    lost: range = range(0),
    back: Back = at_home,
    without: tuple[str, ...] = (),
) -> None:
    """The rows of records that no damage touched are equal in all tables, and none is missing.

    Args:
        lost: offsets in the intact dump whose records are not compared.
        back: offsets in the intact dump of those in the damaged one; -1 for what is new.
        without: columns that are not compared.
    """
    names = (seen.tables.keys() | intact.tables.keys()) - BESIDE - {"record_raw"}
    for name in names:
        first = next(s.tables[name] for s in (intact, seen) if name in s.tables)
        tables = (s.tables.get(name, first.slice(0, 0)) for s in (intact, seen))
        mine, other = (
            _plain(table, lost, where, without)
            for table, where in zip(tables, (at_home, back), strict=True)
        )
        assert mine.equals(other), name


def _plain(table: pa.Table, lost: range, back: Back, without: tuple[str, ...]) -> pa.Table:
    offsets = back(table["record_offset"].to_numpy().astype(np.int64))
    kept = (offsets >= 0) & ((offsets < lost.start) | (offsets >= lost.stop))
    number = table.column_names.index("record_offset")
    table = table.set_column(number, "record_offset", pa.array(offsets)).filter(pa.array(kept))
    for place, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            text = table[column.name].cast(column.type.value_type)
            table = table.set_column(place, column.name, text)
    keys = [key for key in ("record_offset", "entry") if key in table.column_names]
    ordered = table.sort_by([(key, "ascending") for key in keys])
    return ordered.drop_columns([c for c in without if c in table.column_names])
