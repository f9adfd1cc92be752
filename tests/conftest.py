"""What all tests share: hypothesis, where caches are, how goldens are rewritten, an empty store."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.metrics.report_set import reports
from cpmon.schemas.registry import reload, use
from cpmon.store import Store

settings.register_profile(
    "cpmon",
    deadline=None,
    derandomize=True,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("cpmon")


# Catalogues are made from the last one made; that one is not the business of the user's own cache.
os.environ["XDG_CACHE_HOME"] = str(Path(__file__).resolve().parents[1] / "build" / "cache")
# Nor are the settings of the user.
os.environ["XDG_CONFIG_HOME"] = str(Path(__file__).resolve().parents[1] / "build" / "config")


# No test takes power away: what a process wrote, others read, whether the disk has it or not. Each
# call takes a millisecond or two, and each dump that lands makes twenty. When and of what it is
# called is looked at by tests/faults/test_durable.py.
os.fsync = lambda _file: None


# Jobs in the background ignore Ctrl-C, and so would what tests start to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


SAMPLES = Path(__file__).resolve().parents[1] / "sample-data"

STORY = (
    *("", "core", "config", "schemas", "generate", "ingest", "jobs", "store", "objects", "faults"),
    *("reduce", "render", "validate", "queries", "spark", "notebooks", "browser", "serve", "batch"),
    *("cli", "remedies", "safety", "tools", "bench"),
)
"""Folders of tests: of the whole; bytes, columns, the store, reductions, pages, commands."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--goldens", action="store_true", help="rewrite tests/golden/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests tell the story of the product, by folder, behind those of Spark and of the whole.

    For these what takes long is made only once where they come first. At the end the processes
    take tests of each other, and would make it, or start a Spark, again.
    """
    tests = Path(__file__).parent

    def place(item: pytest.Item) -> tuple[bool, int]:
        folder = item.path.relative_to(tests).parts[0] if item.path.parent != tests else ""
        order = STORY.index(folder) if folder in STORY else len(STORY)
        return "spark_environment" not in item.fixturenames, order

    items.sort(key=place)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", create=True)


@pytest.fixture(scope="session")
def dumps() -> list[Path]:
    """The sample dumps: runs 2600NP and 3600P1 of the timer measurement, three intervals each."""
    return sorted((SAMPLES / "timer").glob("*.mon.zst"))


@pytest.fixture(scope="session")
def perf(tmp_path_factory: pytest.TempPathFactory, dumps: list[Path]) -> Path:
    """A store with the sample dumps, all of it reduced; for reading only."""

    def make(folder: Path) -> None:
        store = Store(folder / "perf", create=True)
        for dump in dumps:
            ingest(dump, store)
        reduce(store, (), Settings())

    return made_once(tmp_path_factory, "timer", make) / "perf"


def made_once(factory: pytest.TempPathFactory, folder: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first of the test processes fills, and all of them read."""
    root = factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    with (root / f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / folder).exists():
            make(root / f"{folder}.part")
            (root / f"{folder}.part").rename(root / folder)
    return root / folder


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(rewrite=request.config.getoption("--goldens"))


class Golden:
    """Compares with a file in tests/golden/, or rewrites it."""

    FOLDER = Path(__file__).parent / "golden"

    def __init__(self, *, rewrite: bool) -> None:
        self._rewrite = rewrite

    def check(self, name: str, text: str) -> None:
        assert text == self.stored(name, text.encode()).decode(), f"{name} differs from its golden"

    def stored(self, name: str, data: bytes) -> bytes:
        """What the file has, which is `data` if goldens are rewritten."""
        file = self.FOLDER / name
        if self._rewrite:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return file.read_bytes()


UNDER_GOLDEN = (
    "AUX_STORAGE_BY_TIME", "AVAILABLE_LIST_BY_TIME", "CHANNELS", "CHARGEBACK",
    "DASD_BY_ACTIVITY", "DASD_BY_CONTROL_UNIT", "DASD_SYSTEM_AREAS_BY_TYPE", "DIAGNOSE_RATES",
    "EVENTS", "LINUX_FILE_SYSTEMS", "LINUX_GUESTS", "LINUX_PROCESSES", "LINUX_TASKS", "LPAR",
    "MINIDISK_CACHE_BY_TIME", "PAGING_BY_TIME", "PRIVILEGED_OPERATIONS", "PROCESSORS",
    "PROCESSORS_BY_TIME", "SPIN_LOCKS", "STORAGE_BY_TIME", "SYSTEM_CONFIG",
    "SYSTEM_SUMMARY2_BY_TIME", "SYSTEM_SUMMARY_BY_TIME", "TRANSACTIONS", "UCLASS_RESOURCE_UTIL",
    "USER_CONFIG", "USER_PAGING", "USER_RESOURCE_UTIL", "USER_STATES", "VIRTUAL_ADAPTERS",
    "VIRTUAL_DISKS", "VIRTUAL_SWITCHES",
)  # fmt: skip
"""The reports on pages under golden. One that comes is not added: it has a golden of its own."""


@contextmanager
def reports_under_golden(*modules: ModuleType) -> Iterator[None]:
    """While this lasts, modules know of no other reports."""
    known = {name: report for name, report in reports().items() if name in UNDER_GOLDEN}
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            patch.setattr(module, "reports", lambda: known)
        yield


@pytest.fixture
def shipped_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Layouts of a site's own are forgotten when the test is over."""
    monkeypatch.delenv("CPMON_SCHEMAS", raising=False)
    yield
    monkeypatch.undo()
    use(None)
    reload()
