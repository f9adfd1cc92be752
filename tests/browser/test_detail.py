"""Charts of a long page: finer points where a reader zooms, in a file and from a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.cli.main import run as run_command
from cpmon.ingest import ingest
from cpmon.store import Store
from tests.browser.chromium import Tab
from tests.browser.test_charts import OUTPUT, drag, drawn, press, table
from tests.serve.conftest import ROOT, servers
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TIMER = ROOT / "sample-data" / "timer"
LENGTH = "document.querySelector('#c-master .length').textContent"
HOUR = "#from=2003-05-06T10:00:00Z&to=2003-05-06T11:00:00Z"


@pytest.fixture(scope="module")
def page(long_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    words = ["report", "--html", "--store", str(long_store), "-o", str(folder)]
    assert run_command(words) == Status.DONE
    (written,) = folder.glob("run-*.html")
    return written


def zoomed(tab: Tab) -> list[str]:
    """Where values vary, the minutes of an hour of the chart of users stand in its table."""
    return [row[0] for row in table(tab, "master")[1:]]


def test_a_page_of_a_file_has_minutes_where_values_vary(tab: Tab, page: Path):
    tab.open("about:blank")
    tab.open(page)
    assert tab.ask(LENGTH) == "2 minutes"
    tip = "document.querySelector('#c-master .tip').textContent"
    press(tab, "master", "ArrowRight")
    assert " to " in tab.ask(tip)
    tab.open("about:blank")
    tab.open(page.as_uri() + HOUR)
    drawn(tab)
    assert tab.ask(LENGTH).startswith("one interval")
    assert len(zoomed(tab)) > 31
    assert tab.complaints == []


def test_back_undoes_a_zoom_and_forward_does_it_again(tab: Tab, page: Path):
    tab.open("about:blank")
    tab.open(page)
    tab.ask("new Promise(done => setTimeout(done, 1100))")
    drag(tab, "utilization", 0.25, 0.75)
    wide = drawn(tab).ask(OUTPUT)
    tab.ask("new Promise(done => setTimeout(done, 1100))")
    drag(tab, "utilization", 0.25, 0.75)
    close = drawn(tab).ask(OUTPUT)
    assert wide != close
    for step, shown in (("back", wide), ("back", ""), ("forward", wide), ("forward", close)):
        tab.ask(f"history.{step}()")
        wait_until(lambda shown=shown: tab.ask(OUTPUT) == shown)
    assert tab.complaints == []


def test_a_server_sends_finer_points_of_a_long_span(tab: Tab, long_store: Path):
    with servers() as begin:
        base = begin(long_store).base
        tab.open("about:blank")
        tab.open(f"{base}page?run=LAB{HOUR}")
        wait_until(lambda: tab.ask(LENGTH) == "one interval")
        assert len(zoomed(drawn(tab))) == 61
        assert all(url.startswith((base, "data:", "about:")) for url in tab.requested)


def test_a_followed_page_draws_what_lands_without_loading_again(tab: Tab, tmp_path: Path):
    store = Store(tmp_path / "store", create=True)
    first, second = (TIMER / f"{run}.mon.zst" for run in ("2600NP", "3600P1"))
    ingest(first, store)
    with servers() as begin:
        tab.open(f"{begin(store.root, '--follow').base}page?system=TIMER")
        tab.ask("window.isSame = true")
        before = zoomed(tab)
        assert tab.ask("document.getElementById('newer').hidden")
        ingest(second, store)
        wait_until(lambda: len(zoomed(tab)) > len(before))
        assert not tab.ask("document.getElementById('newer').hidden")
        assert tab.ask("window.isSame")
        assert zoomed(drawn(tab))[: len(before)] == before
        tab.open("about:blank")  # which ends the stream before the server does
        assert tab.complaints == []
