"""Some days of three systems in time-lapse, damaged and killed; `make soak` has thirty."""

from __future__ import annotations

import pytest

from tests.batch.ageing import MOST
from tests.batch.soak import Soak, complaints, soak

DAYS, EACH_H, KILLS = 3, 12, 1


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Soak:
    folder = tmp_path_factory.mktemp("soak") / "site"
    *_, last = soak(folder, DAYS, EACH_H, KILLS, checks=False)
    return last


@pytest.mark.long
def test_every_good_interval_is_there_once_and_the_reports_are(done: Soak):
    assert len(done.written) == 3 * 24 * DAYS
    assert list(complaints(done)) == []
    assert any(dump.pruned for dump in done.store.dumps())


@pytest.mark.long
def test_memory_stays_what_it_was(done: Soak):
    early, late = done.steps[3].rss, done.steps[-1].rss
    assert late < early * (1 + MOST)
