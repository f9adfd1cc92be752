"""The guard of SQL for Spark: it reads relations of the store, and does nothing else."""

from __future__ import annotations

import pytest

from cpmon.core.errors import CpmonError
from cpmon.queries import Query, queries
from cpmon.spark.dialect import guarded

RELATIONS = {"interval.useact", "events", "meta.run"}


def view(schema: str, name: str) -> str:
    """The view of a relation; KeyError where there is none."""
    relation = f"{schema}.{name}".strip(".").lower()
    if relation not in RELATIONS:
        raise KeyError(relation)
    return relation.replace(".", "_")


@pytest.mark.parametrize(
    ("sql", "runs"),
    [
        ("FROM interval.useact", "SELECT * FROM `interval_useact` AS `useact`"),
        ("select useact.a from Interval.USEACT",
         "SELECT `useact`.`a` FROM `interval_useact` AS `USEACT`"),
        ("SELECT /*+ broadcast(e) */ a FROM events e -- b", "SELECT `a` FROM `events` AS `e`"),
        ("SELECT count(*), max(a) FROM events",
         "SELECT COUNT(*) AS `count_star()`, MAX(`a`) AS `max(a)` FROM `events`"),
        ("WITH events AS (SELECT a FROM events) SELECT a FROM events",
         "WITH `events` AS (SELECT `a` FROM `events`) SELECT `a` FROM `events`"),
        ("SELECT a FROM events WHERE a = $name", r"SELECT `a` FROM `events` WHERE `a` = 'it\'s'"),
        (r"SELECT 'a\' AS a, 'reflect(1)' AS b", r"SELECT 'a\\' AS `a`, 'reflect(1)' AS `b`"),
    ],
)  # fmt: skip
def test_what_runs_is_written_from_the_tree(sql: str, runs: str):
    assert guarded(sql, view, {"name": "it's"}) == runs


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT 1; SELECT 2",
        "CREATE TABLE a AS SELECT 1",
        "CREATE OR REPLACE TEMPORARY VIEW a AS SELECT 1",
        "INSERT INTO events VALUES (1)",
        "WITH a AS (DELETE FROM events RETURNING 1) SELECT 1",
        "COPY (SELECT 1) TO 'x'",
        "SELECT a INTO b FROM events",
        "SELECT a FROM events FOR UPDATE",
        "DROP TABLE events",
        "SET spark.sql.ansi.enabled = false",
        "EXPLAIN SELECT 1",
        "CALL x()",
        "ATTACH 'x'",
        "SELECT reflect('java.lang.System', 'exit', 1)",
        "SELECT Try_Reflect('java.lang.System', 'exit', 1)",
        "SELECT \"java_method\"('java.lang.System', 'exit', 1)",
        "SELECT builtin.reflect('java.lang.System', 'exit', 1)",
        "SELECT from_protobuf(a, 'b', '/etc/passwd') FROM events",
        "SELECT input_file_name() FROM events",
        r"SELECT 'a\' , reflect('java.lang.System', 'exit', 1) -- '",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_files('/etc')",
        "SELECT * FROM spark_catalog.interval.useact",
        f"SELECT {'(' * 5000}1{')' * 5000}",
    ],
)
def test_what_does_more_than_read_is_refused(sql: str):
    with pytest.raises(CpmonError, match="only queries are allowed"):
        guarded(sql, view, {})


@pytest.mark.parametrize(
    "table",
    ['parquet."/etc/x"', "'/etc/passwd'", '"/etc/passwd"', "default.secret", "nothing", "main.x"],
)
def test_only_relations_of_the_store_are_read(table: str):
    with pytest.raises(KeyError):
        guarded(f"SELECT * FROM {table}", view, {})
    with pytest.raises(KeyError):
        guarded(f"WITH x AS (SELECT * FROM {table}) SELECT * FROM x", view, {})


def test_what_cannot_be_parsed_is_told_with_its_place():
    with pytest.raises(CpmonError, match="the SQL cannot be read") as caught:
        guarded("SELECT 1\nFROM events WHERE )", view, {})
    assert caught.value.place == "line 2, column 19"


def test_a_parameter_needs_a_value():
    with pytest.raises(CpmonError, match="the parameter day has no value"):
        guarded("SELECT a FROM events WHERE a > $day", view, {})


@pytest.mark.parametrize("query", queries(), ids=str)
def test_shipped_queries_pass(query: Query):
    values = {param.name: param.default for param in query.params}
    assert guarded(query.sql, lambda _, name: name, values)
