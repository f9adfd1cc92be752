"""The pages of `cpmon serve` in a browser, as its readers go through them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Tab
from tests.serve.conftest import Server, servers
from tests.waiting import wait_until

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
    assert all(each.startswith((server.base, "data:")) for each in tab.requested)


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


def test_the_box_completes_names_of_tables_and_columns(tab: Tab, server: Server):
    tab.open(f"{server.base}query")
    tab.ask("document.getElementById('sql').focus()")
    names = "[...document.querySelectorAll('#names button')].map(b => b.textContent)"
    tab.send("Input.insertText", text="select * from system_summary_b")
    wait_until(lambda: tab.ask(names) == ["system_summary_by_time"])
    tab.press("Tab")
    tab.send("Input.insertText", text=" where users_l")
    wait_until(lambda: tab.ask(names) == ["users_logged_on"])
    tab.press("Tab")
    text = "select * from system_summary_by_time where users_logged_on"
    assert tab.ask("document.getElementById('sql').value") == text
    assert tab.violations("main") == []
    assert tab.complaints == []


def test_a_slow_answer_says_so_and_is_cancelled(tab: Tab, server: Server):
    slow = "select sum(a.range * b.range) from range(100000) a, range(10000000) b"
    tab.open(f"{server.base}query")
    tab.ask(f"document.getElementById('sql').value = {slow!r}")
    # Chromium answers no question while it waits for a page: the page itself presses the button.
    tab.ask(
        """(() => {
          const bar = document.getElementById("working");
          new MutationObserver(() => {
            if (bar.hidden) return;
            window.seen = bar.textContent;
            bar.querySelector("button").click();
          }).observe(bar, { attributes: true });
          document.querySelector("form.sql").requestSubmit();
        })()"""
    )
    assert "Working for 1 s" in wait_until(lambda: tab.ask("window.seen"))
    assert tab.ask("document.getElementById('working').hidden")
    assert tab.ask("document.getElementById('sql').value") == slow
    tab.open(f"{server.base}query?sql=select+1")
    assert tab.ask("document.querySelectorAll('#t-answer tbody tr').length") == 1


def test_the_search_finds_objects_that_no_page_is_written_for(tab: Tab, server: Server):
    tab.open(server.base)
    tab.ask("document.getElementById('find').focus()")
    tab.send("Input.insertText", text="user linux186")
    links = "[...document.querySelectorAll('#found a')].map(a => a.textContent)"
    wait_until(lambda: "User LINUX186" in tab.ask(links))
    assert tab.complaints == []


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
