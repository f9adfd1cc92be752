"""Sites for tests of batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch.site import Site, make_site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    return make_site(tmp_path, monkeypatch)
