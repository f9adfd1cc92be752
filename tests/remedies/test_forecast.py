"""Forecasts that cannot be made so: what the message says helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.months import months, shares
from tests.remedies.trying import Attempt, tries

pytestmark = pytest.mark.slow


@tries("forecast-hours-missing")
@tries("forecast-weeks-too-few")
@tries("forecast-object-needed")
def test_hours_of_enough_weeks_are_reduced_and_an_object_is_named(tried: Attempt, tmp_path: Path):
    file, store = tmp_path / "months.mon", ("--store", tmp_path / "store")
    file.write_bytes(months(shares(7), users=2))
    tried.works("ingest", file, *store)
    total = ("forecast", "total_util", "--report", "processors_by_time", *store)
    tried.fails(*total)
    tried.works("reduce", "processors_by_time", "users_by_time", *store)
    tried.works(*total)
    tried.fails(*total, "--since", "2002-01-20")
    tried.works(*total)
    users = ("forecast", "resident_pages", "--report", "user_paging", *store)
    assert "name one with --user, or" in tried.fails(*users)
    tried.works(*users, "--user", "U1")
    tried.fails(*users)
    tried.works("forecast", "resident_pages", "--report", "user_resource_util", *store)
