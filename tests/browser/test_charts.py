"""Charts of a page as a reader works with them: zoom, cursor, legend, table, and the address."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.cli.main import run as run_command
from cpmon.reduce.page.runtime import FILE
from tests.browser.chromium import Tab
from tests.browser.conftest import SCRIPT
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SPAN = "#from=2001-11-13T14:01:30Z&to=2001-11-13T14:03:00Z"
"""Of the three points of the run, at 14:01, 14:02 and 14:03, the last two."""
OUTPUT = "document.querySelector('.zoom output').textContent"


def drawn(tab: Tab) -> Tab:
    """The tab, when its charts are drawn as the state asks for."""
    is_busy = "document.getElementById('charts').getAttribute('aria-busy') == 'true'"
    wait_until(lambda: not tab.ask(is_busy))
    return tab


@pytest.fixture
def run(tab: Tab, pages: Path) -> Tab:
    """The page of a run, at its charts."""
    tab.open("about:blank")  # the same page with another fragment would not be loaded again
    tab.open(pages / "run-2600NP.html")
    tab.ask("document.getElementById('charts').scrollIntoView()")
    return tab


def at(tab: Tab, page: Path, fragment: str) -> Tab:
    """The page, opened with a state in its address."""
    tab.open("about:blank")
    tab.open(page.as_uri() + fragment)
    return drawn(tab)


def table(tab: Tab, chart: str) -> list[list[str]]:
    """The cells of the table of values under a chart, its head first."""
    card = f"document.querySelector('#c-{chart}')"
    tab.ask(f"{card}.querySelector('details').open = true")
    tab.ask("new Promise(done => setTimeout(done, 50))")
    rows: list[list[str]] = tab.ask(
        f"[...{card}.querySelectorAll('details tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    return rows


def drag(tab: Tab, chart: str, begin: float, end: float) -> None:
    """Drag over a share of a chart by the mouse."""
    box: dict[str, float] = tab.ask(
        f"(() => {{ const over = document.querySelector('#c-{chart} .over');"
        "over.scrollIntoView({block: 'center'});"
        "return over.getBoundingClientRect().toJSON(); })()"
    )
    y = box["y"] + box["height"] / 2
    for kind, share in (("mousePressed", begin), ("mouseMoved", end), ("mouseReleased", end)):
        x = box["x"] + share * box["width"]
        mouse = {"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}
        tab.send("Input.dispatchMouseEvent", **mouse)


def press(tab: Tab, chart: str, *keys: str) -> None:
    """Press keys on a chart."""
    tab.ask(f"document.querySelector('#c-{chart} .over').focus()")
    for key in keys:
        tab.press(key)


def lines(tab: Tab, chart: str) -> int:
    """The number of lines or areas that a chart shows."""
    marks = ".mark-line path, .mark-area path"
    count: int = tab.ask(
        f"[...document.querySelector('#c-{chart} .live').querySelectorAll({marks!r})]"
        ".filter(path => path.getBoundingClientRect().width > 20).length"
    )
    return count


def test_the_runtime_is_loaded_when_a_chart_is_first_changed(run: Tab, pages: Path):
    assert run.ask("typeof window.vegaEmbed") == "undefined"
    run.ask("document.querySelector('[data-zoom=in]').click()")
    drawn(run)
    asked = [url for url in run.requested if not url.startswith("data:") and "blank" not in url]
    assert asked == [(pages / name).as_uri() for name in ("run-2600NP.html", FILE)]
    assert run.complaints == []


def test_a_drag_zooms_all_charts_and_their_tables_and_stands_in_the_address(run: Tab):
    assert [row[0] for row in table(run, "master")[1:]] == [
        f"2001-11-13 14:0{minute}:00" for minute in (1, 2, 3)
    ]
    drag(run, "utilization", 0.25, 0.75)
    drawn(run)
    live = "document.querySelectorAll('.plot > .live svg').length"
    assert run.ask(live) == run.ask("document.querySelectorAll('.plot').length") > 10
    assert run.ask(OUTPUT) == "2001-11-13 14:01:30 to 2001-11-13 14:02:30"
    assert [row[0] for row in table(run, "master")[1:]] == ["2001-11-13 14:02:00"]
    assert run.ask("location.hash").startswith("#from=2001-11-13T14:01:30")
    run.ask("document.querySelector('[data-zoom=whole]').click()")
    drawn(run)
    assert run.ask("location.hash") == "" == run.ask(OUTPUT)
    assert len(table(run, "master")) == 4
    assert run.complaints == []


def test_a_state_in_the_address_is_restored(tab: Tab, pages: Path):
    at(tab, pages / "run-2600NP.html", f"{SPAN}&hide=utilization:Wait&hide=nothing:x")
    assert tab.ask(OUTPUT) == "2001-11-13 14:01:30 to 2001-11-13 14:03:00"
    assert len(table(tab, "frames")) == 3
    pressed = (
        "[...document.querySelectorAll('#c-utilization .legend button')].map(b => b.ariaPressed)"
    )
    assert tab.ask(pressed) == ["true", "true", "true", "false"]
    assert lines(tab, "utilization") == 3
    assert tab.ask("location.hash") == f"{SPAN}&hide=utilization:Wait"
    tab.ask("location.hash = '#configuration'")
    tab.ask("new Promise(done => setTimeout(done, 100))")
    assert tab.ask("location.hash") == f"{SPAN}&hide=utilization:Wait"
    assert tab.complaints == []


@pytest.mark.parametrize("fragment", ["#from=x&to=y", "#from=1999-01-01T00:00:00Z&to=1999-01-02"])
def test_a_time_that_is_none_of_the_page_is_left_out(tab: Tab, pages: Path, fragment: str):
    at(tab, pages / "run-2600NP.html", fragment)
    assert tab.ask("location.hash") == "" == tab.ask(OUTPUT)
    assert tab.complaints == []


def test_the_time_of_an_exception_is_a_state(run: Tab):
    links = "[...document.querySelectorAll('#t-exceptions a')].map(a => a.getAttribute('href'))"
    [link, *_] = run.ask(links)
    assert link.startswith("#from=2001-11-13T") and "&to=" in link
    run.ask("document.querySelector('#t-exceptions a').click()")
    drawn(run)
    assert run.complaints == []


def test_a_legend_hides_and_shows_a_series(run: Tab):
    button = "document.querySelectorAll('#c-utilization .legend button')[3]"
    run.ask(f"{button}.click()")
    drawn(run)
    assert lines(run, "utilization") == 3
    assert table(run, "utilization")[0][1:] == ["Emulation", "CP for users", "CP for the system"]
    run.ask(f"{button}.click()")
    drawn(run)
    assert lines(run, "utilization") == 4
    assert run.ask(f"{button}.ariaPressed") == "true"
    assert run.ask("location.hash") == ""


def test_keys_move_the_cursor_zoom_and_go_back(run: Tab):
    press(run, "master", "ArrowRight", "ArrowRight")
    over = "document.querySelector('#c-master .over')"
    assert run.ask(f"{over}.ariaValueText").startswith("2001-11-13 14:02:00, Master 9")
    assert "14:02:00" in run.ask("document.querySelector('#c-master .tip').textContent")
    crosses = run.ask(
        "[...document.querySelectorAll('.cross')].map(c => getComputedStyle(c).display)"
    )
    assert set(crosses) == {"block"}
    press(run, "master", "+")
    drawn(run)
    assert run.ask(OUTPUT) == "2001-11-13 14:01:30 to 2001-11-13 14:02:30"
    press(run, "master", "Shift+ArrowRight")
    drawn(run)
    assert run.ask(OUTPUT).startswith("2001-11-13 14:01:45")
    press(run, "master", "Escape")
    drawn(run)
    assert run.ask(OUTPUT) == ""
    assert run.complaints == []


def test_charts_mark_exceptions_and_tell_them_at_their_time(run: Tab):
    bands = "document.querySelectorAll('#c-frames .bands .warning').length"
    assert run.ask(bands) > 0
    press(run, "frames", "End")
    assert "no free frame" in run.ask("document.querySelector('#c-frames .tip').textContent")


def test_names_that_look_like_code_stay_names_when_charts_are_drawn_again(tab: Tab, pages: Path):
    [strange] = [file for file in pages.glob("*.html") if "script" in file.name]
    tab.open(strange)
    tab.ask("document.querySelector('[data-zoom=in]').click()")
    drawn(tab)
    assert tab.complaints == []
    assert tab.ask("document.title") != "broken"
    assert SCRIPT not in tab.ask("document.getElementById('charts').outerHTML")


def test_a_zoomed_chart_is_repainted_for_a_dark_screen(run: Tab):
    run.ask("document.querySelector('[data-zoom=in]').click()")
    drawn(run)
    stroke = (
        "getComputedStyle(document.querySelector('#c-xstor-paging .live .mark-line path')).stroke"
    )
    run.look(prefers_color_scheme="dark")
    dark = run.ask(stroke)
    run.look(prefers_color_scheme="light")
    assert (run.ask(stroke), dark) == ("rgb(42, 120, 214)", "rgb(90, 156, 240)")


def test_a_single_file_zooms_by_itself(tab: Tab, pages: Path, tmp_path: Path):
    words = ["report", "--html", "--single-file", "--run", "2600NP", "--user", "LINUX186"]
    assert (
        run_command([*words, "--store", str(pages / "store"), "-o", str(tmp_path)]) == Status.DONE
    )
    page = tmp_path / "run-2600NP" / "user-linux186.html"
    at(tab, page, SPAN)
    assert tab.ask("document.querySelectorAll('.live svg').length") > 0
    assert tab.complaints == []
    assert [url for url in tab.requested if url.startswith("file:")] == [page.as_uri()]


def test_a_page_without_the_runtime_beside_it_says_so(tab: Tab, pages: Path, tmp_path: Path):
    alone = tmp_path / "alone.html"
    alone.write_bytes((pages / "run-2600NP.html").read_bytes())
    at(tab, alone, SPAN)
    assert tab.ask(OUTPUT) == f"{FILE} is missing beside this page"
    assert tab.ask("document.querySelectorAll('.plot > svg').length") > 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_a_zoomed_page_is_accessible_and_fits(tab: Tab, pages: Path, scheme: str, width: int):
    tab.resize(width)
    tab.look(prefers_color_scheme=scheme)
    at(tab, pages / "run-2600NP.html", f"{SPAN}&hide=utilization:Wait")
    table(tab, "master")
    assert tab.ask("document.documentElement.scrollWidth") <= width
    # The rules of axe go over every cell for minutes; tables are not what this test is about.
    tab.ask("document.querySelectorAll('[id^=g-], #configuration').forEach(e => e.remove())")
    assert tab.violations("header", "nav", "#summary", "#charts") == []
    assert tab.complaints == []
