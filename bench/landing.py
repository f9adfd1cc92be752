"""From a dump to durable Parquet, against writing the same tables when they are decoded."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cpmon.ingest import ingest
from cpmon.ingest.container.source import open_source
from cpmon.ingest.container.windows import prefetch, windows
from cpmon.ingest.decode.reader import Reader
from cpmon.store import Store
from cpmon.store.format.staging import TableWriter

from .machine import MEGA
from .result import Bar, Row, Section
from .timing import Contestant, best_seconds

LANDING_BAR = 0.7
INGEST, WRITE, DECODE, READ = "ingest", "write decoded tables", "decode, write nothing", "read"
NOTES = {
    INGEST: "dump to published store, every file synced",
    WRITE: "store.parquet.TableWriter, one thread, every file synced",
    DECODE: "read, hash, index and decode",
    READ: "read and hash",
}

Tables = list[tuple[str, pa.Table]]


def measure(dump: Path, repetitions: int) -> list[Section]:
    """One section.

    Raises:
        AssertionError: the store does not hold what was decoded.
    """
    tables = decoded_tables(dump)
    with tempfile.TemporaryDirectory(dir=dump.parent) as name:
        folder = Path(name)
        best = best_seconds(_contestants(dump, tables, folder), repetitions)
        check_same(folder / "last-store", folder / "last-tables")
    size = dump.stat().st_size
    rows = [
        Row(
            name,
            {"MB/s": size / MEGA / seconds, "s": seconds, "ingest is": seconds / best[INGEST]},
            NOTES[name],
        )
        for name, seconds in best.items()
    ]
    held = sum(table.nbytes for _, table in tables)
    given = (
        f"dump of {size / MEGA:.1f} MB in the page cache, {held / MEGA:.1f} MB as Arrow, "
        f"{len({name for name, _ in tables})} tables; MB/s are of the dump; best of {repetitions}"
    )
    bar = Bar("ingest / write decoded tables", best[WRITE] / best[INGEST], LANDING_BAR)
    return [Section("Dump to durable Parquet", given, tuple(rows), (bar,))]


def decoded_tables(dump: Path) -> Tables:
    """Every table of a dump, as ingest hands them to the writers."""
    with open_source(dump) as source:
        reader = Reader(source)
        pending = prefetch(windows(source, reader.framer))
        return [*itertools.chain.from_iterable(map(reader.tables, pending)), *reader.rest()]


def check_same(store: Path, folder: Path) -> None:
    """Raise AssertionError unless the one dump of a store has the tables of the folder."""
    landed = next(store.glob("records/*/*/*/*"))
    for file in sorted(folder.glob("*.parquet")):
        if not _read(landed / file.name).equals(_read(file)):
            raise AssertionError(f"{file.stem} did not land as it was decoded")


def _read(path: Path) -> pa.Table:
    """A Parquet file as it is, whatever the names of the folders around it say."""
    return pq.ParquetFile(path).read()


def _contestants(dump: Path, tables: Tables, folder: Path) -> dict[str, Contestant]:
    """Each makes its folder anew; the removal of the one before counts for all of them."""

    def land() -> None:
        shutil.rmtree(folder / "last-store", ignore_errors=True)
        ingest(dump, Store(folder / "last-store", create=True))

    def write() -> None:
        shutil.rmtree(folder / "last-tables", ignore_errors=True)
        write_tables(tables, folder / "last-tables")

    def decode_only() -> None:
        with open_source(dump) as source:
            reader = Reader(source)
            for window in prefetch(windows(source, reader.framer)):
                reader.tables(window)

    def read_only() -> None:
        scratch = memoryview(bytearray(1024 * 1024))
        with open_source(dump) as source:
            while source.readinto(scratch) == len(scratch):
                pass

    return {INGEST: land, WRITE: write, DECODE: decode_only, READ: read_only}


def write_tables(tables: Tables, folder: Path) -> None:
    """Tables to one durable file each, by the writer and the settings that ingest uses."""
    folder.mkdir(parents=True)
    writers: dict[str, TableWriter] = {}
    for name, table in tables:
        if name not in writers:
            writers[name] = TableWriter(folder / f"{name}.parquet", table.schema)
        writers[name].write(table)
    for writer in writers.values():
        writer.close()
