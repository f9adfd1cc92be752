"""SQL that is refused, and answers that cannot go there: what the message says helps."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from cpmon.cli.main import _Output
from cpmon.render.render import render
from cpmon.store import Store, connect
from tests.remedies.trying import Attempt, tries

USERS = "SELECT DISTINCT vmduser FROM monitor.useact"


@tries("query-not-allowed")
def test_a_result_is_kept_in_a_file(tried: Attempt, landed: Path, tmp_path: Path):
    words, kept = ("--store", landed), tmp_path / "users.csv"
    tried.fails("query", f"CREATE TABLE users AS {USERS}", *words)
    tried.works("query", USERS, *words, "--format", "csv", "-o", kept)
    assert kept.read_text(encoding="utf-8").count("U") == 3
    kept.unlink()
    tried.fails("shell", *words, stdin=f"CREATE TABLE users AS {USERS};".encode())
    tried.works("shell", *words, stdin=f".mode csv\n.output {kept}\n{USERS};".encode())
    assert kept.read_text(encoding="utf-8").count("U") == 3


@tries("pivot-values-missing")
def test_a_pivot_names_its_values(tried: Attempt, landed: Path):
    pivot = (
        "PIVOT (SELECT pfxcpuad, plsmvb2g FROM monitor.sytrsp) ON pfxcpuad {} USING max(plsmvb2g)"
    )
    tried.fails("query", pivot.format(""), "--store", landed)
    tried.works("query", pivot.format("IN (0, 1)"), "--store", landed)


@tries("nul-in-sql")
def test_a_nul_is_written_as_chr_0(tried: Attempt, landed: Path, tmp_path: Path):
    file = tmp_path / "nul.sql"
    file.write_text("SELECT 'a\0b' AS x")
    tried.fails("query", "--file", file, "--store", landed)
    answer = tried.works(
        "query", "SELECT 'a' || chr(0) AS x", "--store", landed, "--format", "json"
    )
    assert answer.rows == [{"x": "a\0"}]


@tries("statements-multiple")
def test_two_queries_are_asked_one_by_one_or_put_together(tried: Attempt, landed: Path):
    words = ("--store", landed)
    tried.fails("query", "SELECT 1; SELECT 2", *words)
    tried.works("query", "SELECT 1", *words)
    tried.fails("query", "SELECT 1; SELECT 2", *words)
    tried.works("query", "SELECT 1 UNION ALL SELECT 2", *words)
    tried.works("query", "WITH a AS (SELECT 1 AS x) SELECT 2, x FROM a", *words)


@tries("name-unknown", "did you mean")
def test_the_query_that_is_suggested_runs(tried: Attempt, landed: Path):
    said = tried.fails("query", "busiest_user", "--store", landed)
    assert "did you mean busiest_users?" in said
    tried.works("query", "busiest_users", "--store", landed)


@tries("column-type-unsupported")
def test_what_a_format_has_no_word_for_is_cast_to_text(
    tried: Attempt, landed: Path, tmp_path: Path
):
    column = "TIMESTAMP_S 'infinity'"
    words = ("--store", landed, "-o", tmp_path / "last.parquet")
    assert "column last" in tried.fails("query", f"SELECT {column} AS last", *words)
    tried.works("query", f"SELECT CAST({column} AS VARCHAR) AS last", *words)


@tries("memory-limit-exceeded")
def test_a_value_that_does_not_fit_is_asked_for_in_part(tried: Attempt, landed: Path):
    words = ("--store", landed, "--memory-limit", "100MB")
    tried.fails("query", "SELECT repeat('x', 2000000000) AS x", *words)
    tried.works("query", "SELECT repeat('x', 2000) AS x", *words)


@tries("output-is-terminal")
def test_parquet_is_written_to_a_file_that_is_named(
    tried: Attempt, landed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    words = ("query", USERS, "--store", landed, "--format", "parquet")
    tried.fails(*words)
    tried.works(*words, "-o", tmp_path / "users.parquet")


@pytest.mark.slow
@tries("output-not-writable")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_answer_is_printed_where_there_is_room(
    tried: Attempt, landed: Path, monkeypatch: pytest.MonkeyPatch
):
    output = io.BufferedWriter(_Output("/dev/full", "wb"))
    with monkeypatch.context() as full, io.TextIOWrapper(output, write_through=True) as text:
        full.setattr("sys.stdout", text)
        tried.fails("query", USERS, "--store", landed)
    assert tried.works("query", USERS, "--store", landed).out


@tries("format-unsupported")
def test_another_format_is_named(tried: Attempt, landed: Path):
    """No command leads there: its formats are a choice."""
    with connect(Store(landed)) as con:
        table = con.sql(USERS).to_arrow_table()
    error = tried.raises(lambda: render(table, "pdf"))
    assert error.remedy is not None
    for form in error.remedy.partition("one of ")[2].split(", "):
        assert tried.returns(lambda form=form: render(table, form))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param(
            ".schema useactt", ".schema useact", marks=tries("name-unknown", "did you mean")
        ),
        pytest.param(
            ".explain vmdusr",
            ".explain vmduser",
            marks=tries("name-unknown", "did you mean"),
        ),
        pytest.param(".schema zzzzzzzz", ".tables", marks=tries("name-unknown")),
        pytest.param(".explain zzzzzzzzzz", ".schema useact", marks=tries("name-unknown")),
        pytest.param("FROM useac;", "FROM monitor.useact;", marks=tries("name-unknown")),
        pytest.param(".tabels", ".tables", marks=tries("name-unknown", "did you mean")),
    ],
)
def test_the_shell_finds_what_it_suggests(wrong: str, right: str, tried: Attempt, landed: Path):
    tried.fails("shell", "--store", landed, stdin=wrong.encode())
    assert tried.works("shell", "--store", landed, stdin=right.encode()).out


@tries("format-holds-one-result")
def test_a_second_answer_goes_to_another_parquet_file(tried: Attempt, landed: Path, tmp_path: Path):
    words = ("shell", "--store", landed)
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    start = f".mode parquet\n.output {first}\n{USERS};\n"
    tried.fails(*words, stdin=f"{start}{USERS};".encode())
    tried.works(*words, stdin=f"{start}.output {second}\n{USERS};".encode())
    assert first.exists() and second.exists()
