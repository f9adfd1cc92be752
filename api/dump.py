"""`cpmon.read`: the records of a dump without a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import duckdb

from ..config import Settings, read_settings
from ..core.errors import unknown
from ..core.grace_period import bounds_of_ends
from ..ingest.landing import ingest
from ..reduce.reductions.reductions import reductions
from ..reduce.reports.cells import utc
from ..schemas.layout import Kind
from ..schemas.registry import tables
from ..schemas.registry import use as use_layouts
from ..store import Store
from ..store.catalogue.connection import Connection, connect
from ..store.sandbox.sandbox import Limits
from ..store.scope import ALL, Scope
from .answers import Answers, answer
from .selection import with_times

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyRelation
    from pandas import DataFrame as PandasFrame
    from polars import DataFrame, LazyFrame


class Records:
    """The rows of one record type, read when a method is called.

    A row is a record; columns are its fields, and before them `system`, `interval_end` (UTC) and
    where it is in the dump. `cpmon.Dump.sql("describe monitor.sytrsp")` shows types.
    """

    def __init__(self, connection: Connection, name: str, scope: Scope = ALL) -> None:
        self._connection, self.name = connection, name
        self._condition = scope.condition()
        if tables()[name].kind is Kind.CONFIG:  # holds until it changes; may be of no interval
            self._condition = f"({Scope(until=scope.until).condition()}) IS NOT FALSE"

    def __repr__(self) -> str:
        with suppress(duckdb.Error):  # the dump may be closed
            return f"<records {self.name}: {len(self._relation()):,} rows>"
        return f"<records {self.name}>"

    def _relation(self) -> DuckDBPyRelation:
        return self._connection.sql(f"FROM monitor.{self.name} WHERE {self._condition}")

    def arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return self._relation().to_arrow_table()

    def batches(self, rows: int = 100_000) -> pa.RecordBatchReader:
        """The rows in batches of at most `rows`, for what does not fit into memory."""
        return self._relation().to_arrow_reader(rows)

    def pl(self) -> DataFrame:
        """All rows as a polars DataFrame."""
        frame: DataFrame = self._relation().pl()
        return frame

    def lazy(self) -> LazyFrame:
        """A polars LazyFrame, which reads only the columns and rows that it needs."""
        frame: LazyFrame = self._relation().pl(lazy=True)
        return frame

    def df(self) -> PandasFrame:
        """All rows as a pandas DataFrame."""
        return self._relation().df()


class Dump(Answers, Mapping[str, Records]):
    """The records of a dump by record type: `dump["sytrsp"].pl()`, and what is made of them.

    They lie in a temporary folder until `close`, or the end of a `with` block.
    """

    def __init__(
        self,
        path: str | Path,
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
            folder = closing.enter_context(TemporaryDirectory(prefix="cpmon-read-"))
            store = Store(Path(folder, "store"), create=True)
            ingest(
                path,
                store,
                release=release,
                fallback_release=site.release(None),
                accept_damage=accept_damage,
            )
            self._settings, self._store = site, store
            times = with_times({"since": since, "until": until})
            self._bounds = {name: time for name, time in times.items() if time}
            self.connection = closing.enter_context(self._connected())
            """DuckDB's connection to the records, with the same tables as that to a store."""
            scope = Scope(None, *bounds_of_ends(utc(times["since"]), utc(times["until"])))
            self.connection.point(scope)
            landed = self.connection.tables & tables().keys()
            wanted = [record.lower() for record in records or sorted(landed)]
            for record in wanted:
                if record not in landed:
                    raise unknown("record", record, sorted(landed), place=str(path))
            self._records = {name: Records(self.connection, name, scope) for name in wanted}
            self._name = str(path)
            self._closing = closing.pop_all()

    def __repr__(self) -> str:
        return f"<cpmon dump {self._name}: {', '.join(self) or 'no records'}>"

    def __getitem__(self, record: str) -> Records:
        """The rows of a record type, by IBM's name in lower case."""
        return self._records[record]

    def __iter__(self) -> Iterator[str]:
        """The record types that the dump has."""
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def _connected(self) -> Connection:
        limits = Limits(self._settings.memory_limit, self._settings.threads)
        return connect(self._store, reductions(), limits)

    def sql(self, query: str, **parameters: Any) -> DataFrame:
        """The answer of a query, as of `cpmon query`; parameters by name, as `$top`.

        It sees intervals before `since` too, as counters are compared with them: a query about a
        part of the dump has a condition on `interval_end`.

        Raises:
            CpmonError: it does not only read, names unknown tables, or fails.
        """
        return answer(self.connection, query, parameters)

    def close(self) -> None:
        """Delete the temporary folder."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read(
    dump: str | Path,
    records: Sequence[str] | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    *,
    release: str = "",
    accept_damage: bool = False,
) -> Dump:
    """Read a dump without a store.

    Args:
        dump: a file of MONWRITE, also with gzip or zstd, or "-" for standard input.
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
