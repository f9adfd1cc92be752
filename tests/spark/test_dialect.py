"""The SQL of the catalogue in the words of Spark: macros expanded, relations named as views."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from cpmon.reduce.reductions.reductions import reductions
from cpmon.spark.dialect import spark_sql
from cpmon.store.sql.landed_views import landed_views


def ported(sql: str) -> str:
    """A query of DuckDB for Spark, whose views are called by schema and name."""
    return spark_sql(sql, lambda schema, name: f"{schema}_{name}" if schema else name)


@pytest.mark.parametrize(
    ("duckdb", "spark"),
    [
        ("SELECT a FROM interval.useact", "SELECT `a` FROM `interval_useact` AS `useact`"),
        ("SELECT r.a FROM meta.run AS r", "SELECT `r`.`a` FROM `meta_run` AS `r`"),
        (
            'SELECT a FROM _landed."dump.json"()',
            "SELECT `a` FROM `_landed_dump.json` AS `dump.json`",
        ),
        ("SELECT CAST(a AS UBIGINT)", "SELECT CAST(`a` AS DECIMAL(20, 0))"),
        (
            "(a, b - to_microseconds(5)) IN (('c', DATE '2001-12-18'))",
            "(`a`, `b` - INTERVAL '5' MICROSECOND) IN (('c', CAST('2001-12-18' AS DATE)))",
        ),
        ("SELECT a // 4096", "SELECT `a` DIV 4096"),
        (
            "SELECT tod_timestamp(a)",
            "SELECT TIMESTAMPADD(MICROSECOND, CAST(NULLIF(`a`, 0) DIV 4096 AS BIGINT)"
            " - 2208988800000000 + CASE WHEN `a` < 9048018124800000000"
            " THEN 4503599627370496 ELSE 0 END, CAST('1970-01-01' AS TIMESTAMP_NTZ))",
        ),
        (
            "FROM a JOIN c ON c.k = a.k AND as_of(a.t, c.valid_from, c.valid_until)",
            "SELECT * FROM `a` JOIN `c` ON `c`.`k` = `a`.`k`"
            " AND (`a`.`t` < `c`.`valid_until` OR `c`.`valid_until` IS NULL)"
            " AND `a`.`t` >= `c`.`valid_from`",
        ),
        (
            "SELECT date_diff('microsecond', a, b)",
            "SELECT DATEDIFF(MICROSECOND, `a`, `b`)",
        ),
        (
            r"SELECT 'a\' || ''' UNION ALL SELECT 1 --'",
            r"SELECT 'a\\' || '\' UNION ALL SELECT 1 --'",
        ),
    ],
)
def test_what_spark_has_otherwise_is_rewritten(duckdb: str, spark: str):
    assert ported(duckdb) == spark


def test_a_wrap_adds_what_a_counter_of_its_length_holds():
    wrapped = ported("SELECT counter_delta(a, b, 4294967296, 100)")
    assert "TRY_CAST(`a` - `b` + 4294967296 AS BIGINT)" in wrapped
    assert "counter_delta" not in wrapped


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("WITH a AS (SELECT 1) SELECT 1 FROM a", set()),
        ("WITH a AS (SELECT 1 FROM b), b AS (SELECT 1) SELECT 1 FROM a, b", {"b"}),
        ("WITH a AS (SELECT 1 FROM a) SELECT 1 FROM a", {"a"}),
        ("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT 1 FROM a) SELECT 1 FROM a", set()),
        ("SELECT (WITH a AS (SELECT 1) SELECT 1 FROM a), 1 FROM a", {"a"}),
        ("SELECT 1 FROM (WITH a AS (SELECT 1) SELECT 1 FROM A), interval.a", {"interval.a"}),
        ("WITH a AS (WITH b AS (SELECT 1) SELECT 1 FROM b) SELECT 1 FROM a, b", {"b"}),
    ],
)
def test_only_tables_that_no_with_defines_are_relations(sql: str, read: set[str]):
    found = set()

    def name(schema: str, table: str) -> str:
        found.add(f"{schema}.{table}" if schema else table)
        return table

    spark_sql(sql, name)
    assert found == read


@pytest.mark.parametrize(
    "each", [pytest.param(20, id="some"), pytest.param(1, id="every", marks=pytest.mark.slow)]
)
def test_every_view_of_a_catalogue_is_written_for_spark(each: int):
    """Views of landed tables are alike; a twentieth of all is quick."""
    selects = [view.select for view in landed_views() if not view.name.startswith("meta.")]
    for select in [*selects, *(view.select for view in reductions())][::each]:
        (again,) = sqlglot.parse(ported(select), dialect="spark")
        assert again is not None
        assert not {call.name.lower() for call in again.find_all(exp.Anonymous)} - {"timestampadd"}
