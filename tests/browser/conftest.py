"""The pages that the tests of this folder open, and the tab that opens them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.cli.main import run as run_command
from cpmon.cli.output import write_file
from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.page import content, index, object_page
from cpmon.reduce.page.page import write_pages
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from tests.browser.chromium import Tab, chromium, find_chromium
from tests.conftest import reports_under_golden

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "<script>document.title='broken'</script>"


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the two timer runs, and of a dump whose run and system are called like code."""
    folder = tmp_path_factory.mktemp("pages")
    store = Store(folder / "store", create=True)
    for dump in sorted((ROOT / "sample-data" / "timer").glob("*.mon.zst")):
        ingest(dump, store)
    # Away from its run file, which would name the system.
    lab = shutil.copy(ROOT / "sample-data" / "small-lab" / "LAB.mon.zst", folder)
    ingest(lab, store, system=f'"{SCRIPT}&', run_id=f"{SCRIPT}' &amp;")
    reduce(store, [], Settings())
    shown = reports_under_golden(content, index, object_page)
    with shown, connect(store, reductions()) as connection:
        write_pages(connection, folder, write_file)
    return folder


@pytest.fixture(scope="session")
def long_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of ten hours of minutes, more than a chart has points for."""
    folder = tmp_path_factory.mktemp("long")
    words = ["generate", "small-lab", "--run", "LAB", "--intervals", "600", "-o", str(folder)]
    assert run_command(words) == Status.DONE
    store = Store(folder / "store", create=True)
    ingest(folder / "LAB.mon", store)
    reduce(store, [], Settings())
    return store.root


@pytest.fixture(scope="session")
def compared(pages: Path) -> Path:
    """The page of a comparison of runs of the same store."""
    words = ["compare", "--base", "2600NP", "--run", "3600P1", "--store", str(pages / "store")]
    assert run_command([*words, "--html", "-o", str(pages / "compared")]) == Status.DONE
    return pages / "compared" / "3600P1-with-2600NP.html"


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    program = find_chromium()
    if program is None and not os.environ.get("CI"):
        pytest.skip("no Chromium on the PATH (Debian: apt-get install chromium)")
    assert program, "no Chromium on the PATH; .ci/run installs it"
    with chromium(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def tab(browser: Tab) -> Tab:
    """The tab, as wide as that of a desk, in its own colours, with nothing noted."""
    browser.complaints.clear()
    browser.requested.clear()
    browser.look()
    browser.resize(1400, 1000)
    return browser
