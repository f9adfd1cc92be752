"""Old stores, quickly made: one dump that has landed, copied under other days and names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cpmon.store.dumps.landed_dump import ABOUT, interval_facts, line
from cpmon.store.dumps.parquet import settings

TIMES = ("tod", "tod_us", "interval_end", "interval_end_us")
"""Columns that are later in a copy; the clocks in fields stay."""
MICROSECOND = timedelta(microseconds=1)


def copy_dump(folder: Path, delays: Iterable[timedelta]) -> None:
    """Copy a landed dump so often, each as late as a delay says, without a look at its records.

    The manifest of the store does not know the copies: it is to be made again.

    Args:
        folder: of the dump, below `records/system=.../date=.../`.
    """
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    files = {file.name: pq.ParquetFile(file) for file in folder.glob("*.parquet")}
    tables = {name: (file.read(), _most_rows(file)) for name, file in files.items()}
    system = folder.parent.parent
    first, last = (datetime.fromisoformat(about[key]) for key in ("first_tod", "last_tod"))
    for delay in delays:
        name = hashlib.blake2b(f"{about['dump']}{delay}".encode(), digest_size=16).hexdigest()
        target = system / f"date={(first + delay).date()}" / f"dump={name}"
        target.mkdir(parents=True)
        for file, (table, rows) in tables.items():
            later = _later(table, delay)
            pq.write_table(later, target / file, row_group_size=rows, **settings(later.schema))
        changes = {
            "dump": name,
            "first_tod": (first + delay).isoformat(),
            "last_tod": (last + delay).isoformat(),
            "landed_on": str((first + delay).date()),
            **interval_facts(target / "interval.parquet"),
        }
        (target / ABOUT).write_text(line({**about, **changes}))


def _most_rows(file: pq.ParquetFile) -> int:
    """The rows of the largest row group; 1 where there is none."""
    groups = range(file.metadata.num_row_groups)
    counts: list[int] = [file.metadata.row_group(n).num_rows for n in groups]
    return max([1, *counts])


def _later(table: pa.Table, delay: timedelta) -> pa.Table:
    """A table with its times moved."""
    for place, column in enumerate(table.schema):
        if column.name in TIMES:
            numbers = table.column(place).combine_chunks().cast(pa.int64())
            later = numbers.fill_null(0).to_numpy() + delay // MICROSECOND
            moved = pa.array(later, mask=~numbers.is_valid().to_numpy(zero_copy_only=False))
            table = table.set_column(place, column, moved.cast(column.type))
    return table
