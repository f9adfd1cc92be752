"""One landed sample, and a catalogue over it whose rows a test may falsify."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from cpmon.ingest import ingest
from cpmon.reduce import reductions
from cpmon.reduce.validation import Rule, Scope, find_rule, load_rules
from cpmon.reduce.validation.counting import count
from cpmon.reduce.validation.outcome import Outcome
from cpmon.store import Store
from cpmon.store.catalogue.catalogue import live_catalogue
from cpmon.store.views.sources import landed_files, sources
from cpmon.store.views.views import landed_rows
from tests.cli.conftest import cpmon  # noqa: F401 - the fixture that runs a command line

SAMPLES = Path(__file__).resolve().parents[2] / "sample-data"

Falsify = Callable[[str, str], None]
Counted = Callable[[str], Outcome]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The small laboratory, an hour of it; for reading only."""
    store = Store(tmp_path_factory.mktemp("validate") / "lab", create=True)
    ingest(SAMPLES / "small-lab" / "LAB52.mon.zst", store)
    return store


@pytest.fixture(scope="session")
def rules(lab: Store) -> tuple[Rule, ...]:
    """The rules that hold for it."""
    return load_rules(lab.tables())


@pytest.fixture(scope="session")
def bench(lab: Store) -> duckdb.DuckDBPyConnection:
    """Its catalogue in memory."""
    return live_catalogue(lab, reductions())


@pytest.fixture
def con(bench: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same in a transaction that is taken back when the test is over."""
    bench.begin()
    yield bench
    bench.rollback()


@pytest.fixture
def falsify(con: duckdb.DuckDBPyConnection, lab: Store) -> Falsify:
    """Makes a landed table say something else: SQL in which {rows} stands for what it says."""
    known = {entry.name: entry.create for entry in sources(lab, landed_files(lab))}

    def change(table: str, sql: str) -> None:
        macro = landed_rows(table)
        rows = known[macro.removesuffix("()")].partition(" AS TABLE ")[2]
        con.execute(f"CREATE OR REPLACE MACRO {macro} AS TABLE {sql.format(rows=f'({rows})')}")

    return change


@pytest.fixture
def counted(con: duckdb.DuckDBPyConnection, lab: Store, rules: tuple[Rule, ...]) -> Counted:
    """What a rule comes to."""
    return lambda name: count(con, [find_rule(rules, name)], Scope(), lab.tables())[0]
