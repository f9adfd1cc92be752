"""Registers the files of a store as Iceberg tables, without copying data.

System, date and dump are in the path of a file, not in the file. They become identity partitions:
by Iceberg's rules of column projection, readers take their values from the metadata; fields without
ids are resolved by the table's name mapping. Each file is therefore added with explicit partition
values, which pyiceberg's `add_files` cannot do: it reads them from the file. The file of a month
has rows of several dates and dumps, and has these columns itself: it is added under a partition
spec with only the system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...core.errors import StoreError, UnreadableError
from ...schemas.arrow import file_schemas
from ..files.disk import writing
from ..files.plain_paths import plain_path
from ..format.landed_dump import LandedDump
from ..format.manifest import table_files
from ..format.store import Store
from ..results.reduced import INTERVAL as FINEST
from ..results.reduced import LEVELS, ByDay, Materialized, kept, meanings
from ..results.result_files import files_of, schema_of
from ..sql.views import PLACE, describe

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

    from ..sql.views import View

LANDED, REDUCED, ROLLUP = "landed", "reduced", "rollup"
NAMESPACES = (LANDED, REDUCED, ROLLUP)
"""Landed tables, results of reductions by interval or run, and roll-ups."""

_DAY = "Day of the first record of the dump, UTC."
_LEVEL = "Length of what a row covers: hour."


@dataclass(frozen=True)
class ExportColumn:
    """A column of a table; `kind` is its Arrow type."""

    name: str
    kind: pa.DataType
    doc: str


@dataclass(frozen=True)
class ExportTable:
    """A table to export.

    Attributes:
        namespace, name: of the table.
        columns: columns in the files.
        places: columns whose values are in the path of a file.
        files: name below the store -> values of `places`; for the file of a month only that of the
            first, since it has the other columns itself.
    """

    namespace: str
    name: str
    columns: tuple[ExportColumn, ...]
    places: tuple[ExportColumn, ...]
    files: Mapping[str, tuple[str | date, ...]]

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}"


def sources(store: Store, views: Sequence[View]) -> Iterator[ExportTable]:
    """Yields all tables of a store that have files: landed tables, results and roll-ups."""
    layouts = file_schemas()
    places = (
        ExportColumn("system", pa.string(), PLACE["system"]),
        ExportColumn("date", pa.date32(), _DAY),
        ExportColumn("dump", pa.string(), PLACE["dump"]),
    )
    for table in sorted(store.tables()):
        if table in layouts:
            columns = tuple(ExportColumn(f.name, f.type, describe(f)) for f in layouts[table])
            dumps = sorted(store.manifest.dumps_with(table), key=lambda dump: dump.is_merged)
            places_of = {f"{dump.folder}/{table}.parquet": _place(dump) for dump in dumps}
            # A file of a month is left out if it has rows of a dump that is left out.
            table_paths = table_files(store.manifest, f"{table}.parquet", dumps)
            whole = {file.name for file in table_paths if not file.dumps}
            files = {file: place for file, place in places_of.items() if file in whole}
            yield ExportTable(LANDED, table, columns, places, files)
    docs = {view.name: {column.name: column.doc for column in view.columns} for view in views}
    for name, result in sorted(kept(store, views).items()):
        yield from _reduction_sources(store, name, result, docs[name])


def _reduction_sources(
    store: Store, name: str, result: Materialized, docs: Mapping[str, str]
) -> Iterator[ExportTable]:
    if not result.days.expected:
        files = [file.name for file in result.files]
        yield ExportTable(
            REDUCED, name, _columns(store, files[-1], docs), (), dict.fromkeys(files, ())
        )
        return
    fine = dict.fromkeys(whole_files(result.days, FINEST), ())
    if fine:
        yield ExportTable(REDUCED, name, _columns(store, result.newest([FINEST]), docs), (), fine)
    rolled = {file: (level,) for level in LEVELS[1:] for file in whole_files(result.days, level)}
    if rolled:
        docs = meanings(store, name)
        columns = _columns(store, result.newest(LEVELS[1:]), docs)
        yield ExportTable(
            ROLLUP, name, columns, (ExportColumn("level", pa.string(), _LEVEL),), rolled
        )


def whole_files(days: ByDay, level: str) -> list[str]:
    """Files whose rows are all current.

    The file of a month has outdated rows if a day was computed again, until the next merge.
    """
    return [file.name for file in files_of(days.of_level(level).values()) if not file.days]


def _columns(store: Store, file: str, docs: Mapping[str, str]) -> tuple[ExportColumn, ...]:
    schema = schema_of(store, file)
    return tuple(ExportColumn(field.name, field.type, docs.get(field.name, "")) for field in schema)


def _place(dump: LandedDump) -> tuple[str | date, ...]:
    if dump.is_merged:
        return (dump.system,)
    day = dump.folder.rpartition("/date=")[2].partition("/")[0]
    return dump.system, date.fromisoformat(day), dump.dump


CATALOG = "catalog.sqlite"
STORE = "cpmon.store"
"""Property of a namespace: the store whose files it lists."""
BATCH = 1_000
"""Files per commit: an export that was killed resumes after the last commit."""
BOUNDED = ("tod", "tod_us", "interval_end")
"""Columns with recorded bounds, so that a query with a time range opens few files."""
_EPOCH = date(1970, 1, 1)

Place = tuple[str | date, ...]
"""Partition values of a file."""


@dataclass
class Exported:
    """Result of the export of a table: numbers of files that it has, and of added and removed."""

    name: str
    files: int
    added: int = 0
    removed: int = 0


def export(store: Store, views: Sequence[View], folder: Path) -> Iterator[Exported]:
    """Syncs an Iceberg catalogue with the files of a store; yields each table when done.

    Args:
        folder: folder of the Iceberg catalogue, in SQLite, and of the metadata of the tables.

    Raises:
        StoreError: pyiceberg is missing, the folder belongs to another store or cannot be written.
        UnreadableError: a file of a table cannot be read.
    """
    with _catalog(store, folder) as catalog:
        namespaces = catalog.list_namespaces()
        stale = {name for space in namespaces for name in catalog.list_tables(space)}
        for source in sources(store, views):
            stale.discard((source.namespace, source.name))
            places = {_uri(store, file): place for file, place in source.files.items()}
            try:
                yield _export_table(catalog, source, places)
            except ValueError as error:
                raise UnreadableError(
                    "a table cannot be registered",
                    code="export-table-failed",
                    place=str(source),
                    found=str(error),
                    effect="the tables before it are registered",
                    remedy="see with cpmon store check which files cannot be read, and what to do",
                ) from error
        for name in sorted(stale):  # the store has no such table any more
            table = catalog.load_table(name)
            if files := [*_files(table)]:
                _commit(table, [], files)
                yield Exported(".".join(name), 0, removed=len(files))


def _export_table(catalog: SqlCatalog, source: ExportTable, files: Mapping[str, Place]) -> Exported:
    """Syncs one table. `files`: URI -> partition values."""
    table = _table(catalog, source)
    registered = {file.file_path: file for file in _files(table)}
    gone = [f for uri, f in registered.items() if uri not in files or _is_replaced(f)]
    current = registered.keys() - {file.file_path for file in gone}
    new = [uri for uri in files if uri not in current]
    done = Exported(str(source), len(files), len(new), len(gone))
    lengths = sorted({len(files[uri]) for uri in new})  # months first: they replace deleted files
    for length in lengths or ([len(table.spec().fields)] if gone else []):
        _partition_by(table, source.places[:length])
        uris = [uri for uri in new if len(files[uri]) == length]
        for first in range(0, max(len(uris), 1), BATCH):
            batch = uris[first : first + BATCH]
            _commit(table, [_data_file(table, uri, files[uri]) for uri in batch], gone)
            gone = []
    return done


def _partition_by(table: Table, places: Sequence[ExportColumn]) -> None:
    """Sets the partition columns of files that are added from now on."""
    names, columns = {field.name for field in table.spec().fields}, {c.name for c in places}
    if names != columns:
        with table.update_spec() as update:
            for name in sorted(names - columns):
                update.remove_field(name)
            for name in (c.name for c in places if c.name not in names):
                update.add_identity(name)


def _uri(store: Store, file: str) -> str:
    files = store.files
    return f"file://{files.engine_path(file)}" if files.is_local else files.uri(file)


def _table(catalog: SqlCatalog, source: ExportTable) -> Table:
    """Loads or creates the table of a source, with its current columns.

    The table is recreated if the type of a column changed to one that Iceberg cannot promote it to.
    """
    from pyiceberg.exceptions import ValidationError

    schema, name = _schema(source), (source.namespace, source.name)
    if catalog.table_exists(name):
        table = catalog.load_table(name)
        if _described(table.schema()) == _described(schema):
            return table
        try:
            with table.update_schema() as update:
                update.union_by_name(schema)
            return table
        except ValidationError:
            catalog.drop_table(name)
    return catalog.create_table(
        name,
        schema,
        partition_spec=_partitions(source, schema),
        properties={
            "schema.name-mapping.default": schema.name_mapping.model_dump_json(),
            "write.metadata.delete-after-commit.enabled": "true",
            "write.metadata.previous-versions-max": "5",
            # A retried commit would add files again that another export has just added.
            "commit.retry.num-retries": "0",
        },
    )


def _schema(source: ExportTable) -> Schema:
    from pyiceberg.io.pyarrow import pyarrow_to_schema

    fields = []
    for number, column in enumerate((*source.places, *source.columns), 1):
        is_encoded = pa.types.is_dictionary(column.kind)
        kind = column.kind.value_type if is_encoded else column.kind
        metadata = {"PARQUET:field_id": str(number), "doc": column.doc}
        fields.append(pa.field(column.name, kind, metadata=metadata))
    return pyarrow_to_schema(pa.schema(fields))


def _partitions(source: ExportTable, schema: Schema) -> Any:
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.transforms import IdentityTransform

    return PartitionSpec(
        *(
            PartitionField(schema.find_field(c.name).field_id, number, IdentityTransform(), c.name)
            for number, c in enumerate(source.places, 1000)
        )
    )


def _described(schema: Schema) -> list[tuple[str, str, str]]:
    """Name, type and doc of each field, to compare schemas; the catalogue assigns field ids."""
    return [(field.name, str(field.field_type), field.doc or "") for field in schema.fields]


def _files(table: Table) -> Iterator[DataFile]:
    """Yields the files of a table; a scan would omit files without rows."""
    if snapshot := table.current_snapshot():
        for manifest in snapshot.manifests(table.io):
            for entry in manifest.fetch_manifest_entry(table.io):
                yield entry.data_file


def _is_replaced(file: DataFile) -> bool:
    """Whether a registered file was replaced under the same name, by landing its dump again."""
    with suppress(FileNotFoundError):  # deleted meanwhile; the next export removes it
        size = Path(file.file_path.removeprefix("file://")).stat().st_size
        return size != file.file_size_in_bytes
    return False


def _data_file(table: Table, uri: str, place: Place) -> DataFile:
    """The manifest entry of a file."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    file = table.io.new_input(uri)
    try:
        with file.open() as opened:
            about = pq.read_metadata(opened)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{uri}: {error}") from None
    ids = {field.name: field.field_id for field in table.schema().fields}
    lower, upper = _bounds(about, ids)
    values = [(v - _EPOCH).days if isinstance(v, date) else v for v in place]
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=uri,
        file_format=FileFormat.PARQUET,
        partition=Record(*values),
        spec_id=table.spec().spec_id,
        record_count=about.num_rows,
        file_size_in_bytes=len(file),
        lower_bounds=lower,
        upper_bounds=upper,
        split_offsets=None,
        equality_ids=None,
        sort_order_id=None,
        key_metadata=None,
        column_sizes={},
        value_counts={},
        null_value_counts={},
        nan_value_counts={},
    )


