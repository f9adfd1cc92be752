"""Each address of a server under limits of memory: answered, or with what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serve.conftest import Start

BIG = "SELECT repeat('a', 900000000) AS a, repeat('b', 900000000) AS b"
RUN = {"run": "2600NP"}
ADDRESSES: list[tuple[str, dict[str, str]]] = [
    ("", {}),
    ("index.html", {}),
    ("page", RUN),
    ("page", {**RUN, "since": "2001-11-13T14:00"}),
    ("object", {**RUN, "kind": "user", "name": "LINUX186"}),
    ("object", {**RUN, "kind": "cpu", "name": "0"}),
    ("query", {"sql": "FROM interval.useact ORDER BY ALL"}),
    ("query", {"sql": "SELECT interval_end, total_util FROM system_summary_by_time"}),
    ("query", {"sql": BIG}),
    ("query.csv", {"sql": "FROM interval.useact ORDER BY ALL"}),
    ("query.xlsx", {"sql": "FROM interval.sytrsp"}),
    ("query.csv", {"sql": BIG}),
    ("query", {"sql": "SELECT 1"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["1MB", "16MB", "64MB", "400MB"])
def test_an_address_is_answered_whatever_the_limit(
    store: Path, start: Start, tmp_path: Path, limit: str
):
    settings = tmp_path / "cpmon.toml"
    settings.write_text(f'memory_limit = "{limit}"\n')
    server = start(store, "--config", str(settings))
    for path, query in ADDRESSES:
        answer = server.get(path, **query)
        assert answer.status in (200, 400, 503), (path, query, answer)
        if answer.status != 200:
            assert "memory" in answer.text, (path, query, answer)
    assert server.get("query", sql="SELECT 1").status == 200
    assert server.process.poll() is None
