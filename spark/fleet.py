"""A store as temporary views of a Spark session, with the rows that DuckDB's catalogue shows.

Temporary views have no schema: `interval.useact` is the view `interval_useact`, a reduction has its
own name. `Fleet.sql` takes the names with a schema.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..core.errors import CpmonError, unknown
from ..core.sql import text
from ..jobs.spark import first_line, is_of_spark, require_spark, starting
from ..reduce.reductions.reductions import reductions
from ..schemas.arrow import table_names
from ..schemas.layout import Kind
from ..schemas.registry import tables
from ..store.format.store import Store
from ..store.results.lineage import lineages
from ..store.results.reduced import kept
from ..store.sql.landed_views import INTERVALS, landed_view
from ..store.sql.views import LANDED
from .dialect import guarded, spark_sql
from .frames import ON_DRIVER, RUN, LandedFiles, QuerySpan, StoreFrames, kind_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.app.name": "cpmon",
    "spark.log.level": "ERROR",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of a session that cpmon starts; others are those of Spark on this machine."""


@contextlib.contextmanager
def session(master: str | None = None) -> Iterator[SparkSession]:
    """The Spark session of this process; one that is started here ends with the block.

    Args:
        master: as in `--master` of spark-submit; by default that of Spark's settings.

    Raises:
        CpmonError: pyspark or Java is missing, or it cannot be started.
    """
    require_spark()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    settings = SETTINGS if master is None else {**SETTINGS, "spark.master": master}
    with starting(master):
        running = active or SparkSession.builder.config(map=dict(settings)).getOrCreate()
    # These loggers write errors to standard error that are raised as well.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "sqlglot"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield running
    finally:
        if active is None:
            running.stop()


_BY_SQL = (INTERVALS, "meta.finding", "meta.user_class")
_UNSIGNED = pa.decimal128(20, 0)
_NUMBERS = itertools.count(1)
"""Numbers the fleets of this process, so that each has views of its own."""