def _bounds(
    about: pq.FileMetaData, ids: Mapping[str, int]
) -> tuple[dict[int, bytes], dict[int, bytes]]:
    """Lower and upper bounds of the `BOUNDED` columns, by field id, in Iceberg's encoding."""
    lower, upper = {}, {}
    names = about.schema.names
    for name in (name for name in BOUNDED if name in names and name in ids):
        place = names.index(name)
        groups = (about.row_group(g).column(place) for g in range(about.num_row_groups))
        statistics = [c.statistics for c in groups if c.num_values]
        bounded = [s for s in statistics if s is not None and s.has_min_max]
        if bounded and all(
            s is not None and (s.has_min_max or not s.num_values) for s in statistics
        ):
            lower[ids[name]] = min(s.min_raw for s in bounded).to_bytes(8, "little", signed=True)
            upper[ids[name]] = max(s.max_raw for s in bounded).to_bytes(8, "little", signed=True)
    return lower, upper


def _commit(table: Table, added: Iterable[DataFile], gone: Sequence[DataFile]) -> None:
    """Adds files to a table and removes others, in one snapshot."""
    with table.transaction() as transaction:
        snapshot = transaction.update_snapshot()
        with snapshot.overwrite() if gone else snapshot.merge_append() as changes:
            for file in gone:
                changes.delete_data_file(file)
            for file in added:
                changes.append_data_file(file)


