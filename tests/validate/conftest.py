"""One landed sample, and a catalogue over it whose rows a test may falsify."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.rules.rule import Purpose, Rule, find_rule, load_rules
from cpmon.reduce.rules.validation import RuleResult, count
from cpmon.store import Store
from cpmon.store.connection import Connection
from cpmon.store.sql.scope import Scope
from tests.cli.conftest import cpmon  # noqa: F401 - the fixture that runs a command line

SAMPLES = Path(__file__).resolve().parents[2] / "sample-data"

Falsify = Callable[[str, str], None]
Counted = Callable[[str], RuleResult]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The small laboratory, an hour of it; for reading only."""
    store = Store(tmp_path_factory.mktemp("validate") / "lab", create=True)
    ingest(SAMPLES / "small-lab" / "LAB52.mon.zst", store)
    return store


@pytest.fixture(scope="session")
def rules(lab: Store) -> tuple[Rule, ...]:
    """The rules that hold for it."""
    return load_rules(Purpose.VALIDATION, landed=lab.tables())


@pytest.fixture
def con(lab: Store) -> Iterator[Connection]:
    """A connection to it in which nothing kept is read."""
    with Connection(lab, reductions(), live=True) as connection:
        yield connection


@pytest.fixture
def falsify(con: Connection, monkeypatch: pytest.MonkeyPatch) -> Falsify:
    """Makes a landed table say something else: SQL in which {rows} stands for what it says."""
    landed, changed = con._landed, dict[str, str]()
    true = landed._rows

    def rows(table: str) -> str:
        return (
            f"({changed[table].format(rows=f'({true(table)})')})"
            if table in changed
            else true(table)
        )

    monkeypatch.setattr(landed, "_rows", rows)

    def change(table: str, sql: str) -> None:
        changed[table] = sql
        con.forget()

    return change


@pytest.fixture
def counted(con: duckdb.DuckDBPyConnection, lab: Store, rules: tuple[Rule, ...]) -> Counted:
    """What a rule comes to."""
    return lambda name: count(con, [find_rule(rules, name)], Scope(), lab.tables())[0]
