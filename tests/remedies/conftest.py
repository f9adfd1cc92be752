"""The attempt of a test, held against what its marks say that it tries."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cpmon.core.errors import CpmonError
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.measured.runs import Run, save_run
from tests.cli import conftest as commands
from tests.cli.answer import Cpmon
from tests.dumps import dump, fields, interval
from tests.remedies.trying import Attempt

SYSTEM = "VMTEST"
LAB = Path(__file__).resolve().parents[2] / "sample-data" / "small-lab" / "LAB.mon.zst"
cpmon = commands.cpmon


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "tries(code, remedy): the remedy that a test tries")


@pytest.fixture(autouse=True)
def tried(
    request: pytest.FixtureRequest, cpmon: Cpmon, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Attempt]:
    """The commands of a test; at its end each remedy that it is marked with was told and worked."""
    attempt = Attempt(cpmon)
    make = CpmonError.__init__

    def init(self: CpmonError, *args: Any, **said: Any) -> None:
        make(self, *args, **said)
        if self.remedy:
            attempt.open.append(self)

    monkeypatch.setattr(CpmonError, "__init__", init)
    for name in ("CPMON_CONFIG", "CPMON_SCHEMAS", "CPMON_TZ"):
        monkeypatch.delenv(name, raising=False)
    yield attempt
    for mark in request.node.iter_markers("tries"):
        assert attempt.has_tried(*mark.args), f"not tried: {mark.args}"


def dump_of(number: int = 0, system: str = SYSTEM, intervals: int = 3) -> bytes:
    """A dump of some minutes; every number makes another one, behind that of the number before."""
    first = number * intervals + 1
    return dump(
        *[
            interval(
                60 * at,
                fields("mtrsys", 60 * at, systmid=system) if at == first else b"",
                fields("mtrspr", 60 * at, interval=60) if at == first else b"",
                *[fields("sytrsp", 60 * at, pfxcpuad=cpu, plsmvb2g=number) for cpu in range(2)],
                *[fields("useact", 60 * at, vmduser=f"U{n}", vmdttime=at * 1000) for n in range(3)],
            )
            for at in range(first, first + intervals)
        ]
    )


@pytest.fixture
def mon(tmp_path: Path) -> Path:
    """A dump."""
    path = tmp_path / "first.mon"
    path.write_bytes(dump_of())
    return path


@pytest.fixture(scope="session")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one dump of one system, with its catalogue; for reading only."""
    folder = tmp_path_factory.mktemp("landed")
    (folder / "first.mon").write_bytes(dump_of())
    store = Store(folder / "store", create=True)
    ingest(folder / "first.mon", store)
    connect(store, reductions()).close()
    return store.root


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the hour of the laboratory, which has everything; for reading only."""
    store = Store(tmp_path_factory.mktemp("lab") / "store", create=True)
    ingest(LAB, store)
    connect(store, reductions()).close()
    return store.root


@pytest.fixture(scope="session")
def runs(lab: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The laboratory with two runs, neither of which names a base."""
    root = tmp_path_factory.mktemp("runs") / "store"
    shutil.copytree(lab, root)
    for name, since, until in (("before", 0, 20), ("after", 30, 50)):
        first, last = (datetime(2003, 5, 6, 8, minute, 10, tzinfo=UTC) for minute in (since, until))
        save_run(Store(root), Run(name, "SMALLLAB", first, last))
    return root
