"""The documentation as a site: strict links, nothing from other hosts, search from disk."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Tab
from tests.waiting import wait_until
from tools.make_site import DOCS, RENAMED, ROOT, build, make_site, relinked, stage

ELSEWHERE = re.compile(
    r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?(?:https?:)?//"
    r"|<link[^>]*rel=[\"']?(?:stylesheet|preload|icon)[^>]*href=[\"']?(?:https?:)?//"
)
SEARCH = "[...document.querySelectorAll('body > div')].map(e => e.shadowRoot).find(Boolean)"


def navigation() -> list[dict[str, list[Any]]]:
    """The parts of the site."""
    config = (DOCS / "site" / "zensical.toml").read_text(encoding="utf-8")
    parts: list[dict[str, list[Any]]] = tomllib.loads(config)["project"]["nav"]
    return parts


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
    results = f"[...{SEARCH}.querySelectorAll('a')].map(e => e.href).join(' ')"
    assert "dictionary/domain-00.html" in wait_until(lambda: tab.ask(results))
    assert tab.complaints == []
    assert [one for one in tab.requested if not one.startswith(("file:", "data:"))] == []


def test_links_hold_where_pages_stand_in_the_site(tmp_path: Path):
    places = {ROOT / "README.md": Path("tour.md"), DOCS / "store.md": Path("store.md")}
    text = "[a](../README.md#x) [`b`](../LICENSE) [c](https://example.com)\n"
    assert (
        relinked(text, DOCS / "store.md", places) == "[a](tour.md#x) `b` [c](https://example.com)\n"
    )


def places(entries: list[Any]) -> list[str]:
    """The pages of a part of the navigation, with those of its groups."""
    below = [next(iter(e.values())) if isinstance(e, dict) else e for e in entries]
    return [p for e in below for p in (places(e) if isinstance(e, list) else [e])]


def test_every_page_is_in_one_part_of_the_navigation(tmp_path: Path):
    stage(tmp_path / "site")
    docs = tmp_path / "site" / "docs"
    parts = {name: places(pages) for part in navigation() for name, pages in part.items()}
    assert [*parts] == ["Start here", "How to", "Reference", "How it works"]
    files = [page.relative_to(docs).as_posix() for page in docs.rglob("*.md")]
    assert sorted(page for pages in parts.values() for page in pages) == sorted(files)


def test_the_first_page_has_the_parts_of_the_navigation():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    sections = {s.partition("\n")[0]: re.findall(r"\]\(([^)]+)\)", s) for s in text.split("\n## ")}
    for part in navigation():
        ((name, entries),) = part.items()
        pages = [RENAMED.get(Path(p).name, p).removeprefix("../") for p in sections[name]]
        behind = {"index.md", "python-reference.md"}
        expected = {p for p in places(entries) if not p.startswith("dictionary/")} - behind
        assert (len(pages), {*pages}) == (len(expected), expected), name


@pytest.mark.slow
@pytest.mark.parametrize("link", ["nowhere.md", "install.md#nowhere"])
@pytest.mark.usefixtures("site")
def test_a_dead_link_stops_the_build(link: str, tmp_path: Path):
    """Without the link the same pages are built, as `site`."""
    stage(tmp_path)
    with (tmp_path / "docs" / "store.md").open("a", encoding="utf-8") as page:
        page.write(f"\n[dead]({link})\n")
    with pytest.raises(subprocess.CalledProcessError):
        build(tmp_path)
