"""From the index to an hour, an exception, an object and back, in a browser and by every link."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from cpmon.cli.output import write_file
from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.page import chart, content
from cpmon.reduce.page.page import write_pages
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from tests.batch.fleet import hourly
from tests.browser.chromium import Tab
from tests.browser.conftest import ROOT

SHOWN = {"USER_RESOURCE_UTIL", "PROCESSORS_BY_TIME", "PROCESSORS", "SYSTEM_SUMMARY_BY_TIME"}
RUN = "run-2600NP.html"

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def drilled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of a run, and of two days of a system without runs, with a few reports each."""
    folder = tmp_path_factory.mktemp("drilled")
    store = Store(folder / "store", create=True)
    ingest(ROOT / "sample-data" / "timer" / "2600NP.mon.zst", store)
    for hour in (0, 24, 25):
        made = hourly("ALPHA", 0, hour)
        (folder / made.name).write_bytes(made.data)
        ingest(folder / made.name, store)
    reduce(store, [], Settings())
    only = {name: one for name, one in content.reports().items() if one.name in SHOWN}
    with pytest.MonkeyPatch.context() as patch, connect(store, reductions()) as connection:
        patch.setattr(content, "reports", lambda: only)
        patch.setattr(content, "charts", lambda: chart.CHARTS[:1])
        write_pages(connection, folder, write_file, top=1)
    return folder


def test_every_link_of_every_page_leads_to_a_place_that_is_there(drilled: Path):
    texts = {page: page.read_text(encoding="utf-8") for page in drilled.rglob("*.html")}
    links = {
        (page, h) for page, text in texts.items() for h in re.findall('<a href="([^"]+)"', text)
    }
    assert len(texts) > 8 and len(links) > 40
    for page, href in links:
        address, _, fragment = unescape(href).partition("#")
        target = (page.parent / unquote(address)).resolve() if address else page
        assert target in texts, (page, href)
        assert (
            fragment.startswith("from=") or not fragment or f'id="{fragment}"' in texts[target]
        ), href


@pytest.fixture
def index(tab: Tab, drilled: Path) -> Tab:
    tab.open(drilled / "index.html")
    return tab


def search(tab: Tab, words: str) -> list[str]:
    """The addresses that a search finds, without the folder."""
    tab.ask(
        f"(() => {{ const box = document.getElementById('find'); box.value = {words!r};"
        "box.dispatchEvent(new Event('input')); })()"
    )
    found: list[str] = tab.ask(
        "[...document.querySelectorAll('#found a')].map(a => a.getAttribute('href'))"
    )
    return found


def title(tab: Tab) -> str:
    text: str = tab.ask("document.querySelector('h1').textContent")
    return text


def test_the_search_finds_systems_days_runs_reports_and_objects(index: Tab):
    assert search(index, "timer system")[0].startswith("#system-")
    assert search(index, "2001-12-19")[0] == "system-ALPHA-2001-12-19.html"
    assert search(index, "run 2600")[0] == RUN
    assert f"{RUN}#r-PROCESSORS" in search(index, "processors 2600np")
    assert search(index, "user linux")[0].startswith("run-2600NP/user-linux")
    assert search(index, "no such thing") == []
    assert index.ask("document.getElementById('found-count').textContent") == "0 found"
    assert index.complaints == []
    assert [url for url in index.requested if not url.startswith(("data:", "file:"))] == []


def test_the_search_is_driven_by_keys_and_stands_in_the_address(index: Tab):
    index.press("/")
    assert index.ask("document.activeElement.id") == "find"
    for key in "2600":
        index.press(key)
    assert index.ask("location.hash") == "#q=2600"
    assert index.ask("document.getElementById('find').value") == "2600"
    index.press("ArrowDown")
    first = index.ask("document.activeElement.textContent")
    assert first.startswith("Run 2600NP")
    index.press("ArrowUp")
    assert index.ask("document.activeElement.id") == "find"
    address = index.ask("location.href")
    index.open("about:blank")
    index.open(address)
    assert index.ask("document.querySelector('#found a').textContent") == first
    index.press("/")
    index.press("Escape")
    assert index.ask("location.hash + document.querySelectorAll('#found a').length") == "0"


def test_an_hour_leads_to_its_page_at_that_hour(index: Tab):
    index.follow(
        "[...document.querySelectorAll('.hours a')]"
        ".find(a => a.getAttribute('aria-label').startsWith('2001-12-19 01')).click()"
    )
    assert title(index) == "System ALPHA, 2001-12-19"
    assert index.ask("location.hash") == "#from=2001-12-19T01:00:00Z&to=2001-12-19T02:00:00Z"


def test_an_exception_leads_to_its_minutes(index: Tab):
    href = index.ask("document.querySelector('.exceptions a').getAttribute('href')")
    assert re.fullmatch(r"\S+\.html#from=\S+Z&to=\S+Z", href)
    index.follow("document.querySelector('.exceptions a').click()")
    assert index.ask("location.pathname").endswith(f"/{href.partition('#')[0]}")
    # A page that is no longer than that shows all of its time, and its address says nothing.
    assert index.ask("location.hash") in {"", f"#{href.partition('#')[2]}"}
    assert index.complaints == []


def test_a_table_leads_to_an_object_and_its_trail_back(tab: Tab, drilled: Path):
    tab.open(drilled / RUN)
    tab.follow("document.querySelector('#t-USER_RESOURCE_UTIL a').click()")
    assert title(tab).startswith("User LINUX")
    tab.follow("document.querySelector('header a[href$=\"2600NP.html\"]').click()")
    assert title(tab) == "Run 2600NP"
    tab.follow("document.querySelector('header a[href=\"index.html\"]').click()")
    assert title(tab) == "Measurements"
    assert tab.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_the_index_fits_the_window_and_is_accessible(
    tab: Tab, drilled: Path, scheme: str, width: int
):
    tab.resize(width)
    tab.look(prefers_color_scheme=scheme)
    tab.open(drilled / "index.html")
    search(tab, "2600")
    assert tab.ask("document.documentElement.scrollWidth") <= width
    assert tab.violations("header", "main") == []
    assert tab.complaints == []
