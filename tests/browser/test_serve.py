"""The pages of `cpmon serve` in a browser, as its readers go through them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Tab
from tests.serve.conftest import Server, servers

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SQL = "select interval_end, total_util, tv_ratio from system_summary_by_time order by all"


@pytest.fixture(scope="module")
def server(pages: Path) -> Iterator[Server]:
    with servers() as begin:
        yield begin(pages / "store")


def click(tab: Tab, selector: str) -> None:
    """Click something that leads to another page."""
    tab.follow(f"document.querySelector({selector!r}).click()")


def test_a_reader_goes_from_the_index_to_a_run_a_user_and_back(tab: Tab, server: Server):
    tab.open(server.base)
    click(tab, 'a[href="page?run=2600NP"]')
    assert tab.ask("document.querySelector('h1').textContent") == "Run 2600NP"
    click(tab, "#t-USER_RESOURCE_UTIL a")
    assert tab.ask("document.querySelector('h1').textContent").startswith("User ")
    assert "kind=user" in tab.ask("location.search")
    click(tab, 'header a[href^="page?run=2600NP"]')
    click(tab, 'header a[href="index.html"]')
    assert tab.ask("document.querySelector('h1').textContent") == "Measurements"
    assert tab.complaints == []
    assert {each.partition(server.base)[0] for each in tab.requested} <= {"", "data:,"}


def test_the_box_answers_sql_by_rows_a_chart_and_files(tab: Tab, server: Server):
    tab.open(server.base)
    click(tab, 'a[href="query"]')
    tab.ask(f"document.querySelector('textarea').value = {SQL!r}")
    click(tab, "form button")
    assert tab.ask("document.querySelectorAll('#t-answer tbody tr').length") > 3
    assert tab.ask("document.querySelectorAll('figure svg').length") == 1
    assert tab.ask("document.querySelector('textarea').value") == SQL
    tab.ask("document.querySelectorAll('#t-answer th button')[1].click()")
    assert tab.ask("document.querySelectorAll('#t-answer th')[1].ariaSort") == "descending"
    for format in ("csv", "xlsx"):
        button = f"document.querySelector('[formaction=\"query.{format}\"]')"
        assert tab.ask(f"{button}.formAction") == f"{server.base}query.{format}"
    assert tab.complaints == []


def test_the_box_is_worked_by_keys(tab: Tab, server: Server):
    tab.open(f"{server.base}query")
    while tab.ask("document.activeElement.id") != "sql":
        tab.press("Tab")
    tab.send("Input.insertText", text="select 42 as answer")
    tab.after(lambda: tab.press("Ctrl+Enter"))
    assert tab.ask("document.querySelector('#t-answer tbody').textContent.trim()") == "42"


def test_a_query_that_fails_says_why_and_stays_in_the_box(tab: Tab, server: Server):
    tab.open(f"{server.base}query?sql=select+*+from+nosuch")
    assert "nosuch" in tab.ask("document.querySelector('[role=alert]').textContent")
    assert tab.ask("document.querySelector('textarea').value") == "select * from nosuch"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_the_box_fits_the_window(tab: Tab, server: Server, scheme: str, width: int):
    tab.resize(width)
    tab.look(prefers_color_scheme=scheme)
    tab.open(f"{server.base}query?sql={SQL.replace(' ', '+')}")
    assert tab.ask("document.documentElement.scrollWidth") <= width
    box = "document.querySelector('textarea').getBoundingClientRect()"
    assert tab.ask(f"{box}.width") > width / 2
    assert tab.violations("header", "main") == []
    assert tab.complaints == []
