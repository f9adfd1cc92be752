"""Asking a store: SQL that only reads, on a thread, so that Ctrl-C is heard and stops it."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb
    import pyarrow as pa


def ask(
    connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any] | None = None
) -> pa.Table:
    """The answer of one query.

    Args:
        values: of its parameters, by name; a run among them must exist.

    Raises:
        CpmonError: it is no query that only reads, names what does not exist, or fails.
        KeyboardInterrupt: the user stopped it.
    """
    import duckdb

    from ..schemas.errors import CpmonError
    from ..store.safe_sql import select_only

    select_only(connection, sql)
    if values and "run" in values:
        _known_run(connection, values["run"])
    try:
        return _run(connection, sql, values)
    except duckdb.Error as error:
        raise CpmonError(f"the query failed: {error}") from None


def _known_run(connection: duckdb.DuckDBPyConnection, run: Any) -> None:
    """Refuse a parameter `run` that names none: it would be answered by an empty table."""
    from ..schemas.lookup import unknown

    known = [name for (name,) in connection.sql("SELECT run_id FROM meta.run").fetchall()]
    if run and run not in known:
        raise unknown("run", run, known)


def _run(
    connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any] | None
) -> pa.Table:
    given = dict(values) if values else None
    hear_interrupts()
    with ThreadPoolExecutor(max_workers=1) as asking:
        answer = asking.submit(lambda: connection.sql(sql, params=given).to_arrow_table())
        try:
            return answer.result()
        except KeyboardInterrupt:
            _stop(connection, answer)
            raise


def hear_interrupts() -> None:
    """Let Ctrl-C reach Python again: polars, which writes csv, takes the signal for itself."""
    if threading.current_thread() is threading.main_thread():
        handler = signal.getsignal(signal.SIGINT)
        if handler is not None:
            signal.signal(signal.SIGINT, handler)


def _stop(connection: duckdb.DuckDBPyConnection, answer: Future[Any]) -> None:
    """Interrupt a query until it has ended: one that is only about to begin does not hear it."""
    while not answer.done():
        with suppress(KeyboardInterrupt):
            connection.interrupt()
            wait([answer], timeout=0.05)
