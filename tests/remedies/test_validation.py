"""What rules of validation advise: done, and the rule holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.store import Store
from tests.remedies.conftest import dump_of
from tests.remedies.trying import Attempt, tries

pytestmark = pytest.mark.slow


def failed(tried: Attempt, store: Path, rule: str) -> bool:
    """Whether a rule does not hold."""
    answer = tried.cpmon("validate", "--rule", rule, "--store", store, "--format", "json")
    assert answer.status in (Status.DONE, Status.WARNINGS, Status.INVALID), answer.err
    return '"status": "failed"' in answer.text


def test_the_folder_of_a_dump_that_is_part_of_another_is_moved_away(
    tried: Attempt, mon: Path, tmp_path: Path
):
    store, longer = tmp_path / "store", tmp_path / "longer.mon"
    longer.write_bytes(dump_of(0, intervals=6))
    tried.works("ingest", mon, "--store", store)
    (part,) = Store(store).dumps()
    tried.works("ingest", longer, "--store", store)
    assert failed(tried, store, "intervals-once")
    tried.works("store", "drop", part.dump, "--store", store)
    assert not failed(tried, store, "intervals-once")


def test_a_dump_of_the_time_between_makes_intervals_regular(tried: Attempt, tmp_path: Path):
    store = tmp_path / "store"
    for number in (0, 2, 1):
        path = tmp_path / f"{number}.mon"
        path.write_bytes(dump_of(number))
        if number == 1:
            assert failed(tried, store, "intervals-regular")
        tried.works("ingest", path, "--store", store)
    assert not failed(tried, store, "intervals-regular")


def test_a_dump_that_is_transferred_again_takes_the_place_of_the_spoilt_one(
    tried: Attempt, mon: Path, tmp_path: Path
):
    store, spoilt = tmp_path / "store", tmp_path / "spoilt.mon"
    tried.works("damage", mon, "length-short:50%", "-o", spoilt)
    tried.works("ingest", spoilt, "--store", store, status=Status.DAMAGED)
    assert failed(tried, store, "bytes-understood")
    (spoilt_dump,) = Store(store).dumps()
    tried.works("ingest", mon, "--store", store)
    tried.works("store", "drop", spoilt_dump.dump, "--store", store)
    assert not failed(tried, store, "bytes-understood")


@tries("kept-results-missing")
def test_results_that_were_computed_are_held_against_their_metrics(
    tried: Attempt, mon: Path, tmp_path: Path
):
    store = tmp_path / "store"
    tried.works("ingest", mon, "--store", store)
    tried.fails("validate", "--store", store, "--expectations")
    tried.works("reduce", "--store", store)
    tried.works("validate", "--store", store, "--expectations")