class Fleet:
    """Views of a store in a Spark session, created at first use.

    Attributes:
        spark: the session.
        relations: names of all relations, those of other schemas than `main` with their schema.
    """

    def __init__(
        self,
        spark: SparkSession,
        store: Store,
        span: QuerySpan | None = None,
        *,
        keep: bool = True,
    ) -> None:
        """Read which dumps and roll-ups exist.

        Args:
            store: its current state; dumps that land later are not seen.
            span: times and systems; all by default.
            keep: compute deltas and reductions when they are first read, and cache the rows in the
                memory or on the disks of executors. If an executor is lost, so is its cache, and
                queries fail until they use another fleet. Without it a question is planned with all
                views below it, which takes minutes and more than 1 GB of the driver for some.

        Raises:
            StoreError: the manifest cannot be read.
        """
        self.spark = spark
        self._span, self._keep = span or QuerySpan(), keep
        self._files = LandedFiles(store, self._span)
        views = reductions()
        results = kept(store, views)
        self._frames = StoreFrames(spark, store, self._files, results)
        self._reductions = {view.name: view for view in views}
        self._by_time = {lineage.name for lineage in lineages(views) if lineage.by_time}
        self._rolled = {f"rollup.{name}" for name, result in results.items() if result.rollups}
        self._prefix = f"_fleet{next(_NUMBERS)}_"
        self._created: set[str] = set()
        self._cached: list[DataFrame] = []
        samples = (name for name in tables() if kind_of(name) is Kind.SAMPLE)
        self.relations = (
            *(f"monitor.{table}" for table in table_names()),
            *(f"interval.{table}" for table in samples if tables()[table].columns),
            *(*ON_DRIVER, *_BY_SQL),
            *sorted(self._rolled),
            *(view.name for view in views),
        )

    def sql(self, query: str, values: Mapping[str, Any] | None = None) -> DataFrame:
        """The result of a query in the SQL of DuckDB, which names relations with their schema.

        Args:
            query: one SELECT over relations of the store; anything else is refused.
            values: of its parameters, by name.

        Raises:
            CpmonError: it does not only read, or names a relation that does not exist.
        """
        return self.spark.sql(guarded(query, self._named, values or {}))

    def answer(self, query: str, values: Mapping[str, Any] | None = None) -> pa.Table:
        """Fetch the result of a query, see `sql`, with the types of DuckDB.

        Raises:
            CpmonError: as `sql`, or it fails.
        """
        try:
            rows = self.sql(query, values).toArrow()
        except Exception as error:
            if not is_of_spark(error):
                raise
            raise CpmonError(f"the query failed: {first_line(error)}") from None
        # Unsigned numbers of 64 bits, which are decimals in Spark.
        columns = [c.cast(pa.uint64()) if c.type == _UNSIGNED else c for c in rows.columns]
        return pa.table(columns, names=rows.column_names)

    def table(self, relation: str) -> DataFrame:
        """The rows of a relation.

        Raises:
            CpmonError: there is none of that name.
        """
        schema, _, name = relation.rpartition(".")
        return self.spark.table(self._named(schema, name))

    def publish(self, relation: str) -> None:
        """Make a relation a temporary view that SQL of Spark names: `interval_useact`.

        Raises:
            CpmonError: there is none of that name.
        """
        view = relation.replace(".", "_")
        self.table(relation).createOrReplaceTempView(view)
        self._created.add(view)

    def files(self, table: str) -> list[str]:
        """The files of a landed table that are read."""
        return [file.name for file in self._files.of(table)]

    def close(self) -> None:
        """Drop the views; executors free their caches, at the latest when Java collects garbage."""
        for view in self._created:
            self.spark.catalog.dropTempView(view)
        for frame in self._cached:
            frame.unpersist()
        self._created, self._cached = set(), []

    def _named(self, schema: str, name: str) -> str:
        """The view of a relation that a user named.

        Raises:
            CpmonError: there is none of that name.
        """
        relation = ".".join(filter(None, (schema, name))).lower().removeprefix("main.")
        if relation not in self.relations:
            raise unknown("relation", relation, self.relations)

        def narrowed() -> DataFrame:
            frame = self.spark.table(self._whole(*_split(relation)))
            return _where(frame, self._conditions(relation, frame.columns))

        return self._create(self._prefix + relation.replace(".", "_"), narrowed)

    def _whole(self, schema: str, name: str) -> str:
        """The view of a relation that other views read; deltas need rows before the span."""
        relation = ".".join(filter(None, (schema, name)))
        return self._create(
            f"{self._prefix}whole_{schema or 'main'}_{name}".replace(".", "_"),
            lambda: self._frames.landed(name) if schema == LANDED else self._frame(relation),
        )

    def _create(self, view: str, frame: Callable[[], DataFrame]) -> str:
        """The view, created at first use."""
        if view not in self._created:
            frame().createOrReplaceTempView(view)
            self._created.add(view)
        return view

    def _frame(self, relation: str) -> DataFrame:
        if relation == RUN:
            return _where(self._frames.local(relation), self._run_conditions())
        if relation in ON_DRIVER:
            return self._frames.local(relation)
        if relation in self._rolled:
            return self._frames.rolled(_split(relation)[1])
        view = self._reductions.get(relation) or landed_view(relation)
        frame = self.spark.sql(spark_sql(view.select, self._whole))
        is_computed = relation in self._reductions or relation.startswith("interval.")
        if self._keep and (is_computed or relation == INTERVALS):
            return frame.localCheckpoint()  # planning all views below costs more than these rows
        if relation == INTERVALS:  # all deltas join it
            frame = frame.persist()
            self._cached.append(frame)
        return frame

    def _conditions(self, relation: str, columns: Sequence[str]) -> list[str]:
        """Conditions on the rows of a relation that a user sees."""
        schema, name = _split(relation)
        conditions = self._of_systems() if "system" in columns else []
        if schema == "monitor" and kind_of(name) is not Kind.SAMPLE:
            is_config = kind_of(name) is Kind.CONFIG
            within = self._span.before_end if is_config else self._span.within
            return conditions + (within("tod") if "tod" in columns else [])
        timed = schema in ("monitor", "interval", "rollup") or relation == INTERVALS
        if timed or relation in self._by_time or relation == "events":
            conditions += self._span.within("interval_end")
        return conditions

    def _run_conditions(self) -> list[str]:
        """Conditions that exclude runs only partly in the span, whose sums would be wrong."""
        span = self._span
        since = [f"since >= TIMESTAMP_NTZ '{span.since}'"] if span.since else []
        return self._of_systems() + since + span.before_end("until")

    def _of_systems(self) -> list[str]:
        systems = ", ".join(text(system) for system in self._files.systems)
        return [f"system IN ({systems or 'NULL'})"] if self._span.systems else []


def register(
    spark: SparkSession,
    store: Store | str | Path,
    since: datetime | None = None,
    until: datetime | None = None,
    systems: Sequence[str] | None = None,
    relations: Sequence[str] | None = None,
) -> Fleet:
    """Create the temporary views of a store in a Spark session.

    Args:
        since, until: intervals that end later than the one and up to the other, UTC without zone.
        systems: names or patterns of them (`PROD*`); all by default.
        relations: the views; by default those of all tables that have landed and of all public
            reductions, which take a while to create.

    Returns:
        The fleet, which runs SQL over all relations.

    Raises:
        StoreError: there is no store, or it cannot be read.
        CpmonError: there is no such relation.
    """
    opened = store if isinstance(store, Store) else Store(store)
    fleet = Fleet(spark, opened, QuerySpan(since, until, tuple(systems or ())))
    landed = opened.tables()
    for relation in fleet.relations if relations is None else relations:
        schema, name = _split(relation)
        has_rows = name in landed if schema in ("monitor", "interval") else name[0] != "_"
        if has_rows or relations is not None:
            fleet.publish(relation)
    return fleet


def _where(frame: DataFrame, conditions: Sequence[str]) -> DataFrame:
    return frame.where(" AND ".join(conditions)) if conditions else frame


def _split(relation: str) -> tuple[str, str]:
    schema, _, name = relation.rpartition(".")
    return schema, name
