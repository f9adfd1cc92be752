"""Rows of landed tables straight from their files are those that the views show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpmon.ingest import ingest
from cpmon.store import Store
from cpmon.store.stored_rows import StoredRows, ticks
from tests.dumps import dump, fields, interval

CONFIG = fields("mtrsys", systmid="VM/TEST", systodst=0xB6E0000010000000) + fields(
    "mtrspr", interval=60
)
COLUMNS = ["system", "interval_end", "rdevdev", "scmssch"]


def landed(store: Store, folder: Path, *seconds: int) -> Path:
    """The folder of a new dump with a sample of a device at some times."""
    before = set(store.folders.dumps())
    samples = [interval(s, fields("ioddev", s, rdevdev=5, scmssch=s)) for s in seconds]
    file = folder / f"{seconds[0]}.mon"
    file.write_bytes(dump(interval(seconds[0] - 60, CONFIG), *samples))
    ingest(file, store)
    (new,) = set(store.folders.dumps()) - before
    return Path(new)


def ends(rows: pa.Table) -> list[int]:
    return sorted(rows.column("interval_end").cast(pa.int64()).to_pylist())


def everything(*dumps: Path) -> pa.Table:
    files = [pq.ParquetFile(folder / "ioddev.parquet") for folder in dumps]
    every = pa.concat_tables([file.read(["interval_end"]) for file in files])
    return StoredRows("ioddev", dumps, np.array(ends(every))).read(COLUMNS)


def test_ticks_are_microseconds_of_all_pieces():
    of_one = pa.array([3, 5, 7], pa.timestamp("us"))
    of_seconds = pa.array([1], pa.timestamp("s")).cast(pa.timestamp("us"))
    times = pa.chunked_array([of_one.slice(1), of_seconds])

    assert ticks(times).tolist() == [5, 7, 1_000_000]
    assert ticks(times.slice(1, 1)).tolist() == [7]
    assert ticks(times.cast(pa.timestamp("ns"))).tolist() == [5, 7, 1_000_000]
    assert ticks(times.slice(0, 0)).tolist() == []
    assert ticks(pa.chunked_array([], pa.timestamp("us"))).tolist() == []


def test_only_groups_of_rows_with_a_wanted_interval_are_read(store: Store, tmp_path: Path):
    early, late = landed(store, tmp_path, 60, 120), landed(store, tmp_path, 6000, 6060, 6120)
    every = ends(everything(early, late))
    assert len(every) == 5

    for wanted, read in (
        (every[:1], every[:2]),
        (every[1:2], every[:2]),
        (every[3:4], every[2:]),
        ([every[1] + 1], []),
        ([every[0] - 1, every[4] + 1], []),
        ([], []),
        (every, every),
    ):
        rows = StoredRows("ioddev", [early, late], np.array(wanted, dtype=np.int64))
        assert len(rows) == len(read)
        assert ends(rows.read(COLUMNS)) == read


def test_rows_say_their_place_and_have_the_types_of_the_table(store: Store, tmp_path: Path):
    folder = landed(store, tmp_path, 60)
    (row,) = everything(folder).to_pylist()
    assert (row["system"], row["rdevdev"], row["scmssch"]) == ("VM/TEST", 5, 60)
    none = StoredRows("ioddev", [], np.empty(0, dtype=np.int64))
    assert len(none) == 0
    assert none.read(COLUMNS).schema.equals(everything(folder).schema)


def test_what_another_version_of_a_layout_wrote_is_read_as_far_as_it_is_the_same(
    store: Store, tmp_path: Path
):
    folder, other = landed(store, tmp_path, 60), landed(store, tmp_path, 6000)
    file = folder / "ioddev.parquet"
    table = pq.ParquetFile(file).read()
    at = table.schema.get_field_index("rdevdev")
    table = table.set_column(at, "rdevdev", table.column(at).cast(pa.int64()))
    pq.write_table(table.drop_columns("scmssch"), file)
    times = ends(table) + ends(pq.ParquetFile(other / "ioddev.parquet").read())

    rows = StoredRows("ioddev", [folder, other], np.array(times))

    assert rows.has(["system", "scmssch"])
    assert rows.read(["scmssch"]).column("scmssch").to_pylist() == [None, 6000]
    assert not rows.has(COLUMNS)
    assert not rows.has(["no_column"])
    assert StoredRows("ioddev", [other], np.array(times)).has(COLUMNS)


def test_files_without_statistics_are_read_as_a_whole(store: Store, tmp_path: Path):
    folder = landed(store, tmp_path, 60, 120)
    file = folder / "ioddev.parquet"
    pq.write_table(pq.ParquetFile(file).read(), file, write_statistics=False)

    assert len(StoredRows("ioddev", [folder], np.array([0]))) == 2


def test_parts_have_all_rows_in_the_order_of_time(store: Store, tmp_path: Path):
    early, late = landed(store, tmp_path, 60, 120, 180), landed(store, tmp_path, 6000)
    for folder in (early, late):
        file = folder / "ioddev.parquet"
        pq.write_table(pq.ParquetFile(file).read(), file, row_group_size=1)
    every = ends(everything(early, late))

    def parts(rows: int, *dumps: Path) -> list[list[int]]:
        stored = StoredRows("ioddev", dumps, np.array(every))
        return [ends(part) for part in stored.parts(COLUMNS, rows)]

    assert parts(1, early, late) == [[end] for end in every]
    assert parts(2, early, late) == [every[:2], every[2:]], "small dumps together"
    assert parts(3, early, late) == [every[:3], every[3:]]
    assert parts(9, early) == [every[:3]]
    assert parts(1, late, early) == [every], "not in the order of time"
    assert parts(1) == [[]]


def test_files_without_statistics_are_one_part(store: Store, tmp_path: Path):
    folder = landed(store, tmp_path, 60, 120)
    file = folder / "ioddev.parquet"
    pq.write_table(pq.ParquetFile(file).read(), file, row_group_size=1, write_statistics=False)
    (part,) = StoredRows("ioddev", [folder], np.array([0])).parts(COLUMNS, 1)
    assert len(part) == 2
