"""Pages on a phone and on a desk, light and dark: all is readable, and nothing is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cpmon.cli.main import Status
from cpmon.cli.main import run as run_command
from tests.browser.chromium import Tab
from tests.conftest import Golden

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE, DESK = 390, 1280
NAMES = ("run", "index", "comparison", "validation", "dictionary")
# What is not in sight is not laid out otherwise.
SHOW_ALL = (
    "document.head.append(Object.assign(document.createElement('style'),"
    " {textContent: '.report {content-visibility: visible !important}'}))"
)


@pytest.fixture(scope="session")
def files(pages: Path, compared: Path) -> dict[str, Path]:
    """The pages that cpmon writes, by what they are."""
    validation, dictionary = pages / "validation.html", pages / "dictionary.html"
    run_command(["validate", "--store", str(pages / "store"), "--html", "-o", str(validation)])
    words = ["schema", "dictionary", "--format", "html", "-o", str(dictionary)]
    assert run_command(words) == Status.DONE
    found = (pages / "run-2600NP.html", pages / "index.html", compared, validation, dictionary)
    return dict(zip(NAMES, found, strict=True))


def show(tab: Tab, file: Path, width: int = PHONE) -> Tab:
    """A page in a window of that width, all of it laid out."""
    tab.resize(width)
    tab.open(file)
    tab.ask(SHOW_ALL)
    return tab


@pytest.mark.parametrize("name", NAMES)
def test_no_page_is_wider_than_its_window(tab: Tab, files: dict[str, Path], name: str):
    for width in (320, 360, PHONE, 768, DESK):
        shown = show(tab, files[name], width)
        assert (
            shown.ask("document.documentElement.scrollWidth") <= width
        )  # innerWidth grows with it


@pytest.mark.parametrize("name", NAMES)
def test_no_time_and_no_word_of_a_short_cell_is_broken(tab: Tab, files: dict[str, Path], name: str):
    """The fault: cells of 2006-10-16 10:00 in lines of four letters."""
    broken = show(tab, files[name]).ask(
        r"""(() => {
          const found = [];
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          for (let node; (node = walker.nextNode());) {
            if (node.parentElement.closest('script, style, svg')) continue;
            const cell = node.parentElement.closest('td, tbody th');
            const words = cell && cell.textContent.trim().length <= 24 ? '|\\S+' : '';
            const time = '\\d{4}-\\d\\d-\\d\\d( \\d\\d:\\d\\d(:\\d\\d)?)?';
            const whole = new RegExp(time + words, 'g');
            for (const match of node.data.matchAll(whole)) {
              const range = document.createRange();
              range.setStart(node, match.index);
              range.setEnd(node, match.index + match[0].length);
              const tops = Array.from(range.getClientRects(), (box) => Math.round(box.top));
              if (new Set(tops).size > 1) found.push(match[0]);
            }
          }
          return found;
        })()"""
    )
    assert broken == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES[:4])
def test_a_table_that_is_wider_than_its_box_scrolls_under_an_edge(
    tab: Tab, files: dict[str, Path], name: str, scheme: str
):
    tab.look(prefers_color_scheme=scheme)
    show(tab, files[name])
    # The bar of a box that scrolls up and down as well lies on its edge.
    wide = tab.ask(
        "window.boxes = [...document.querySelectorAll('.scroll')].filter(box =>"
        " box.scrollWidth > box.clientWidth && box.scrollHeight <= box.clientHeight); boxes.length"
    )
    assert wide
    assert tab.ask("[...document.querySelectorAll('table')].every(t => t.closest('.scroll'))")
    for box in sorted({0, wide - 1}):

        def end_of_last_line(left: int, box: int = box) -> Any:
            """(lines, 4) how bright the last pixels of the box are, scrolled that far."""
            top, bottom, right = tab.ask(
                f"(() => {{ const cell = boxes[{box}].querySelector('tbody tr:last-child > *');"
                " cell.scrollIntoView({block: 'center', inline: 'nearest'});"
                f" boxes[{box}].scrollLeft = {left};"
                f" const box = boxes[{box}].getBoundingClientRect();"
                " const at = cell.getBoundingClientRect();"
                " return [at.top + 2, at.bottom - 8, box.right - 1]; })()"
            )
            shown = tab.pixels(tab.picture(), PHONE, 844).mean(axis=2)
            return shown[int(top) : int(bottom), int(right) - 4 : int(right)]

        # Letters move too, but only the edge is a line from top to bottom.
        changed = np.abs(end_of_last_line(0) - end_of_last_line(100_000))
        assert np.quantile(changed, 0.2, axis=0).max() > 60
        assert tab.ask(f"boxes[{box}].scrollLeft") > 0


@pytest.mark.parametrize("name", NAMES[:3])
def test_texts_of_charts_are_as_large_as_small_print_and_inside(
    tab: Tab, files: dict[str, Path], name: str
):
    """The fault: charts of 640 units on a phone, with letters of 5 pixels."""
    for width in (360, PHONE, 768, DESK, 1920):
        sizes, outside = show(tab, files[name], width).ask(
            """(() => {
              const sizes = [], outside = [];
              for (const text of document.querySelectorAll('figure svg text')) {
                const drawing = text.ownerSVGElement.getBoundingClientRect();
                const box = text.getBoundingClientRect();
                const {a, b} = text.getScreenCTM();
                sizes.push(parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b));
                if (box.left < drawing.left - 1 || box.right > drawing.right + 1)
                  outside.push(text.textContent);
              }
              return [sizes, outside];
            })()"""
        )
        assert 9 <= min(sizes) <= max(sizes) <= 16, width
        assert outside == [], width


def test_figures_stand_two_in_a_row_and_the_navigation_is_in_sight(
    tab: Tab, files: dict[str, Path]
):
    show(tab, files["run"])
    tops = tab.ask(
        "[...document.querySelectorAll('.tile')].map(t => t.getBoundingClientRect().top)"
    )
    assert len(tops) > 8
    assert tops[::2][: len(tops) // 2] == tops[1::2]
    assert len(set(tops)) == (len(tops) + 1) // 2
    for part in (".tile > *", "nav a"):
        inside = (
            f"[...document.querySelectorAll('{part}')].every(e => e.scrollWidth <= e.clientWidth"
        )
        assert tab.ask(f"{inside} && e.getBoundingClientRect().right <= {PHONE})"), part


def test_the_compared_run_is_in_sight_on_a_phone(tab: Tab, files: dict[str, Path]):
    show(tab, files["comparison"])
    heads = tab.ask(
        "[...[...document.querySelectorAll('table')].at(-1).querySelectorAll('thead th')]"
        f".filter(th => th.getBoundingClientRect().right <= {PHONE}).map(th => th.textContent)"
    )
    assert heads[:4] == ["Metric", "Unit", "2600NP", "3600P1"]


def test_a_touch_shows_values_that_stay_and_are_inside(tab: Tab, files: dict[str, Path]):
    show(tab, files["run"])
    plot = "document.querySelector('#c-utilization .role-frame path.background')"
    tab.ask(f"{plot}.scrollIntoView({{block: 'center'}})")
    for share in (0.02, 0.5, 0.98):
        box = f"{plot}.getBoundingClientRect()"
        point = tab.ask(f"({{x: {box}.left + {share} * {box}.width, y: {box}.top + 20}})")
        tab.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[point])
        tab.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        text, left, right = tab.ask(
            "(() => { const tip = document.querySelector('#c-utilization .tip');"
            " const box = tip.getBoundingClientRect();"
            " return [tip.textContent, box.left, box.right]; })()"
        )
        assert "Emulation" in text
        assert 0 <= left < right <= PHONE


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES[:4])
def test_texts_stand_out_from_what_is_behind_them(
    tab: Tab, files: dict[str, Path], name: str, scheme: str
):
    tab.look(prefers_color_scheme=scheme)
    weak = show(tab, files[name]).ask(
        """(() => {
          const parts = (color) => color.match(/[\\d.]+/g).map(Number);
          const light = (color) => parts(color).slice(0, 3)
            .map((c) => c / 255).map((c) => (c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4))
            .reduce((sum, c, n) => sum + c * [.2126, .7152, .0722][n], 0);
          const behind = (element) => {
            for (; element; element = element.parentElement) {
              const color = getComputedStyle(element).backgroundColor;
              if ((parts(color)[3] ?? 1) === 1) return color;
            }
          };
          const weak = new Set();
          for (const element of document.querySelectorAll('body *')) {
            const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
            if (!own || element.closest('script, style, title, desc')) continue;
            const style = getComputedStyle(element);
            const color = element.closest('svg') ? style.fill : style.color;
            const [a, b] = [light(color), light(behind(element))].sort((x, y) => x - y);
            const what = `${element.tagName} ${color} on ${behind(element)}`;
            if ((b + .05) / (a + .05) < 4.5) weak.add(what);
          }
          return [...weak];
        })()"""
    )
    assert weak == []


FAR = 6.0
"""Mean difference of colours, of 255, from which two pictures are not of the same page.

