"""Upgrades a store of version 1 in place: numbers become signed, and it gets a manifest.

Each table is replaced by one rename, when its rows were compared with those of the file before; so
an upgrade that was killed is resumed by the next one. In between the store is of neither
version, and nobody reads it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...schemas.errors import StoreError
from ..files.disk import replace_durably, writing
from ..files.local import LocalFiles
from .cleanup import clean
from .landed_dump import ABOUT, interval_facts, line
from .manifest import Manifest
from .parquet import TableWriter
from .store import HALFWAY, MARKER, VERSION, store_version

PRUNED = "pruned.json"
"""Said, in version 1, that the samples of the dump in whose folder it was were removed."""
OBSOLETE = ("sizes", "layouts", "snapshot", "catalog.duckdb", "catalog.duckdb.wal")
"""What version 2 has no more, or makes again from its own files."""


@dataclass(frozen=True)
class Upgrade:
    """What there is to do in a store.

    Attributes:
        root: folder of the store.
        version: what it says.
    """

    root: Path
    version: object

    @property
    def is_done(self) -> bool:
        """Whether it is of this version."""
        return self.version == VERSION

    @cached_property
    def dumps(self) -> list[Path]:
        """Folders of the dumps that are of version 1."""
        folders = sorted(self.root.glob("records/system=*/date=*/dump=*"))
        return [folder for folder in folders if "landed_on" not in _object(folder / ABOUT)]

    @cached_property
    def tables(self) -> list[Path]:
        """The tables of these dumps."""
        return [file for folder in self.dumps for file in _tables(folder)]

    @property
    def bytes(self) -> int:
        """Size of these tables."""
        return sum(file.stat().st_size for file in self.tables)

    @property
    def room(self) -> int:
        """Bytes that the disk has to have left: tables are replaced one after the other."""
        return max((file.stat().st_size for file in self.tables), default=0)


def upgrade_of(root: Path) -> Upgrade:
    """What there is to do in a store; nothing is changed.

    Raises:
        StoreError: there is no store, or it is of a version that cannot be upgraded.
    """
    return Upgrade(root, store_version(LocalFiles(root), upgradable=True))


def upgrade(todo: Upgrade, advance: Callable[[int], None] = lambda _done: None) -> None:
    """Make a store one of version 2.

    Args:
        advance: is called with the bytes of tables that are done.

    Raises:
        StoreError: the disk refuses it, a file cannot be read, or a table would not be the same.
    """
    if todo.is_done:
        return
    root, files, done = todo.root, LocalFiles(todo.root), 0
    with writing(root):
        clean(files)
        replace_durably(root / MARKER, json.dumps({"version": HALFWAY}))
        for folder in todo.dumps:
            for table in _tables(folder):
                done += table.stat().st_size
                _make_signed(files, table)
                advance(done)
            _complete(folder)
        for result in sorted(root.glob("reduced/**/*.parquet")):
            _make_signed(files, result)
        Manifest(files).rebuild()
        _remove_obsolete(root)
        replace_durably(root / MARKER, json.dumps({"version": VERSION}))


def _complete(folder: Path) -> None:
    """Write about a dump what the manifest needs; then it is done."""
    about, pruned = _object(folder / ABOUT), folder / PRUNED
    if pruned.exists():
        about = {**_object(pruned), **about}
    about |= {
        "landed_on": folder.parent.name.partition("=")[2],
        **interval_facts(folder / "interval.parquet"),
        "tables": sorted(file.stem for file in _tables(folder)),
    }
    replace_durably(folder / ABOUT, line(about))


def _remove_obsolete(root: Path) -> None:
    places = [*(root / name for name in OBSOLETE), root / "reduced" / "days.json"]
    for place in (*places, *root.glob(f"records/*/*/*/{PRUNED}")):
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)


def _make_signed(files: LocalFiles, table: Path) -> None:
    """Replace a table, where it has unsigned numbers."""
    with _reading(table), pq.ParquetFile(table) as before:
        schema = _signed(before.schema_arrow)
        if schema.equals(before.schema_arrow):
            return
        with files.scratch() as scratch:
            made = scratch / table.name
            _write(before, schema, made)
            _check_same(before, made, table)
            files.publish({str(table.relative_to(files.root)): made})


def _write(before: pq.ParquetFile, schema: pa.Schema, made: Path) -> None:
    """Write a table with the types of a schema, a row group at a time."""
    writer = TableWriter(made, schema)
    try:
        for group in range(before.num_row_groups):
            rows = before.read_row_group(group)
            columns = map(_converted, rows.columns, schema.types)
            writer.write(pa.Table.from_arrays(list(columns), schema=schema))
            writer.flush()
        writer.close()
    except BaseException:
        writer.abandon()
        raise


def _check_same(before: pq.ParquetFile, made: Path, table: Path) -> None:
    """Raise StoreError unless all values of a table that was written are those before."""
    with pq.ParquetFile(made) as after:
        same = after.num_row_groups == before.num_row_groups and all(
            _are_same(before.read_row_group(group), after.read_row_group(group))
            for group in range(before.num_row_groups)
        )
    if not same:
        raise StoreError(
            "a table does not come back as it was written",
            place=str(table),
            expected="the rows of the file before",
            effect="the table is as it was; the store is not upgraded yet",
            remedy="have the disk and the memory of the machine checked, then upgrade again: "
            "cpmon store upgrade",
        )


def _are_same(before: pa.Table, after: pa.Table) -> bool:
    """Whether numbers, made unsigned again, and all else are the same."""
    columns = zip(before.columns, after.columns, strict=True)
    return all(_decoded(_converted(b, a.type)).equals(_decoded(a)) for a, b in columns)


def _signed(schema: pa.Schema) -> pa.Schema:
    fields = [field.with_type(_signed_type(field.type)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def _signed_type(kind: pa.DataType) -> pa.DataType:
    """The type that `schemas.arrow.arrow_type` lets such numbers land in."""
    if not pa.types.is_unsigned_integer(kind):
        return kind
    return pa.int32() if kind.bit_width < 32 else pa.int64()


def _converted(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column in another type: of 64 bits the same bits, else the same values."""
    if column.type == kind:
        return column
    if pa.types.is_integer(kind) and kind.bit_width == column.type.bit_width:
        return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)
    return pc.cast(column, kind)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text without its dictionary: two are equal in whatever order theirs are."""
    is_encoded = pa.types.is_dictionary(column.type)
    return pc.cast(column, column.type.value_type) if is_encoded else column


def _tables(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def _object(file: Path) -> dict[str, Any]:
    with _reading(file):
        return dict(json.loads(file.read_text(encoding="utf-8")))


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Turn what is wrong in a file of the store into a StoreError."""
    try:
        yield
    except (ValueError, TypeError, FileNotFoundError) as error:
        raise StoreError(
            "a file of the store cannot be read",
            place=str(file),
            found=str(error).partition("\n")[0],
            effect="the store is not upgraded yet; other files are as they were, or done",
            remedy="restore it from a backup, or move the folder of its dump out of the store, "
            "then upgrade again: cpmon store upgrade; land that dump anew after it",
        ) from None
