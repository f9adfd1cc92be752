"""Asking a store: SQL of the user, through the guard, in the sandbox."""

from __future__ import annotations

import signal
import threading
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
    from ..store.sandbox.guard import guarded
    from ..store.sandbox.sandbox import run

    statement = guarded(connection, sql)
    if values and "run" in values:
        _known_run(connection, values["run"])
    given = dict(values) if values else None
    hear_interrupts()
    try:
        return run(connection, lambda: connection.sql(statement, params=given).to_arrow_table())
    except duckdb.Error as error:
        raise CpmonError(f"the query failed: {error}") from None


def _known_run(connection: duckdb.DuckDBPyConnection, run: Any) -> None:
    """Refuse a parameter `run` that names none: it would be answered by an empty table."""
    from ..schemas.lookup import unknown

    known = [name for (name,) in connection.sql("SELECT run_id FROM meta.run").fetchall()]
    if run and run not in known:
        raise unknown("run", run, known)


def hear_interrupts() -> None:
    """Let Ctrl-C reach Python again: polars, which writes csv, takes the signal for itself."""
    if threading.current_thread() is threading.main_thread():
        handler = signal.getsignal(signal.SIGINT)
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