@contextmanager
def _catalog(store: Store, folder: Path) -> Iterator[SqlCatalog]:
    """Opens the catalogue of a folder; creates it if missing."""
    try:
        from pyiceberg.catalog.sql import SqlCatalog
        from pyiceberg.exceptions import CommitFailedException
        from sqlalchemy.exc import OperationalError
    except ImportError:
        raise StoreError(
            "exports to Iceberg need the package pyiceberg",
            code="iceberg-package-missing",
            effect="nothing was written",
            remedy="install it: pip install 'cpmon[iceberg]'",
        ) from None
    folder, place = folder.absolute(), store.files.uri("").rstrip("/")
    file = folder / CATALOG
    with writing(folder):
        if not file.exists() and folder.exists() and any(folder.iterdir()):
            raise StoreError(
                f"{folder} is neither an export nor empty",
                code="export-folder-not-empty",
                expected=f"a folder with {CATALOG}, or none",
                effect="nothing was written",
                remedy="name a new folder with --iceberg",
            )
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with closing(
                SqlCatalog(
                    "cpmon",
                    uri=f"sqlite:///{plain_path(file)}",
                    warehouse=f"file://{plain_path(folder)}",
                    **{"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"},
                )
            ) as catalog:
                _claim(catalog, folder, place)
                yield catalog
        except OperationalError as error:
            # SQLite does not say which error of the disk it is.
            raise StoreError(
                "the catalogue of an export cannot be written",
                code="export-catalogue-unwritable",
                place=str(file),
                found=str(error.orig),
                effect="the tables before it are registered",
                remedy="make room on the disk, or name a folder on another one; then export again",
            ) from error
        except CommitFailedException as error:
            raise StoreError(
                "another export changed the same table meanwhile",
                code="export-conflict",
                place=str(folder),
                found=str(error),
                effect="tables that were registered before are unchanged",
                remedy="run one export at a time: run this one again when the other is done",
            ) from None


def _claim(catalog: SqlCatalog, folder: Path, place: str) -> None:
    """Creates the namespaces of a catalogue for a store; raises if it is that of another one."""
    for space in NAMESPACES:
        catalog.create_namespace_if_not_exists(space, {STORE: place})
        owner = catalog.load_namespace_properties(space)[STORE]
        if owner != place:
            raise StoreError(
                f"{folder} is the export of another store",
                code="export-of-another-store",
                expected=place,
                found=owner,
                effect="nothing was written",
                remedy="name a new folder with --iceberg",
            )
