"""A changed dump through the readers of cpmon, and what must be there of it all the same."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpmon.cli.dump.diagnosis import check_dump
from cpmon.ingest import ingest
from cpmon.ingest.container.source import Container, Source
from cpmon.ingest.container.windows import windows
from cpmon.ingest.decode.reader import Reader
from cpmon.ingest.inspect.inventory import take_inventory
from cpmon.store import Store
from tests.generate.plain_reader import FRAME

from .fuzz_claims import claimed, end_claims, set_claims, shifted_claims
from .fuzz_mutations import Bent
from .fuzz_seeds import I64, Seed

BESIDE = ("interval", "finding", "quarantine")
"""Tables whose rows are no records."""


class Lost(AssertionError):
    """A reader broke a promise: a good record is not there, or bytes are not accounted for."""


@dataclass(frozen=True)
class Read:
    """What a reader made of a dump. `tables`: rows by table, in the order of the dump."""

    tables: dict[str, pa.Table]
    release: str
    codes: frozenset[str]


@dataclass
class Oracle:
    """Knows what is in the good dumps: read once, and compared with the independent reader."""

    intact: dict[str, Read] = field(default_factory=dict)

    def learn(self, seed: Seed) -> None:
        """Read a good dump; every record that the independent reader finds must be there."""
        read = read_tables(seed.data, _container(seed))
        expected = {start for unit in seed.units for start in unit.records}
        if expected != set(_offsets(read).tolist()):
            raise Lost(f"the readers do not agree on {seed.name}")
        self.intact[seed.name] = read

    def check(self, bent: Bent, read: Read, *, values: bool = True) -> int:
        """Compare; returns how many records had to be there.

        Args:
            values: whether their values are compared as well.

        Raises:
            Lost: one of them is not, or has other values.
        """
        home, now = survivors(bent)
        missing = ~np.isin(now, _offsets(read))
        if missing.any():
            at, was = int(now[missing][0]), int(home[missing][0])
            raise Lost(
                f"{int(missing.sum())} good records are lost, the first at {at:#x} (was {was:#x})"
            )
        intact = self.intact[bent.seed.name]
        if values and len(now) and read.release == intact.release:
            _check_values(intact, read, home, now)
        return len(now)


def survivors(bent: Bent) -> tuple[I64, I64]:
    """Offsets, before and now, of the records of units that no change has touched."""
    before: list[int] = []
    now: list[int] = []
    if not len(bent.home):
        return np.array(before, np.int64), np.array(now, np.int64)
    broken = np.flatnonzero(np.diff(bent.home) != 1)
    if bent.seed.captured:
        claims = set_claims(bent.data)
    else:
        data = bent.data.tobytes()
        claims = np.concatenate([end_claims(data), shifted_claims(data)])
    for unit in bent.seed.units:
        for at in np.flatnonzero(bent.home == unit.first).tolist():
            behind = at + unit.behind - unit.first
            if behind > len(bent.home) or (unit.aligned and at % FRAME):
                continue
            if np.searchsorted(broken, at) != np.searchsorted(broken, behind - 1):
                continue
            if not claimed(claims, at):
                before += unit.records
                now += [at + start - unit.first for start in unit.records]
    return np.array(before, np.int64), np.array(now, np.int64)


def read_tables(data: bytes, container: Container) -> Read:
    """All tables of a dump, and its books, which must balance.

    Raises:
        DumpError: it is refused.
        Lost: the books do not balance.
    """
    reader = Reader(Source(io.BytesIO(data), "fuzz.mon", container=container))
    parts: dict[str, list[pa.Table]] = {}
    for name, table in _pieces(reader):
        parts.setdefault(name, []).append(table)
    reader.finish()
    _check_books(reader.bytes.as_dict(), len(data))
    _check_places(reader, len(data))
    tables = {name: pa.concat_tables(pieces) for name, pieces in parts.items()}
    kept = sum(len(piece) for piece in tables.get("quarantine", _NONE)["data"].to_pylist())
    if kept != reader.bytes.quarantined:
        raise Lost(f"{reader.bytes.quarantined} bytes in quarantine, {kept} kept")
    codes = frozenset(code.name for code in reader.findings.counts)
    return Read(tables, reader.configuration.release, codes)


_NONE = pa.table({"data": pa.array([], pa.binary())})


def check_too(data: bytes, container: Container) -> None:
    """`cpmon check` and `cpmon list` of the same bytes."""
    books = check_dump(Source(io.BytesIO(data), "fuzz.mon", container=container)).bytes
    _check_books(books.as_dict(), len(data))
    listed = take_inventory(Source(io.BytesIO(data), "fuzz.mon", container=container))
    if listed.size != len(data):
        raise Lost(f"the list counts {listed.size} bytes of {len(data)}")


def land(data: bytes, container: Container, folder: Path) -> Read:
    """A whole ingest into a store, and what is in its files."""
    file = folder / "fuzz.mon"
    file.write_bytes(data)
    store = Store(folder / "store", create=True)
    landed = ingest(file, store, container=container, accept_damage=True)
    _check_books(landed.about["bytes"], len(data))
    place = store.find(landed.dump)
    if place is None:
        raise Lost("the dump is not in its store")
    tables = {f.stem: pq.ParquetFile(f).read() for f in place.glob("*.parquet")}
    codes = frozenset(landed.about["findings"])
    if codes != frozenset(tables["finding"]["code"].to_pylist() if "finding" in tables else ()):
        raise Lost("the findings in the store are not those of the ingest")
    return Read(tables, landed.about["release"], codes)


def container_of(bent: Bent) -> Container:
    """How a changed dump is read: as what its first bytes say, or as what it was."""
    return _container(bent.seed) if bent.rng.random() < 0.8 else Container.AUTO


def _container(seed: Seed) -> Container:
    return Container.MONREADER if seed.captured else Container.MONWRITE


def _pieces(reader: Reader) -> Iterator[tuple[str, pa.Table]]:
    for window in windows(reader.source, reader.framer):
        yield from reader.tables(window)
    yield from reader.rest()


def _offsets(read: Read) -> I64:
    """Where the records of all tables start; entries count as well, they are where theirs is."""
    found = [
        table["record_offset"].to_numpy()
        for name, table in read.tables.items()
        if name not in BESIDE
    ]
    every: I64 = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
    return every


def _check_books(books: dict[str, int], size: int) -> None:
    parts = {name: count for name, count in books.items() if name != "size"}
    if books["size"] != size or sum(parts.values()) != size or min(parts.values()) < 0:
        raise Lost(f"the books do not balance: {books}, {size} bytes")


def _check_places(reader: Reader, size: int) -> None:
    for finding in reader.findings.kept:
        if not 0 <= finding.offset <= size or finding.count < 1:
            raise Lost(f"a finding has no place: {finding}")


def _check_values(intact: Read, read: Read, home: I64, now: I64) -> None:
    """Rows of good records are as they were, but for where they are and what closes them."""
    order = np.argsort(now)
    home, now = home[order], now[order]
    for name, good in intact.tables.items():
        if name in BESIDE:
            continue
        rows, starts = _rows_by_offset(good, home)
        if not len(rows):
            continue
        if name not in read.tables:
            raise Lost(f"good records of {name} are in another table")
        moved = now[starts]
        there = read.tables[name]
        here = there.filter(pa.array(np.isin(there["record_offset"].to_numpy(), now)))
        if not _plain(good.take(pa.array(rows))).equals(_plain(here)):
            raise Lost(f"rows of {name} at {moved[:3].tolist()} have other values")


def _rows_by_offset(table: pa.Table, home: I64) -> tuple[I64, I64]:
    """Rows of the records that stood at `home`, in that order, and which of `home` each is of."""
    offsets = table["record_offset"].to_numpy()
    order = np.argsort(offsets, kind="stable")
    first = np.searchsorted(offsets[order], home)
    count = np.searchsorted(offsets[order], home, side="right") - first
    starts = np.repeat(np.arange(len(home)), count)
    within = np.arange(len(starts)) - np.repeat(np.cumsum(count) - count, count)
    return order[np.repeat(first, count) + within], starts


def _plain(table: pa.Table) -> pa.Table:
    """Without what may differ: places, the interval's end; texts as such."""
    kept = [f for f in table.schema if f.name not in ("record_offset", "interval_end")]
    columns = {}
    for column in kept:
        values = table[column.name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            values = values.cast(column.type.value_type)
        columns[column.name] = values
    return pa.table(columns)
