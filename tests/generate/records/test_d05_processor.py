"""What guests ask CP for, by DIAGNOSE code and by instruction, and who else counts the same."""

from __future__ import annotations

import itertools

import pytest

from tests.generate.figures import CPU, Dump
from tests.generate.offices import INTERVALS, office

pytestmark = pytest.mark.generator

CODES = 193
TOTAL = 24 + 4 * CODES


def codes(found: Dump) -> dict[str, int]:
    """Uses of the codes below 100 in all intervals, by code; the others as 'above'."""
    sums = {f"{4 * n:02X}": 0 for n in range(64)} | {"above": 0}
    for rows in found.series(5, 12, CPU).values():
        first, last = rows[0], rows[-1]
        for n in range(CODES):
            name = f"{4 * n:02X}" if n < 64 else "above"
            sums[name] += last.u4(24 + 4 * n) - first.u4(24 + 4 * n)
    return {name: count for name, count in sums.items() if count}


@pytest.mark.parametrize("run", ["NEW", "OLD"])
def test_codes_add_up_to_what_the_system_record_counts(run: str):
    found = office(run)
    for rows in found.series(5, 12, CPU).values():
        for record in rows:
            assert sum(record.u4(24 + 4 * n) for n in range(CODES)) % 2**32 == record.u4(TOTAL)
    total = found.growth(5, 12, CPU, TOTAL)
    assert total == found.growth(0, 1, CPU, 28)
    assert min(total) > 0


def test_codes_are_those_of_the_kinds_of_guests():
    few_clerks = office(
        "NEW", ("count = 40", "count = 1"), ("count = 2\nguest", "count = 1\nguest")
    )
    clerks = codes(office())
    assert clerks["A4"] > clerks["58"] > clerks["08"] > 0
    few = codes(few_clerks)
    assert few["44"] > 5 * few["A4"]
    assert few["above"] > few["A4"]


def test_voluntary_time_slice_ends_follow_their_own_rate():
    used = codes(office("OLD"))["44"]
    assert 0.85 * 6 * 20 * 60 * INTERVALS < used < 1.15 * 6 * 20 * 60 * INTERVALS
    # From 5.2.0 on most of them take a path of their own.
    assert codes(office())["44"] < used / 10
    silent = office("NEW", ("diagnose_44_per_s = 20.0", "diagnose_44_per_s = 0.0"))
    assert "44" not in codes(silent)


def test_instructions_add_up_to_what_the_system_record_counts():
    found = office()
    sums = [0] * INTERVALS
    for n in range(48):
        each = found.growth(5, 11, CPU, 24 + 4 * n)
        sums = [a + b for a, b in zip(sums, each, strict=True)]
    assert sums == found.growth(0, 1, CPU, 32)
    assert found.growth(5, 11, CPU, 216) == found.growth(0, 1, CPU, 48)


def test_messages_take_an_instruction_each_to_send_and_to_receive():
    found = office()
    instructions = found.growth(5, 11, CPU, 160)
    sent, received = found.growth(0, 11, CPU, 24), found.growth(0, 11, CPU, 52)
    assert sent == received
    for both, each in zip(instructions, sent, strict=True):
        assert 0 < 2 * each <= both <= 2 * each + 3
    assert found.growth(0, 11, CPU, 44) == [1] * INTERVALS


def test_processors_take_work_from_each_other_but_not_from_themselves():
    for run, first, width in (("NEW", 124, 4), ("OLD", 22, 2)):
        found = office(run)
        taken = [sum(found.growth(5, 3, CPU, first + width * n, width)) for n in range(4)]
        assert all(taken[:3])
        assert taken[3] == 0
        for rows in found.series(5, 3, CPU).values():
            for before, now in itertools.pairwise(rows):
                at = first + width * now.u2(20)
                assert now.data[at : at + width] == before.data[at : at + width]


def test_later_releases_tell_the_type_of_a_processor():
    found = office()
    for kind, at in (((0, 1), 112), ((0, 2), 104), ((0, 4), 60), ((0, 11), 220), ((5, 3), 380)):
        assert {r.data[at] for r in found.of(*kind)} == {3}
    assert {r.data[20] for r in found.of(0, 24)} == {3}


def test_io_processors_start_what_the_devices_do():
    found = office()
    assert found.growth(5, 8, slice(20, 21), 48, 8) == found.growth(0, 1, CPU, 48)
    looks = zip(
        found.growth(5, 8, slice(20, 21), 32, 8),
        found.growth(5, 8, slice(20, 21), 40, 8),
        strict=True,
    )
    assert {busy + idle for busy, idle in looks} == {3 * 60 * 1000}
    alone = office(
        "NEW", ('model = "703"', 'model = "703"\nmode = "lpar"\nphysical_processors = 9')
    )
    assert len(alone.of(5, 8, 0)) == 2
