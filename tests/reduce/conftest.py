"""Rows for tests that may change them: one catalogue of each kind, put back after each test."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from tests.reduce.catalogue import empty_catalogue, lab


@pytest.fixture(scope="session")
def laboratory() -> duckdb.DuckDBPyConnection:
    """What `lab` makes; to be read only."""
    return lab()


@pytest.fixture(scope="session")
def nothing() -> duckdb.DuckDBPyConnection:
    """What `empty_catalogue` makes; to be read only."""
    return empty_catalogue()


@pytest.fixture
def empty(nothing: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same in a transaction that is taken back when the test is over."""
    nothing.begin()
    yield nothing
    nothing.rollback()


@pytest.fixture
def con(laboratory: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same in a transaction that is taken back when the test is over."""
    laboratory.begin()
    yield laboratory
    laboratory.rollback()
