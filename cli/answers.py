"""Answers of a store: SQL of the user, through the guard, in the sandbox, in parts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from ..store import Store

FIRST_ROWS = 1000
"""Rows of the first part: those that the widths of a text table are taken from."""
CELLS = 200_000
"""Cells of the other parts, about; as Python objects they take some 20 MB."""


def ask(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    values: Mapping[str, Any] | None = None,
    store: Store | None = None,
) -> Iterator[pa.Table]:
    """The answer of one query, in parts, as DuckDB computes them; one part at least.

    Args:
        values: of its parameters, by name; a run among them must exist.
        store: of the connection; what lies beyond the span of a query is then not read.

    Raises:
        CpmonError: it is no query that only reads, names what does not exist, or fails.
        KeyboardInterrupt: the user stopped it.
    """
    import duckdb

    from ..schemas.errors import CpmonError
    from ..store.catalogue.narrowing import narrowed
    from ..store.sandbox.guard import guarded
    from ..store.sandbox.sandbox import run
    from ..store.views.database import storage_error

    statement = guarded(connection, sql)
    if values and "run" in values:
        _check_run(connection, values["run"])
    parameters = dict(values) if values else None
    restore_interrupts()
    try:
        if store is not None:
            statement = narrowed(connection, store, statement)
        reader = run(
            connection,
            lambda: connection.sql(statement, params=parameters).to_arrow_reader(FIRST_ROWS),
        )
        yield from _parts(reader, lambda: run(connection, lambda: next(reader, None)))
    except duckdb.Error as error:
        raise storage_error(error) or CpmonError(f"the query failed: {error}") from None


def _parts(reader: pa.RecordBatchReader, fetch: Any) -> Iterator[pa.Table]:
    """The batches of a reader, each time as many together as make `CELLS` cells."""
    import pyarrow as pa

    batch = fetch()
    yield pa.Table.from_batches([batch] if batch else [], reader.schema)
    rows = max(CELLS // max(len(reader.schema), 1), FIRST_ROWS)
    batches: list[pa.RecordBatch] = []
    while batch is not None:
        batch = fetch()
        batches += [batch] if batch else []
        if batches and (batch is None or sum(map(len, batches)) >= rows):
            yield pa.Table.from_batches(batches)
            batches = []


def _check_run(connection: duckdb.DuckDBPyConnection, run: Any) -> None:
    """Refuse a parameter `run` that names none: it would be answered by an empty table."""
    from ..schemas.lookup import unknown

    runs = [name for (name,) in connection.sql("SELECT run_id FROM meta.run").fetchall()]
    if run and run not in runs:
        raise unknown("run", run, runs)


def restore_interrupts() -> None:
    """Let Ctrl-C reach Python again: polars, which writes csv, takes the signal for itself."""
    if threading.current_thread() is threading.main_thread():
        handler = signal.getsignal(signal.SIGINT)
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
