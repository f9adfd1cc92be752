"""Queries of reductions stand alone, and have only types that other engines have as well."""

from __future__ import annotations

import duckdb
import pytest

from cpmon.reduce.reductions.reductions import reductions
from tests.reduce.catalogue import lab


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    return lab()


def test_the_select_alone_names_its_columns_as_documented(
    duck: duckdb.DuckDBPyConnection,
) -> None:
    for reduction in reductions():
        columns = duck.sql(reduction.select).columns
        assert columns == [column.name for column in reduction.columns], reduction.name


def test_no_column_of_ours_has_a_type_that_engines_disagree_on(
    duck: duckdb.DuckDBPyConnection,
) -> None:
    for reduction in reductions():
        kinds = {str(kind) for kind in duck.sql(f"FROM {reduction.name}").types}
        apart = {kind for kind in kinds if kind in {"HUGEINT", "UHUGEINT"} or "DECIMAL" in kind}
        assert not apart, reduction.name
