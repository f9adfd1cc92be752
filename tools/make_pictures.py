"""Make the pictures of pages in docs/images: `python -m tools.make_pictures`, run by `make docs`.

They show a day of the scenario bank-day as Chromium does. Other fonts make other pictures, so they
are not checked, and stay as they are where there is no Chromium.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from cpmon.cli.main import run
from tests.browser.chromium import Tab, chromium, find_chromium
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SCENARIO, RUN = "bank-day", "BANKDAY"
WIDTH, HEIGHT, LOW = 1180, 1320, 620
ZOOMED = "#from=2006-10-16T12:00:00Z&to=2006-10-16T14:00:00Z&hide=utilization:Wait"
"""One guest loops from 13:00 on."""
BUSY = "document.getElementById('charts').ariaBusy"


def make_pictures(program: str, folder: Path) -> None:
    """Write the pictures.

    Args:
        program: Chromium. folder: for a store and its pages.
    """
    store = str(folder / "store")
    run(["generate", SCENARIO, "-o", str(folder)])
    run(["ingest", str(folder / f"{RUN}.mon"), "--store", store])
    run(["report", "--html", "--store", store, "--run", RUN, "-o", str(folder / "pages")])
    page = (folder / "pages" / f"run-{RUN}.html").as_uri()
    with chromium(program, folder / "profile", "--hide-scrollbars") as tab:
        tab.resize(WIDTH, HEIGHT)
        tab.open(page)
        (IMAGES / "page.png").write_bytes(tab.picture())
        tab.resize(WIDTH, LOW)
        tab.open("about:blank")
        tab.open(page + ZOOMED)
        _show_values(tab)
        (IMAGES / "zoomed.png").write_bytes(tab.picture())


def _show_values(tab: Tab) -> None:
    """Wait for the charts, then put the cursor on the second chart."""
    wait_until(lambda: tab.ask(BUSY) != "true")
    tab.ask("document.querySelector('#c-master .over').focus({preventScroll: true})")
    for _ in range(56):
        tab.press("ArrowRight")
    tab.ask("document.getElementById('charts').scrollIntoView()")


if __name__ == "__main__":
    if found := find_chromium():
        with TemporaryDirectory() as made:
            make_pictures(found, Path(made))
    else:
        print("no Chromium on the PATH: the pictures stay as they are", file=sys.stderr)
