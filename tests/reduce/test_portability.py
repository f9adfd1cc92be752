"""Queries of reductions stand alone, and have only types that other engines have as well."""

from __future__ import annotations

import duckdb
import pytest

from cpmon.reduce.reductions.reductions import reductions


def test_the_select_alone_names_its_columns_as_documented(
    laboratory: duckdb.DuckDBPyConnection,
) -> None:
    for reduction in reductions():
        columns = laboratory.sql(reduction.select).columns
        assert columns == [column.name for column in reduction.columns], reduction.name


@pytest.mark.slow
def test_no_column_of_ours_has_a_type_that_engines_disagree_on(
    laboratory: duckdb.DuckDBPyConnection,
) -> None:
    for reduction in reductions():
        kinds = {str(kind) for kind in laboratory.sql(f"FROM {reduction.name}").types}
        apart = {kind for kind in kinds if kind in {"HUGEINT", "UHUGEINT"} or "DECIMAL" in kind}
        assert not apart, reduction.name
