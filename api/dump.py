"""`cpmon.read`: the records of a dump without a store."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from html import escape
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Self

import duckdb

from ..config import Settings, read_settings
from ..core.errors import unknown
from ..core.grace_period import bounds_of_ends
from ..ingest.landing import ingest
from ..reduce.reports.cells import utc
from ..schemas.layout import Kind
from ..schemas.registry import tables
from ..schemas.registry import use as use_layouts
from ..store.connection import Connection
from ..store.sql.scope import ALL, Scope
from .answers import Answers, answer, as_frame, in_utc
from .selection import with_times
from .site_store import SiteStore

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyRelation
    from pandas import DataFrame as PandasFrame
    from polars import DataFrame, LazyFrame


class _Folder:
    """A temporary folder, which is deleted when nothing refers to it."""

    def __init__(self) -> None:
        self.path = mkdtemp(prefix="cpmon-read-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class Records:
    """The rows of one record type, read when a method is called.

    A row is a record; columns are its fields, and before them `system`, `interval_end` (UTC) and
    where it is in the dump. `cpmon.Dump.sql("describe monitor.sytrsp")` shows types.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        folder: _Folder,
        connected: Callable[[], Connection],
        scope: Scope = ALL,
    ) -> None:
        self._connection, self.name, self._scope = connection, name, scope
        self._connected = connected
        self._folder: _Folder | None = folder
        self._condition = scope.condition()
        if tables()[name].kind is Kind.CONFIG:  # holds until it changes; may be of no interval
            self._condition = f"({Scope(until=scope.until).condition()}) IS NOT FALSE"

    def __repr__(self) -> str:
        with suppress(duckdb.Error):  # the dump may be closed
            return f"<records {self.name}: {len(self._relation()):,} rows>"
        return f"<records {self.name}>"

    def _repr_html_(self) -> str:
        """The first rows, as a notebook shows them."""
        rows = as_frame(self._relation().limit(10).to_arrow_table())._repr_html_()
        return f"<p>{escape(repr(self))}</p>{rows}"

    def _relation(self) -> DuckDBPyRelation:
        return self._connection.sql(f"FROM monitor.{self.name} WHERE {self._condition}")

    def arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        table = self._relation().to_arrow_table()
        return table.cast(_utc_schema(table.schema))

    def batches(self, rows: int = 100_000) -> pa.RecordBatchReader:
        """The rows in batches of at most `rows`, for what does not fit into memory."""
        reader = self._relation().to_arrow_reader(rows)
        return reader.cast(_utc_schema(reader.schema))

    def pl(self) -> DataFrame:
        """All rows as a polars DataFrame."""
        return as_frame(self.arrow())

    def lazy(self) -> LazyFrame:
        """A polars LazyFrame, which reads only the columns and rows that it needs.

        It can be collected after the dump was closed: the folder of the dump stays until then.
        """
        import polars as pl
        from polars.io.plugins import register_io_source

        held = self._folder, self._connected()  # a connection of its own, not closed with the dump
        held[1].point(self._scope)
        query = f"FROM monitor.{self.name} WHERE {self._condition}"
        rows = in_utc(held[1].sql(query).pl(lazy=True))

        def collected(
            columns: list[str] | None,
            predicate: pl.Expr | None,
            most: int | None,
            _size: int | None,
        ) -> Iterator[DataFrame]:
            assert held
            frame = rows if columns is None else rows.select(columns)
            frame = frame if predicate is None else frame.filter(predicate)
            yield (frame if most is None else frame.head(most)).collect()

        return register_io_source(collected, schema=rows.collect_schema())

    def _release(self) -> None:
        """Lets the folder go."""
        self._folder = None

    def df(self) -> PandasFrame:
        """All rows as a pandas DataFrame."""
        frame = self._relation().df()
        for name in frame.select_dtypes("datetime"):
            frame[name] = frame[name].dt.tz_localize("UTC")
        return frame


def _utc_schema(schema: pa.Schema) -> pa.Schema:
    """A schema whose times are of UTC by their type."""
    import pyarrow as pa

    kinds = [
        pa.timestamp(kind.unit, "UTC") if pa.types.is_timestamp(kind) and not kind.tz else kind
        for kind in schema.types
    ]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))


