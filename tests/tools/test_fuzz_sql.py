"""The first texts of the fuzz of SQL; `make fuzz` runs the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tools import fuzz_sql

TEXTS = 800


@pytest.mark.slow
def test_no_text_changes_anything_but_its_answer(tmp_path: Path):
    fuzzer = fuzz_sql.Fuzzer(tmp_path, seed=1)
    assert fuzzer.run(range(TEXTS)) == []
    assert fuzzer.counts["only queries are allowed"] > TEXTS / 10
    assert fuzzer.counts["answered"] > TEXTS / 50
    of_definitions = ("the expression of a", "a reduction of the")
    assert all(fuzzer.counts[refused] > TEXTS / 100 for refused in of_definitions)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "store" / "records" / "made").touch(),
        lambda folder: (folder / "home" / "secret.txt").write_text("other"),
        lambda _folder: os.environ.update(MADE="1"),
    ],
    ids=["made", "overwritten", "environment"],
)
def test_a_text_that_changes_something_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
):
    fuzzer = fuzz_sql.Fuzzer(tmp_path, seed=1)
    once = fuzz_sql.ask

    def ask(connection: duckdb.DuckDBPyConnection, text: str) -> pa.Table:
        change(tmp_path)
        return once(connection, text)

    monkeypatch.setattr(fuzz_sql, "ask", ask)
    (wrong,) = fuzzer.run(range(1, 2))
    assert wrong.startswith("up to 1: ")


def test_a_text_that_fails_is_reported_and_the_next_ones_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fuzzer = fuzz_sql.Fuzzer(tmp_path, seed=1)

    def ask(_connection: duckdb.DuckDBPyConnection, _text: str) -> pa.Table:
        raise OSError("Conversion Error")

    monkeypatch.setattr(fuzz_sql, "ask", ask)
    wrong = fuzzer.run(range(1, 3))
    assert [line.partition(": Conv")[0] for line in wrong] == ["1: OSError", "2: OSError"]
