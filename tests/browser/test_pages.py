"""Pages as a browser shows them: nothing fetched, nothing wrong, and everything works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.chromium import Tab
from tests.browser.conftest import SCRIPT

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TABLE = "document.querySelector('#t-PROCESSORS_BY_TIME')"


@pytest.fixture
def run(tab: Tab, pages: Path) -> Tab:
    """The page of a run, open."""
    tab.open(pages / "run-2600NP.html")
    return tab


def test_a_page_asks_for_nothing_but_itself_and_complains_of_nothing(run: Tab, pages: Path):
    assert run.complaints == []
    assert [url for url in run.requested if not url.startswith("data:")] == [
        (pages / "run-2600NP.html").as_uri()
    ]
    assert run.ask("document.documentElement.dataset.ready") == "yes"


def test_no_script_runs_but_that_of_the_page(run: Tab):
    run.ask(
        "document.body.append(Object.assign(document.createElement('script'),"
        " {textContent: 'window.injected = true'}));"
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"injected = true\">')"
    )
    assert run.ask("new Promise(done => setTimeout(() => done(window.injected), 200))") is None
    assert any("script-src" in complaint for complaint in run.complaints)


def test_a_comparison_opens_with_its_chart_and_complains_of_nothing(tab: Tab, compared: Path):
    tab.open(compared)
    assert tab.complaints == []
    assert tab.requested == [compared.as_uri()]
    bars = tab.ask(
        "[...document.querySelectorAll('figure svg .mark-rect path')]"
        ".filter(path => path.getBoundingClientRect().height > 0).length"
    )
    assert bars >= 2


def test_every_chart_is_drawn_with_marks_that_have_a_size(run: Tab):
    marks = run.ask(
        "[...document.querySelectorAll('figure.card svg')].map(svg =>"
        " [...svg.querySelectorAll('.mark-line path, .mark-area path')]"
        ".some(path => path.getBoundingClientRect().width > 100))"
    )
    assert len(marks) >= 10
    assert all(marks)


def test_a_filter_leaves_the_lines_that_have_all_words(run: Tab):
    shown = f"[...{TABLE}.tBodies[0].rows].filter(row => !row.hidden)"
    everything = run.ask(f"{shown}.length")
    run.ask(
        "(() => { const input = document.querySelector("
        "'input[aria-controls=\"t-PROCESSORS_BY_TIME\"]'); input.value = '14:01 91';"
        "input.dispatchEvent(new Event('input')); })()"
    )
    texts = run.ask(f"{shown}.map(row => row.textContent)")
    assert 0 < len(texts) < everything
    assert all("14:01" in text and "91" in text for text in texts)
    count = f"{TABLE}.closest('.report').querySelector('output').textContent"
    assert run.ask(count) == f"{len(texts)} of {everything} lines"


def test_a_click_on_a_heading_sorts_by_number_and_a_second_one_turns_the_order(run: Tab):
    column = run.ask(
        f"[...{TABLE}.tHead.rows[0].cells].findIndex(c => c.textContent.trim().startsWith('SIE'))"
    )
    click = f"{TABLE}.tHead.rows[0].cells[{column}].querySelector('button').click()"
    values = f"[...{TABLE}.tBodies[0].rows].map(row => Number(row.cells[{column}].textContent))"
    before = run.ask(values)
    run.ask(click)
    assert run.ask(values) == sorted(before, reverse=True)
    run.ask(click)
    assert run.ask(values) == sorted(before)
    assert len(set(before)) > 1


def test_the_pointer_shows_the_values_of_the_nearest_time(run: Tab):
    shown = run.ask(
        "(() => { const card = document.querySelector('#c-utilization');"
        "card.scrollIntoView();"
        "const over = card.querySelector('.over'); const box = over.getBoundingClientRect();"
        "over.dispatchEvent(new PointerEvent('pointermove',"
        " {clientX: box.right - 1, clientY: box.top + 20}));"
        "return card.querySelector('.tip').textContent; })()"
    )
    assert "2001-11-13 14:03:00" in shown
    assert "Emulation" in shown and "Wait" in shown


def test_charts_are_repainted_for_a_dark_screen_and_printed_as_on_paper(run: Tab):
    colors = (
        "[getComputedStyle(document.body).backgroundColor,"
        " getComputedStyle(document.querySelector('#c-xstor-paging .mark-line path')).stroke]"
    )
    run.look(prefers_color_scheme="light")
    light = run.ask(colors)
    run.look(prefers_color_scheme="dark")
    dark = run.ask(colors)
    run.look(media="print", prefers_color_scheme="dark")
    printed = run.ask(colors)
    run.look()
    assert light == ["rgb(246, 246, 243)", "rgb(42, 120, 214)"]
    assert dark == ["rgb(15, 15, 14)", "rgb(90, 156, 240)"]
    assert printed == ["rgb(255, 255, 255)", "rgb(42, 120, 214)"]


def test_names_that_look_like_code_are_shown_as_they_are(tab: Tab, pages: Path):
    [strange] = [file for file in pages.glob("*.html") if "script" in file.name]
    tab.open(strange)
    assert tab.complaints == []
    assert tab.ask("document.querySelector('h1').textContent") == f"Run {SCRIPT}' &amp;"
    assert f'"{SCRIPT}&' in tab.ask("document.querySelector('header p').textContent")
    assert tab.ask("document.title") != "broken"


def test_the_index_leads_to_the_pages_and_compares_the_runs_of_a_system(tab: Tab, pages: Path):
    tab.open(pages / "index.html")
    assert tab.complaints == []
    links = tab.ask("[...document.querySelectorAll('table[id^=t-] a')].map(a => decodeURI(a.href))")
    assert {Path(link.removeprefix("file://")) for link in links} == set(pages.glob("run-*.html"))
    assert tab.ask("document.querySelectorAll('svg .mark-rect path').length") == 4


def test_a_page_is_loaded_in_less_than_two_seconds(tab: Tab, pages: Path):
    fastest = min(tab.open(pages / "run-2600NP.html") for _ in range(3))
    assert fastest < 2
