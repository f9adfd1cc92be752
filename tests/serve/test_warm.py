"""The newest pages are made before they are asked for, again after the store has changed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from zlib import decompress

import pytest

from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.page.content import Window
from cpmon.reduce.page.page import IndexPart, index_part
from cpmon.reduce.reductions.reductions import reductions
from cpmon.serve import site as site_module
from cpmon.serve.site import GZIP, Site
from cpmon.store import Store, connect
from cpmon.store.connection import Connection
from tests.serve.conftest import ROOT

pytestmark = pytest.mark.anyio
LAB = (("run", "LAB"), ("system", "SMALLLAB"))
DUMPS = sorted((ROOT / "sample-data" / "timer").glob("*.mon.zst"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def until(is_so: Callable[[], object]) -> None:
    for _ in range(3000):
        if is_so():
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it never came")


@pytest.mark.slow
async def test_the_newest_page_and_its_objects_are_ready_and_follow_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(site_module, "LOOK_S", 0.2)
    monkeypatch.setattr(site_module, "WARM_OBJECTS", 1)
    store = Store(tmp_path / "store", create=True)
    ingest(DUMPS[0], store)
    site = Site(store.root, Settings(), 2, warm=1)
    ready = site.cache._answers
    background = asyncio.create_task(site.keep_warm())
    try:
        await until(lambda: len(ready) >= 4)
        (page,) = (key for key in ready if key.startswith("page?"))
        text = decompress(ready[page], GZIP).decode()
        links = {
            urlsplit(unescape(href)).query for href in re.findall(r'href="(object[^"]+)', text)
        }
        keys = {f"object?{urlencode(sorted(parse_qsl(link)))}" for link in links}
        made = {key for key in ready if key.startswith("object?")}
        assert made
        assert made <= keys  # a reader who follows a link asks for just these
        before = {*ready}
        ingest(DUMPS[1], store)
        await until(lambda: {key for key in ready if key.startswith("page?")} - before)
    finally:
        site.cancel()
        background.cancel()
        site.close()


@pytest.mark.slow
def test_an_ingest_of_another_system_leaves_pages_and_the_part_of_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = Store(tmp_path / "store", create=True)
    landed = ingest(DUMPS[0], store)
    site = Site(store.root, Settings(), 2)
    first, made = {"run": "2600NP"}, list[set[str]]()

    def recorded(con: Connection, found: Sequence[Window], *rest: Any) -> IndexPart:
        made.append({window.system for window in found})
        return index_part(con, found, *rest)

    monkeypatch.setattr(site_module, "index_part", recorded)

    def pages() -> list[str]:
        with connect(Store(store.root), reductions()) as con:
            return [page.href for part in site._parts(con, {}) for page in part.index.pages]

    before, alone, whole = site._state_of(first), pages(), site._state_of({})
    other = ingest(ROOT / "sample-data" / "small-lab" / "LAB.mon.zst", store)
    assert site._state_of(first) == before != site._state_of({"run": "LAB"})
    assert site._state_of({}) != whole
    assert pages() == [*(f"page?{key}={name}" for key, name in LAB), *alone]
    assert made == [{landed.system}, {other.system}]
    ingest(DUMPS[1], store)
    assert site._state_of(first) != before
    site.close()
