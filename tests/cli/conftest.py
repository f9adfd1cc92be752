"""A command line run in this process, and one store that all tests of the commands read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from cpmon.cli.main import run
from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from tests.cli.answer import Answer, Cpmon

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cpmon(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Cpmon:
    """Runs `cpmon` with some arguments, and with bytes on standard input if there are any."""
    monkeypatch.delenv("CPMON_STORE", raising=False)

    def call(*arguments: object, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        status = run([str(a) for a in arguments])
        out, err = capfdbinary.readouterr()
        return Answer(status, out, err.decode())

    return call


@pytest.fixture(scope="session")
def dumps() -> list[Path]:
    """The sample dumps: runs 2600NP and 3600P1 of the timer measurement, three intervals each."""
    return sorted((ROOT / "sample-data" / "timer").glob("*.mon.zst"))


@pytest.fixture(scope="session")
def perf(tmp_path_factory: pytest.TempPathFactory, dumps: list[Path]) -> Path:
    """A store with the sample dumps and its catalogue; for reading only."""
    store = Store(tmp_path_factory.mktemp("shared") / "perf", create=True)
    for dump in dumps:
        ingest(dump, store)
    reduce(store, (), Settings())
    connect(store, reductions()).close()
    return store.root
