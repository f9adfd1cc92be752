"""Catalogues without comments: they take half of the time to build, and one test has them."""

from __future__ import annotations

import pytest

from cpmon.store import catalogue


@pytest.fixture(autouse=True)
def without_comments(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "comment" not in request.node.name:
        monkeypatch.setattr(catalogue, "_comment", lambda *_: None)
