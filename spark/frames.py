"""Data frames of Spark over a store: landed tables, roll-ups, and small relations.

DuckDB on the driver reads the small ones that are no Parquet (dumps, runs, companions, classes).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from ..reduce.reductions.reductions import reductions
from ..schemas.arrow import schema_of
from ..schemas.layout import Kind
from ..schemas.registry import record_of, tables
from ..store.connection import COVERAGE, DICTIONARY, Connection
from ..store.format.landed_dump import LandedDump
from ..store.format.manifest import TableFile, alike, table_files
from ..store.format.store import Store
from ..store.measured.classes import FILE, class_rules
from ..store.measured.companions import TABLES
from ..store.results.entries import FOLDER
from ..store.results.reduced import LEVELS, Materialized
from ..store.results.result_files import is_one_of
from ..store.sql.database import database
from ..store.sql.relations import left_out, widened
from ..store.sql.scope import Scope, basis_of
from ..store.sql.views import PLACE, sql_type
from .dialect import spark_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class QuerySpan:
    """Times and systems of a query.

    Attributes:
        since, until: intervals that end later than the one and up to the other, UTC without zone.
        systems: names or patterns of them (`PROD*`); none for all.
    """

    since: datetime | None = None
    until: datetime | None = None
    systems: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it includes all times."""
        return self.since is None and self.until is None

    def has(self, system: str) -> bool:
        """Whether it includes a system."""
        return not self.systems or any(fnmatchcase(system, each) for each in self.systems)

    def within(self, column: str) -> list[str]:
        """SQL conditions that a time is in the span."""
        since = [f"{column} > TIMESTAMP_NTZ '{self.since}'"] if self.since else []
        return since + self.before_end(column)

    def before_end(self, column: str) -> list[str]:
        """SQL conditions that a time is in the span or before it."""
        return [f"{column} <= TIMESTAMP_NTZ '{self.until}'"] if self.until else []


def kind_of(table: str) -> Kind | None:
    """The kind of a landed table's records; None if it is no table of records."""
    layout = tables().get(table)
    return record_of(layout).kind if layout else None


class LandedFiles:
    """The files of each landed table that a span needs, see `store.scope`.

    Attributes:
        systems: names of the systems of the span that have dumps.
    """

    def __init__(self, store: Store, span: QuerySpan) -> None:
        """Read the dumps from the manifest, and MONITOR SAMPLE commands before the span."""
        with database(store) as con:
            told = left_out(con.execute, store, Scope(None, span.since, span.until))
        samples: list[LandedDump] = []
        others: list[LandedDump] = []
        self.systems: list[str] = []
        for system, dumps in itertools.groupby(store.dumps(), key=lambda dump: dump.system):
            if span.has(system):
                self.systems.append(system)
                scope = Scope(system, span.since, span.until)
                before = [each for each in told if each[0] == system]
                needed = widened(basis_of(list(dumps), scope), store, before)
                samples += needed.samples
                others += needed.others
        self._samples, self._others, self._manifest = samples, others, store.manifest

    def of(self, table: str) -> list[TableFile]:
        """The files of a table."""
        dumps = self._samples if kind_of(table) is Kind.SAMPLE else self._others
        return table_files(self._manifest, f"{table}.parquet", dumps)


RUN = "meta.run"
ON_DRIVER = ("meta.dump", RUN, DICTIONARY, COVERAGE, *(f"meta.{kind}" for kind in TABLES))
"""Relations that DuckDB reads."""
_RULE = "position BIGINT, class STRING, pattern STRING, like_pattern STRING"


class StoreFrames:
    """Data frames of a store."""

    def __init__(
        self,
        spark: SparkSession,
        store: Store,
        files: LandedFiles,
        results: Mapping[str, Materialized],
    ) -> None:
        """Create the object; nothing is read yet."""
        self._spark, self._store, self._files, self._results = spark, store, files, results
        self._driver: Connection | None = None

    def landed(self, table: str) -> DataFrame:
        """The rows of a landed table, or of the rules of user classes."""
        if table == FILE:
            rules = class_rules(self._store)
            rows = [(rule.position, rule.name, rule.pattern, rule.like) for rule in rules]
            return self._spark.createDataFrame(rows, _RULE)
        schema = schema_of(table)
        place = ", ".join(f"`{column}` STRING" for column in PLACE)
        columns = f"{declared(schema)}, {place}, `date` DATE"
        parts = []
        for is_merged, some in alike(self._files.of(table)):
            names, below = [file.name for file in some], None if is_merged else "records"
            part = self._parquet(names, columns, below)
            dumps = [dump for file in some for dump in file.dumps]
            part = part.where(part["dump"].isin(dumps)) if dumps else part
            if any(file.has_parts for file in some):
                part = part.selectExpr(
                    *(f"`{c}`" for c in part.columns if c != "dump"),
                    "split_part(dump, '.', 1) AS dump",
                )
            parts.append(part)
        return functools.reduce(_union, parts or [self._parquet((), columns, None)])

    def rolled(self, reduction: str) -> DataFrame:
        """The rows of the roll-ups of a reduction, of all levels."""
        result = self._results[reduction]
        newest = self._store.files.read(result.newest(LEVELS[1:]))
        schema = pq.read_schema(pa.BufferReader(newest))
        columns = f"{declared(schema)}, `level` STRING"
        whole = [file.name for file in result.rollups if not file.days]
        parts = [self._parquet(whole, columns, f"{FOLDER}/{reduction}")]
        parts += [  # files of months of which some days have been computed again
            self._parquet([file.name], columns, f"{FOLDER}/{reduction}").where(
                spark_sql(is_one_of(file.days), lambda _, name: name)
            )
            for file in result.rollups
            if file.days
        ]
        rows = functools.reduce(_union, parts)
        return rows.select("level", *schema.names)

    def local(self, relation: str) -> DataFrame:
        """The rows of a relation that DuckDB reads."""
        if self._driver is None:
            self._driver = Connection(self._store, reductions())
        rows = self._driver.sql(f"FROM {relation}").to_arrow_table()
        return self._spark.createDataFrame(rows, declared(rows.schema))

    def _parquet(self, files: Sequence[str], columns: str, below: str | None) -> DataFrame:
        """The rows of files. `below`: base folder of partition columns in paths."""
        if not files:
            return self._spark.createDataFrame([], columns)
        reader, store = self._spark.read.schema(columns), self._store.files
        path = store.engine_path if store.is_local else store.uri
        if below is not None:
            reader = reader.option("basePath", path(below))
        return reader.parquet(*map(path, files))


def _union(first: DataFrame, other: DataFrame) -> DataFrame:
    return first.unionByName(other)


def declared(schema: pa.Schema) -> str:
    """A schema in the DDL of Spark."""
    return ", ".join(f"`{column.name}` {_spark_type(column.type)}" for column in schema)


def _spark_type(kind: pa.DataType) -> str:
    """Spark's name of an Arrow type that tables, results and small relations have."""
    if pa.types.is_map(kind):
        return f"MAP<{_spark_type(kind.key_type)}, {_spark_type(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'`{f.name}`: {_spark_type(f.type)}' for f in kind)}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{_spark_type(kind.value_type)}>"
    if pa.types.is_uint64(kind):
        return "DECIMAL(20, 0)"
    return exp.DataType.build(sql_type(kind), dialect="duckdb").sql("spark")
