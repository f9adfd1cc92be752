"""A command line run in this process, and one store that all tests of the commands read."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cpmon.cli.main import Status, run
from cpmon.ingest import ingest
from cpmon.reduce import reductions
from cpmon.store import Store, connect

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Answer:
    """What a command line said and how it ended."""

    status: Status
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The answer of --format json."""
        found: list[dict[str, Any]] = json.loads(self.out)
        return found


Cpmon = Callable[..., Answer]


@pytest.fixture
def cpmon(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Answer]:
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
    connect(store, reductions()).close()
    return store.root
