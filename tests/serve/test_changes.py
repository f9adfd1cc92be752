"""Open pages are told that data has landed, and no longer than they are open."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.request import urlopen

import pytest

from cpmon.ingest import ingest
from cpmon.serve import changes
from cpmon.serve.changes import Changes
from cpmon.store import Store
from tests.serve.conftest import ROOT, Start

FIRST, SECOND = (ROOT / "sample-data" / "timer" / f"{run}.mon.zst" for run in ("2600NP", "3600P1"))


@pytest.mark.slow
def test_a_page_is_told_of_newer_intervals_and_the_server_still_ends(start: Start, tmp_path: Path):
    store = Store(tmp_path / "store", create=True)
    ingest(FIRST, store)
    server = start(store.root)
    page = server.get("page", system="TIMER").text
    address = unescape(re.search('data-changes="([^"]+)"', page)[1])
    with urlopen(f"{server.base}{address}", timeout=100) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        ingest(SECOND, store)
        assert events.readline() == b"event: changed\n"
        assert events.readline().startswith(b"data: ")
        assert server.stop() == 0


@pytest.mark.slow
def test_beyond_a_number_of_pages_none_is_told(store: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(changes, "MOST_STREAMS", 0)
    with pytest.raises(changes.BusyError):
        Changes(store).check()
