"""The other engine reads rows as they landed, some intervals at a time where it may."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pyarrow as pa
import pytest

from cpmon.store import fusion
from cpmon.store.fusion import selected

MIDNIGHT = datetime(2006, 10, 16)  # noqa: DTZ001 - as the store has it
SUMS = (
    "SELECT s.interval_end, o.label, SUM(s.n) AS n FROM monitor.some AS s"
    " JOIN other AS o ON o.id = s.id GROUP BY s.interval_end, o.label"
)


def sources(*minutes: int) -> dict[str, pa.Table]:
    """Two rows of each interval, and rows of no interval that they refer to."""
    ends = [MIDNIGHT + timedelta(minutes=minute) for minute in minutes for _ in (1, 2)]
    some = {
        "interval_end": pa.array(ends, pa.timestamp("us")),
        "id": pa.array([n % 2 for n in range(len(ends))], pa.uint8()),
        "n": pa.array(range(len(ends)), pa.uint32()),
    }
    other = {"id": [0, 1], "label": ["even", "odd"]}
    return {"monitor.some": pa.table(some), "other": pa.table(other)}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were read at once, each time."""
    found: list[int] = []

    def context(part: Mapping[str, pa.Table]) -> object:
        found.append(len(part["monitor.some"]))
        assert len(part["other"]) == 2
        return made(part)

    made = fusion.context
    monkeypatch.setattr(fusion, "context", context)
    return found


@pytest.mark.parametrize(
    ("at_once", "parts"),
    [(None, [8]), (100, [8]), (8, [8]), (3, [2, 4, 2]), (4, [4, 4]), (1, [2, 2, 2, 2])],
)
def test_intervals_are_read_one_after_the_other(
    at_once: int | None, parts: list[int], read: list[int]
):
    rows = selected(SUMS, sources(1, 2, 3, 4), at_once)

    assert read == parts
    assert sorted(rows.column("n").to_pylist()) == [*range(8)]
    assert rows.schema.field("interval_end").type == pa.timestamp("us")


def test_rows_that_are_not_in_the_order_of_time_are_read_at_once(read: list[int]):
    rows = selected(SUMS, sources(2, 1, 3), at_once=1)

    assert read == [6]
    assert sorted(rows.column("n").to_pylist()) == [*range(6)]


def test_numbers_as_wide_as_they_landed_neither_wrap_nor_lose_their_sign():
    landed = pa.table({"n": pa.array([2**31], pa.uint32()), "id": pa.array([200], pa.uint8())})

    rows = selected("SELECT n * n AS squared, 0 - id AS below FROM landed", {"landed": landed})

    assert rows.to_pylist() == [{"squared": 2**62, "below": -200}]
