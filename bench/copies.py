"""Old stores, quickly made: one dump that has landed, copied under other days; their results."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Container, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cpmon.core.grace_period import INSIDE
from cpmon.store import Store
from cpmon.store.format.landed_dump import ABOUT, interval_facts, line
from cpmon.store.format.staging import settings
from cpmon.store.results.entries import Entries

TIMES = ("tod", "tod_us", "interval_end", "interval_end_us")
"""Columns that are later in a copy; the clocks in fields stay, but for `CLOCKS`."""
CLOCKS = {"timestamp": 4096, "time_stamp": 1}
"""Clock of a block of a guest, which no other block has -> its units of a microsecond."""
MICROSECOND = timedelta(microseconds=1)


def copy_dump(
    folder: Path, delays: Iterable[timedelta], moved: Container[str] | None = None
) -> None:
    """Copy a landed dump so often, each as late as a delay says, without a look at its records.

    The manifest of the store does not know the copies: it is to be made again.

    Args:
        folder: of the dump, `records/system=.../date=.../dump=.../<token>`.
        moved: tables that are written anew, all by default; the others are linked, and keep their
            times: nobody may ask for them.
    """
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    tables, links = {}, []
    for path in folder.glob("*.parquet"):
        if moved is None or path.stem in moved:
            file = pq.ParquetFile(path)
            tables[path.name] = file.read(), _most_rows(file)
        else:
            links.append(path)
    system, records = folder.parents[2], folder.parents[3]
    first, last = (datetime.fromisoformat(about[key]) for key in ("first_tod", "last_tod"))

    def copy(delay: timedelta) -> None:
        name = hashlib.blake2b(f"{about['dump']}{delay}".encode(), digest_size=16).hexdigest()
        target = system / f"date={(first + delay).date()}" / f"dump={name}" / folder.name
        target.mkdir(parents=True)
        for file, (table, rows) in tables.items():
            later = _later(table, delay)
            pq.write_table(later, target / file, row_group_size=rows, **settings(later.schema))
        for path in links:
            os.link(path, target / path.name)
        changes = {
            "dump": name,
            "folder": str(target.relative_to(records.parent)),
            "first_tod": (first + delay).isoformat(),
            "last_tod": (last + delay).isoformat(),
            "landed_on": str((first + delay).date()),
            **interval_facts(target / "interval.parquet"),
        }
        (target / ABOUT).write_text(line({**about, **changes}))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(copy, delays):
            pass


def _most_rows(file: pq.ParquetFile) -> int:
    """The rows of the largest row group; 1 where there is none."""
    groups = range(file.metadata.num_row_groups)
    counts: list[int] = [file.metadata.row_group(n).num_rows for n in groups]
    return max([1, *counts])


def _later(table: pa.Table, delay: timedelta) -> pa.Table:
    """A table with its times moved."""
    units = dict.fromkeys(TIMES, 1) | CLOCKS
    for place, column in enumerate(table.schema):
        if column.name in units:
            kind = pa.uint64() if pa.types.is_uint64(column.type) else pa.int64()
            numbers = table.column(place).combine_chunks().cast(kind)
            by = np.array(delay // MICROSECOND * units[column.name]).astype(kind.to_pandas_dtype())
            later = numbers.fill_null(0).to_numpy() + by
            moved = pa.array(later, mask=~numbers.is_valid().to_numpy(zero_copy_only=False))
            table = table.set_column(place, column, moved.cast(column.type))
    return table


def pieces(store: Store) -> dict[str, bytes]:
    """The rows of all results of a store, of each day for itself whatever file has them."""
    found = {}
    for entry in sorted(Entries(store).all(), key=lambda entry: entry.file):
        folder, file = store.root / "reduced", store.root / entry.file
        table = pq.ParquetFile(file).read()
        for piece in entry.pieces():
            ends = pc.subtract(table["interval_end"], pa.scalar(INSIDE))
            rows = table.filter(pc.equal(ends.cast(pa.date32()), pa.scalar(piece.day)))
            name = ".".join(filter(None, [f"{piece.day}-{piece.version}", piece.shifts]))
            found[str(file.parent.relative_to(folder) / f"{name}.parquet")] = _bytes(rows)
        if not entry.days:
            found[f"{entry.result}-{entry.version}"] = _bytes(table)
    return found


def _bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema.remove_metadata()) as stream:
        stream.write_table(rows.replace_schema_metadata(None).combine_chunks())
    return bytes(sink.getvalue())