class Dump(Answers, Mapping[str, Records]):
    """The records of a dump by record type: `dump["sytrsp"].pl()`, and what is made of them.

    They lie in a temporary folder until `close`, or the end of a `with` block.
    """

    def __init__(
        self,
        path: str | Path | Sequence[str | Path],
        records: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        *,
        release: str = "",
        accept_damage: bool = False,
        settings: Settings | None = None,
    ) -> None:
        """Reads a dump; see `read`."""
        site = settings or read_settings()
        use_layouts(None)  # not those of a store that was open before
        with ExitStack() as closing:
            folder = _Folder()
            self._site = SiteStore(Path(folder.path, "store"), site, create=True)
            paths = [path] if isinstance(path, str | Path) else list(path)
            for each in paths:
                ingest(
                    each,
                    self._site.store,
                    release=release,
                    fallback_release=site.release(None),
                    accept_damage=accept_damage,
                )
            times = with_times({"since": since, "until": until})
            self._bounds = {name: time for name, time in times.items() if time}
            self.connection = closing.enter_context(self._connected())
            """DuckDB's connection to the records, with the same tables as that to a store."""
            scope = Scope(None, *bounds_of_ends(utc(times["since"]), utc(times["until"])))
            self.connection.point(scope)
            landed = self.connection.tables & tables().keys()
            self._name = ", ".join(map(str, paths))
            wanted = [record.lower() for record in records or sorted(landed)]
            for record in wanted:
                if record not in landed:
                    raise unknown("record", record, sorted(landed), place=self._name)
            self._records = {
                name: Records(self.connection, name, folder, self._connected, scope)
                for name in wanted
            }
            for records_of in self._records.values():
                closing.callback(records_of._release)
            self._folder: _Folder | None = folder
            self._closing = closing.pop_all()

    def __repr__(self) -> str:
        return f"<cpmon dump {self._name}: {', '.join(self) or 'no records'}>"

    def _repr_html_(self) -> str:
        """The record types and their rows, as a notebook shows them."""
        counts = " UNION ALL ".join(
            f"SELECT '{name}' AS record, count(*) AS rows FROM monitor.{name}" for name in self
        )
        rows = self.sql(f"{counts} ORDER BY rows DESC, record")._repr_html_() if counts else ""
        return f"<p>{escape(repr(self))}</p>{rows}"

    def __getitem__(self, record: str) -> Records:
        """The rows of a record type, by IBM's name in lower case."""
        return self._records[record]

    def __iter__(self) -> Iterator[str]:
        """The record types that the dump has."""
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def _connected(self) -> Connection:
        return self._site.connect()

    def sql(self, query: str, **parameters: Any) -> DataFrame:
        """The answer of a query, as of `cpmon query`; parameters by name, as `$top`.

        It sees intervals before `since` too, as counters are compared with them: a query about a
        part of the dump has a condition on `interval_end`.

        Raises:
            CpmonError: it does not only read, names unknown tables, or fails.
        """
        return answer(self.connection, query, parameters)

    def close(self) -> None:
        """Delete the temporary folder, unless a LazyFrame still needs it."""
        self._closing.close()
        self._folder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read(
    dump: str | Path | Sequence[str | Path],
    records: Sequence[str] | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    *,
    release: str = "",
    accept_damage: bool = False,
) -> Dump:
    """Read a dump without a store.

    Args:
        dump: a file of MONWRITE, also with gzip or zstd, or "-" for standard input; or several,
            which are read as one, each by the layouts of its own release.
        records: record types, as ["sytrsp", "useact"]; all by default.
        since: only records of intervals that end after it, and the configuration that holds then;
            without a zone it is UTC. Queries see more, see `Dump.sql`.
        until: only records of intervals that do not end after it; CP may have ended them a second
            late.
        release: CP level that wrote the dump ("7.3.0"), if not the one that the dump names.
        accept_damage: read what is good of a dump of which most is lost.

    Raises:
        CpmonError: it is no monitor data, most of it is lost, or it has none of these records.
    """
    return Dump(dump, records, since, until, release=release, accept_damage=accept_damage)
