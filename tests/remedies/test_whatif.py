"""Changes that cannot be told so: what the message says helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guests import guests, store_of_guests
from tests.remedies.trying import Attempt, tries

pytestmark = pytest.mark.slow


@tries("whatif-hours-too-few", "land and reduce the dumps of more weeks")
@tries("whatif-more-than-all")
def test_more_weeks_are_landed_and_fewer_guests_taken_away(tried: Attempt, tmp_path: Path):
    store = ("--store", store_of_guests(tmp_path, 14 * 24).root)
    add = ("whatif", "--add", 1, "--like", "LNX1", *store)
    assert f"{14 * 24 - 11} hours" in tried.fails(*add)
    file = tmp_path / "longer.mon"
    file.write_bytes(guests(22 * 24))
    tried.works("ingest", file, *store)
    tried.works("reduce", "processors_by_time", "users_by_time", *store)
    tried.works(*add)
    tried.fails("whatif", "--remove", 3, "--like", "LNX1", *store)
    tried.works("whatif", "--remove", 1, "--like", "LNX1", *store)
