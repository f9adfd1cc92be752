"""`cpmon shell`, at a terminal and from a pipe."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.cli.shell.prompt import is_blank, split
from cpmon.store import Store
from tests.cli.answer import Answer, Cpmon
from tests.cli.terminal import Terminal
from tests.faults import commands
from tests.faults.commands import DAY, landed

Script = Callable[..., Answer]
ENDLESS = "select sum(a.range * b.range) from range(10000000) a, range(1000000) b;"


@pytest.fixture
def script(cpmon: Cpmon, perf: Path) -> Script:
    def run(*lines: str, options: tuple[object, ...] = ()) -> Answer:
        return cpmon("shell", "--store", perf, *options, stdin="\n".join(lines).encode())

    return run


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("select 1; select 2", ["select 1"], " select 2"),
        ("select ';' as \";\"; x", ["select ';' as \";\""], " x"),
        ("select 'it''s; so'; ", ["select 'it''s; so'"], " "),
        ("select 1 -- no; end\n; ", ["select 1 -- no; end"], " "),
        ("select /* ; */ 1; y", ["select /* ; */ 1"], " y"),
        ("select $$ ; $$, $a$ ;$$ $a$; z", ["select $$ ; $$, $a$ ;$$ $a$"], " z"),
        (r"select e'a\';b'; z", [r"select e'a\';b'"], " z"),
        ("select 'open; ", [], "select 'open; "),
        (";;", [], ""),
    ],
)
def test_a_statement_ends_at_a_semicolon_that_is_one(text: str, statements: list[str], rest: str):
    assert split(text) == (statements, rest)


def test_comments_are_no_statement():
    assert is_blank(" -- a\n/* b; */ ") and not is_blank("-- a\n1")


@pytest.mark.parametrize("command", ["query", "shell"])
def test_a_question_about_a_span_opens_no_other_dump(
    command: str, cpmon: Cpmon, perf: Path, tmp_path: Path
):
    store = shutil.copytree(perf, tmp_path / "perf")
    sql = "select dump, max(interval_end)::varchar as last from meta.interval group by dump"
    first, later = sorted(
        cpmon("query", sql, "--store", store, "--format", "json").rows, key=lambda row: row["last"]
    )
    sql = (
        "select count(*) as n from interval.sytprp where interval_end between "
        f"timestamp '2000-01-01' and timestamp '{first['last']}'"
    )
    expected = cpmon("query", sql, "--store", store).text
    (folder,) = store.glob(f"records/*/*/dump={later['dump']}")
    (folder / "sytprp.parquet").write_bytes(b"damaged")
    asked = ("query", sql) if command == "query" else ("shell",)
    answer = cpmon(*asked, "--store", store, stdin=f"{sql};".encode())
    assert (answer.status, answer.text) == (Status.DONE, expected), answer.err


def test_a_script_does_what_its_lines_say(script: Script):
    answer = script(
        ".mode csv",
        "select 1 as a; select 2 as b,",
        "  ';' as c;",
        ".run busiest_users top=1",
        "-- nothing",
        "select 3 as last",
    )
    assert answer.status is Status.DONE, answer.err
    lines = answer.text.splitlines()
    assert lines[:4] == ["a", "1", "b,c", "2,;"] and lines[-2:] == ["last", "3"]
    assert len(lines) == 8  # a heading and a user of .run


def test_a_script_ends_at_its_first_error(script: Script):
    answer = script("select 1 as a;", "select nonsense from meta.dump;", "select 3 as never;")
    assert answer.status is Status.USAGE
    assert "nonsense" in answer.err and "never" not in answer.text


def test_quit_ends_a_script(script: Script):
    assert script(".quit", "select 1 as never").out == b""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from monitor.sytrspp;", "did you mean monitor.sytrsp?"),
        ("select plsmvb2gg from monitor.sytrsp;", "plsmvb2g"),
        (".shema x", "did you mean .schema?"),
        (".schema monitor.sytrsq", "did you mean monitor.sytrsp?"),
        (".tables nothinglikeit", "there is no table nothinglikeit"),
        (".explain plsmvb2gg", "did you mean plsmvb2g?"),
        (".run busyest_users", "did you mean busiest_users?"),
        (".run busiest_users topp=1", "did you mean top?"),
        (".mode cvs", "did you mean csv?"),
        (".timer often", "expected  off, on"),
        (".schema", "expected  .schema TABLE"),
        (".schema 'open", "the line cannot be read"),
        ("create table t as select 1;", "only queries are allowed"),
    ],
)
def test_an_error_names_what_was_meant(script: Script, line: str, said: str):
    answer = script(line)
    assert answer.status is Status.USAGE and answer.out == b""
    assert said in answer.err and "Traceback" not in answer.err


def test_tables_are_listed_by_pattern(script: Script):
    answer = script(".mode jsonl", ".tables sytrs?", ".tables META.*")
    assert '"table":"monitor.sytrsp"' in answer.text and '"table":"meta.dump"' in answer.text
    assert '"table":"meta.dictionary"' in answer.text and "sytcup" not in answer.text


def test_a_table_and_a_field_explain_themselves(script: Script):
    answer = script(".mode jsonl", ".schema interval.sytrsp", ".explain sytrsp.plsmvb2g")
    *columns, field = answer.text.splitlines()
    assert any('"column":"seconds"' in line and '"type":"DOUBLE"' in line for line in columns)
    assert '"offset":44' in field and '"unit":"pages"' in field

    answer = script(".mode jsonl", ".explain processors_by_time.seconds")
    assert '"table":"main.processors_by_time"' in answer.text


def test_answers_go_to_a_file_one_behind_the_other(script: Script, tmp_path: Path):
    file = tmp_path / "answers of mine.csv"
    answer = script(
        ".mode csv",
        f".output '{file}'",
        "select 1 as a; select 2 as b;",
        ".output",
        "select 3 as c;",
    )
    assert file.read_text() == "a\n1\nb\n2\n" and answer.text == "c\n3\n"

    answer = script(
        ".mode parquet", f".output {tmp_path / 'p'}", "select 1 as a;", "select 2 as a;"
    )
    assert answer.status is Status.USAGE and "a Parquet file holds one answer" in answer.err
    assert (tmp_path / "p").read_bytes()[:4] == b"PAR1"


def test_the_timer_speaks_on_standard_error(script: Script):
    answer = script(".timer on", "select 1 as a;", options=("--format", "csv"))
    assert answer.text == "a\n1\n" and "1 row in " in answer.err


def test_help_names_every_command(script: Script):
    from cpmon.cli.shell.session import COMMANDS

    answer = script(".help")
    assert all(usage in answer.text for usage, *_ in COMMANDS.values())


@pytest.mark.slow
def test_at_a_terminal_words_are_completed_and_ctrl_c_stays(perf: Path, tmp_path: Path):
    state = tmp_path / "state"
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "CPMON_STORE": str(perf)}
    words = [sys.executable, "-m", "cpmon", "shell", "--format", "csv"]
    with Terminal(words, environment) as terminal:
        terminal.wait_for("cpmon> ")
        terminal.type("select count(*) as n\n")
        terminal.wait_for("...> ")
        terminal.type("from monitor.mtrsy\t;\n")
        terminal.wait_for("from monitor.mtrsys;")
        terminal.wait_for("n\n", times=1)
        terminal.wait_for("cpmon> ", times=2)

        terminal.type(".explain plsmvb2\t\n")
        terminal.wait_for("pages moved below 2G")

        terminal.type("from interval.sytrsp select plsmvb2\t limit 0;\n")
        terminal.wait_for("select plsmvb2g limit 0;")
        terminal.wait_for("cpmon> ", times=4)

        terminal.type(ENDLESS + "\n")
        with pytest.raises(AssertionError):
            terminal.wait_for("cpmon> ", times=5, seconds=2)
        terminal.type("\x03")
        terminal.wait_for("interrupted")
        terminal.type("select 40 + 2 as after;\n")
        terminal.wait_for("after\n42\ncpmon> ")

        terminal.type("select half\n")
        terminal.wait_for("select half\n  ...> ")
        terminal.type("\x03")  # a statement is given up
        terminal.wait_for("interrupted", times=2)
        terminal.type("select wrong;\n")
        terminal.wait_for("the query failed")
        terminal.type("select 43 as still;\n")
        terminal.wait_for("still\n43\ncpmon> ")
        terminal.type("\x04")
        assert terminal.end() == Status.DONE
        assert "Traceback" not in terminal.screen

    history = state / "cpmon" / "history"
    assert "select 40 + 2 as after;" in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600

    with Terminal(words, environment) as terminal:
        terminal.wait_for("cpmon> ")
        terminal.type("\x1b[A\n")  # arrow up: the last line of the session before
        terminal.wait_for("still\n43\n")
        terminal.type(".quit\n")
        assert terminal.end() == Status.DONE


@pytest.mark.slow
def test_an_open_session_shows_what_lands_is_reduced_and_is_merged(tmp_path: Path):
    reduce = ("reduce", "users_by_time", "--store", landed(tmp_path, 0))
    commands.cpmon(*reduce)
    words = [sys.executable, "-m", "cpmon", "shell", "--format", "csv", *map(str, reduce[-2:])]
    asked = 0

    def wait_for_rows(sample: int, computed: int) -> None:
        nonlocal asked
        for relation, rows in (("monitor.useact", sample), ("users_by_time", computed)):
            asked += 1
            terminal.type(f"select {asked} as nr, count(*) as n from {relation};\n")
            terminal.wait_for(f"nr,n\n{asked},{rows}\n")

    with Terminal(words, {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}) as terminal:
        wait_for_rows(8, 8)
        landed(tmp_path, 1)
        wait_for_rows(16, 16)
        commands.cpmon(*reduce)
        wait_for_rows(16, 16)
        landed(tmp_path, 40 * DAY)
        commands.cpmon(*reduce)
        commands.cpmon("store", "compact", *reduce[-2:])
        assert [dump.is_merged for dump in Store(reduce[-1]).dumps()] == [True, True, False]
        wait_for_rows(24, 24)
        terminal.type("\x04")
        assert terminal.end() == Status.DONE
