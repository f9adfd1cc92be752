"""Answers of a store as a whole, for tests that look at all of one."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from cpmon.store.answers import ask


def answer(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    return pa.concat_tables(ask(connection, sql))
