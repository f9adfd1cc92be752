"""`meta.dictionary`: every column that it names can be asked for, and every field has its row."""

from __future__ import annotations

from collections import defaultdict

import duckdb
import pytest

from cpmon.reduce.reductions.reductions import reductions
from cpmon.schemas.registry import layouts
from cpmon.schemas.unplaced import all_unplaced
from cpmon.store import Store, connect


@pytest.fixture
def connection(store: Store) -> duckdb.DuckDBPyConnection:
    return connect(store, reductions())


def test_every_column_that_the_dictionary_names_is_one_of_its_table(
    connection: duckdb.DuckDBPyConnection,
):
    columns = defaultdict(set)
    for table, column in connection.sql(
        "SELECT table_name, column_name FROM meta.dictionary WHERE column_name IS NOT NULL"
    ).fetchall():
        columns[table].add(column)
    assert len(columns) > 100
    for table, names in columns.items():
        listed = ", ".join(f'"{name}"' for name in sorted(names))
        connection.sql(f"SELECT {listed} FROM monitor.{table} LIMIT 0").fetchall()


def test_a_label_of_entries_is_found_by_its_name_and_says_the_code(
    connection: duckdb.DuckDBPyConnection,
):
    row = "SELECT table_name, column_name, code FROM meta.dictionary WHERE name = 'plsdgx44'"
    assert connection.sql(row).fetchall() == [("prcdia_diagnose", "code", "44")]


def test_every_field_bit_and_label_of_every_layout_has_a_row(
    connection: duckdb.DuckDBPyConnection,
):
    rows = connection.sql("SELECT table_name, name FROM meta.dictionary").fetchall()
    expected = {
        (table.name, field.name)
        for layout in layouts()
        for table in layout.tables()
        for field in (*table.columns, *table.bits)
    } | {
        (group.entry.name, label.name)
        for layout in layouts()
        for table in layout.tables()
        for group in table.groups
        for label in group.labels
    }
    without_place = {(row.dsect, row.name) for row in all_unplaced()}
    assert ("useact", "vmdctpvg") in without_place
    expected |= without_place
    assert expected == {row for row in rows if row[1]}
