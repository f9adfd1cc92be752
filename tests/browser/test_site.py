"""The documentation as a site: strict links, nothing from other hosts, search from disk."""

from __future__ import annotations

import importlib.util
import os
import re
import time
from pathlib import Path

import pytest

from tests.browser.chromium import Tab
from tools.make_site import make_site, relinked

ELSEWHERE = re.compile(
    r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?(?:https?:)?//"
    r"|<link[^>]*rel=[\"']?(?:stylesheet|preload|icon)[^>]*href=[\"']?(?:https?:)?//"
)
SEARCH = "[...document.querySelectorAll('body > div')].map(e => e.shadowRoot).find(Boolean)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not importlib.util.find_spec("zensical") and not os.environ.get("CI"):
        pytest.skip("the site is not set up: make site")
    return make_site(tmp_path_factory.mktemp("site"))


@pytest.mark.slow
def test_no_page_of_the_site_takes_anything_from_another_host(site: Path):
    pages = [*site.rglob("*.html")]
    assert len(pages) > 40
    assert [p.name for p in pages if ELSEWHERE.search(p.read_text(encoding="utf-8"))] == []
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?https?:", style.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.browser
def test_a_field_is_found_by_the_search_of_a_page_opened_from_disk(site: Path, tab: Tab):
    tab.open(site / "store.html")
    tab.ask("document.querySelector('.md-search__button').click()")
    tab.ask(f"{SEARCH}.querySelector('input').focus()")
    tab.send("Input.insertText", text="pfxspint")
    found = ""
    deadline = time.monotonic() + 30
    while not found and time.monotonic() < deadline:
        time.sleep(0.2)
        found = tab.ask(f"[...{SEARCH}.querySelectorAll('a')].map(e => e.href).join(' ')")
    assert "dictionary/domain-00.html" in found
    assert tab.complaints == []
    assert [one for one in tab.requested if not one.startswith(("file:", "data:"))] == []


def test_links_hold_where_pages_stand_in_the_site(tmp_path: Path):
    from tools.make_site import DOCS, ROOT

    places = {ROOT / "README.md": Path("tour.md"), DOCS / "store.md": Path("store.md")}
    text = "[a](../README.md#x) [`b`](../LICENSE) [c](https://example.com)\n"
    assert (
        relinked(text, DOCS / "store.md", places) == "[a](tour.md#x) `b` [c](https://example.com)\n"
    )


def test_every_page_has_a_place_in_the_navigation():
    from tools.make_site import DOCS

    config = (DOCS / "site" / "zensical.toml").read_text(encoding="utf-8")
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert [page for page in sorted(pages) if f'"{page}"' not in config] == []
