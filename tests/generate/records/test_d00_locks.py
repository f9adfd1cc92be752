"""The formal spin locks: every spin of a processor is a spin on one of them."""

from __future__ import annotations

import itertools

import pytest

from tests.generate.figures import CPU, SYSTEM, Dump
from tests.generate.offices import INTERVALS, office
from tests.generate.plain_reader import Record

pytestmark = pytest.mark.generator

LOCKS = 26
"""In the list of the record's page of 5.3.0."""


def entries(record: Record) -> dict[str, tuple[int, int, int, int]]:
    count, size, start = record.u4(20), record.u2(24), record.u2(26)
    assert start + count * size == len(record.data)
    places = [start + n * size for n in range(count)]
    return {
        record.text(at, 8): (
            record.u4(at + 8),
            record.u8(at + 12),
            record.u4(at + 20),
            record.u8(at + 24),
        )
        for at in places
    }


def grown(found: Dump) -> list[dict[str, tuple[int, ...]]]:
    """Spins and their time in each interval by lock: exclusive, then shared."""
    return [
        {
            name: tuple(n - b for n, b in zip(now, before[name], strict=True))
            for name, now in after.items()
        }
        for before, after in itertools.pairwise(map(entries, found.of(0, 23)))
    ]


def test_every_lock_is_named_once():
    for record in office().of(0, 23):
        assert len(entries(record)) == record.u4(20) == LOCKS


def test_spins_on_all_locks_are_those_of_all_processors():
    found = office()
    counts = [sum(row[0] + row[2] for row in rows.values()) for rows in grown(found)]
    times = [sum(row[1] + row[3] for row in rows.values()) for rows in grown(found)]
    assert counts == found.growth(0, 2, CPU, 100)
    assert times == found.growth(0, 2, CPU, 92, 8)
    assert all(counts)


def test_the_scheduler_counts_two_of_the_locks_itself():
    found = office()
    for at, lock in ((116, "SRMSLOCK"), (128, "HCPTRQLK")):
        rows = [row[lock] for row in grown(found)]
        assert found.growth(0, 10, SYSTEM, at) == [row[0] + row[2] for row in rows]
        assert found.growth(0, 10, SYSTEM, at + 4, 8) == [row[1] + row[3] for row in rows]


def test_only_the_scheduler_lock_is_had_for_shared_use():
    for rows in grown(office()):
        assert {name for name, row in rows.items() if row[2] or row[3]} == {"SRMSLOCK"}
        assert max(rows, key=lambda name: rows[name][0]) == "SRMSLOCK"


def test_releases_before_5_3_have_no_record_of_locks():
    assert len(office().of(0, 23)) == INTERVALS + 1
    assert office("OLD").of(0, 23) == []


def test_one_processor_never_spins():
    alone = office("NEW", ("processors = 3", "processors = 1"))
    assert {row for rows in grown(alone) for row in rows.values()} == {(0, 0, 0, 0)}
