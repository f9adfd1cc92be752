"""The guard of SQL: what runs is written from the tree that was checked, never the text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from cpmon.core.errors import CpmonError
from cpmon.core.sql import UserSql
from cpmon.queries import queries
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store.sandbox.guard import checked_expression, guarded


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        yield con


@pytest.mark.parametrize(
    ("sql", "runs"),
    [
        ("/* a /* b */ c */ select 1 -- d", "SELECT 1"),
        ("from range(3)", 'SELECT * FROM "range"(3)'),
        ("explain select 1", "EXPLAIN SELECT 1"),
        ("/* /* */ */ EXPLAIN -- a\n ANALYZE /* ( */ select 'é'", "EXPLAIN (ANALYZE) SELECT 'é'"),
        ("explain (format JSON, analyze) select 1", "EXPLAIN (ANALYZE, FORMAT json) SELECT 1"),
        ("explain analyze (format 'yaml') (select 1)", "EXPLAIN (ANALYZE, FORMAT yaml) SELECT 1"),
        ("explain\u00a0(select\u20031)", "EXPLAIN SELECT 1"),
        ("explain with \"(\" as (select $$ ;'$$) from \"(\"",
         "EXPLAIN WITH \"(\" AS (SELECT ' ;''') SELECT * FROM \"(\""),
    ],
)  # fmt: skip
def test_what_runs_is_written_from_the_tree(
    connection: duckdb.DuckDBPyConnection, sql: str, runs: str
):
    assert guarded(connection, UserSql(sql)) == runs


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'a' || chr(0) || 'b' AS x",
        "VALUES (1, 'a'), (2, 'b') ORDER BY 1 DESC",
        "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) FROM t",
        "SELECT [x * 2 FOR x IN [1, 2, 3] IF x > 1], 'ab' NOT ILIKE 'x' ESCAPE '$'",
        "SELECT 1 + 2, upper('a'), DATE '2020-01-01' + 5, [1, 2][1], {'a': 1}.a",
        "FROM (PIVOT range(3) AS t ON range IN (1, 2) USING count(*)) ORDER BY ALL",
        "SELECT count(*) FILTER (range > 1) OVER (ORDER BY range DESC) FROM range(4)",
        "DESCRIBE SELECT 1 AS a",
        "SUMMARIZE SELECT 1 AS a",
        "SHOW TABLES",
        "SHOW ALL TABLES",
        "SHOW DATABASES",
        "DESCRIBE",
    ],
)
def test_the_answer_is_that_of_the_text(connection: duckdb.DuckDBPyConnection, sql: str):
    runs = connection.sql(guarded(connection, UserSql(sql)))
    meant = connection.sql(sql)
    assert runs.columns == meant.columns
    assert runs.types == meant.types
    assert runs.fetchall() == meant.fetchall()


@pytest.mark.parametrize("sql", ["EXPLAIN VALUES (1)", "EXPLAIN SELECT [a FOR a IN [1] IF a = 1]"])
def test_a_query_that_is_not_written_back_exactly_can_be_explained(
    connection: duckdb.DuckDBPyConnection, sql: str
):
    assert connection.sql(guarded(connection, UserSql(sql))).columns == [
        "explain_key",
        "explain_value",
    ]


@pytest.mark.slow
def test_shipped_sql_is_written_back(connection: duckdb.DuckDBPyConnection):
    """A parameter cannot be given to a tree that DuckDB does not write back exactly."""
    shipped = [query.sql for query in queries()]
    shipped += [view.select for view in reductions()]
    other = [
        sql for sql in shipped if "json_execute_serialized_sql" in guarded(connection, UserSql(sql))
    ]
    assert len(shipped) > 30 and len(other) <= 1
    assert not any("$" in sql for sql in other)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("/* a /* b */ EXPLAIN SELECT 1 -- */ EXPLAIN ANALYZE COPY (SELECT 42) TO 'x'",
         "EXPLAIN of no query"),
        ("EXPLAIN SELECT 1) COPY (", None),
        ("EXPLAIN (FORMAT json) COPY (SELECT 1) TO 'x'", "EXPLAIN of no query"),
        ("EXPLAIN (FORMAT 'x) COPY (SELECT 1) TO ') SELECT 1", "EXPLAIN with the format x) copy"),
        ("SELECT 'a\0b'", "a NUL character"),
        ('SELECT 1 AS "a\0b"', "a NUL character"),
        ("SELECT " + "abs(" * 600 + "1" + ")" * 600, None),
    ],
)  # fmt: skip
def test_what_does_not_read_is_refused(
    connection: duckdb.DuckDBPyConnection, sql: str, found: str | None
):
    with pytest.raises(CpmonError) as caught:
        connection.sql(guarded(connection, UserSql(sql))).fetchall()
    assert found is None or str(caught.value.found).startswith(found)


NAMES = (
    *("'x.duckdb'", "'x.DUCKDB'", "'x.db'", "'x.ddb'", "'./x.duckdb'", '"x.duckdb"'),
    *('"x"."duckdb"', '"x"."db"', '"."."/x"."db"', "'x.duckdb?y.parquet'", "'x.db?.csv'"),
)
"""Ways to write the name of a database file."""
OPENED = (
    *("FROM {}", "TABLE {}", "DESCRIBE {}", "SUMMARIZE {}", "SHOW {}", "EXPLAIN FROM {}"),
    *("WITH a AS (FROM {}) FROM a", "SELECT (SELECT count(*) FROM {})", "FROM range(1), {} AS f"),
    "FROM (PIVOT {} ON a IN (1) USING count(*))",
)
CALLED = (
    *("FROM query_table({})", "FROM query_table([{}])", "FROM query_table('' || {})"),
    *("FROM histogram({}, a)", "FROM histogram_values({}, a)", "FROM read_duckdb({})"),
    "FROM histogram(col_name := a, source := {})",
)
"""Ways to say that something is read from it; where a text stands, the name is one."""


@pytest.mark.parametrize("name", NAMES)
def test_a_database_is_not_opened_however_it_is_written(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / name.strip("'").replace('"', "").replace("../", "").removeprefix("./")
    with duckdb.connect(tmp_path / "made") as made:
        made.execute("CREATE TABLE t AS SELECT 42 AS a")
    (tmp_path / "made").rename(file)
    quoted = "'" + name.strip("'").replace("'", "''") + "'"
    for sql in [*(each.format(name) for each in OPENED), *(each.format(quoted) for each in CALLED)]:
        with pytest.raises(CpmonError) as caught:
            guarded(connection, UserSql(sql))
        assert caught.value.effect == "nothing was run", sql


def test_tables_and_files_of_rows_are_opened(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 42 AS a")
    for name in ("x.parquet", "x.csv", "x.tsv", "x.json", "x.ndjson", "x.csv.gz"):
        connection.execute(f"COPY s.t TO '{name}'")
        assert connection.sql(guarded(connection, UserSql(f"FROM '{name}'"))).fetchall() == [(42,)]
    for source in ("s.t", '"s"."t"', "query_table('s.t')", "query_table(['s.t'])"):
        assert connection.sql(guarded(connection, UserSql(f"FROM {source}"))).fetchall() == [(42,)]
    assert connection.sql(guarded(connection, UserSql("FROM histogram(s.t, a)"))).fetchall()


def test_an_explain_is_no_part_of_another_query(connection: duckdb.DuckDBPyConnection):
    assert guarded(connection, UserSql("SELECT 1"), explain=False) == "SELECT 1"
    with pytest.raises(CpmonError):
        guarded(connection, UserSql("EXPLAIN SELECT 1"), explain=False)


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("a / nullif(b, 0) -- a comment", '(a / "nullif"(b, 0))'),
        ("f.a /* b */ * 1e3", "(f.a * 1e3)"),
        ("$$a) -- $$ || b", "('a) -- ' || b)"),
    ],
)
def test_an_expression_is_written_from_its_tree(expression: str, written: str):
    assert checked_expression(UserSql(expression)) == written


@pytest.mark.parametrize(
    "expression",
    [
        "(SELECT content FROM/**/read_text('/etc/hostname'))",
        "(FROM/**/read_text('/etc/hostname'))",
        "1) FROM read_text('/etc/hostname') WHERE (TRUE",
        "1) AS a, (2",
        "1); COPY (SELECT 1) TO 'made.csv'; SELECT (1",
        "1) UNION ALL SELECT (2",
        "1) LIMIT (1",
        "1 /*",
        "$$1",
        "getenv('HOME')",
        "count(*) + (SELECT 1)",
        "?",
    ],
)
def test_an_expression_cannot_leave_its_place(expression: str):
    with pytest.raises(CpmonError):
        checked_expression(UserSql(expression))