Other letters make 1 to 14, tables with letters 6 % larger 3 to 8, charts that are missing 7 to 19.
"""
ONE_FONT = (
    "document.head.append(Object.assign(document.createElement('style'),"
    " {textContent: '* {font-family: \"Liberation Sans\" !important}'}))"
)


@pytest.mark.golden
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", [*NAMES[:3], "exceptions"])
def test_pages_look_as_they_did(
    tab: Tab, files: dict[str, Path], golden: Golden, name: str, width: int, scheme: str
):
    """Coarsely, in a font that comes with Chromium: browsers differ in the shapes of letters."""
    tab.look(prefers_color_scheme=scheme)
    page, part = ("run", "#exceptions") if name == "exceptions" else (name, "h1")
    show(tab, files[page], width)
    tab.ask(ONE_FONT)
    tab.ask(f"document.querySelector('{part}').scrollIntoView({{behavior: 'instant'}})")
    left, top = tab.ask("[scrollX, scrollY]")
    window = {"x": left, "y": top, "width": width, "height": 844}
    window["scale"] = 1 if width == PHONE else 0.5
    shown = tab.picture(clip=window)
    kept = golden.stored(f"pages/{name}-{width}-{scheme}.png", shown)
    coarse = [tab.pixels(picture, width // 10, 84) for picture in (shown, kept)]
    assert np.abs(coarse[0] - coarse[1]).mean() < FAR
