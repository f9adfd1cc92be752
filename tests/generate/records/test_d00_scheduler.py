"""The scheduler's lists, classes and shares, and the transactions of each class of user."""

from __future__ import annotations

import itertools

import pytest

from tests.generate.figures import CPU, SYSTEM, TOD_PER_S, Dump
from tests.generate.offices import INTERVALS, office

pytestmark = pytest.mark.generator

DISPATCH, ELIGIBLE, DORMANT = 0x37, 0x21, 0x0B
BUSY = ("cpu_percent = 15.0", "cpu_percent = 90.0")
EAGER = ("working_set_mib = 10", "working_set_mib = 10\ndispatched_share = 0.5")
"""Six guests with two processors each want more than three processors can give."""


def lists(found: Dump, sample: int) -> dict[str, set[int]]:
    """User ids by the lists that their virtual processors are in."""
    states: dict[str, set[int]] = {}
    for record in found.of(4, 3, sample):
        states.setdefault(record.text(20, 8), set()).add(record.data[32])
    return states


@pytest.mark.parametrize("changes", [(), (BUSY, EAGER)])
def test_every_user_is_in_one_list(changes: tuple[tuple[str, str], ...]):
    found = office("NEW", *changes)
    for sample, (scheduler, users) in enumerate(zip(found.of(0, 10), found.of(0, 8), strict=True)):
        states = list(lists(found, sample).values())
        dispatched = sum(DISPATCH in s for s in states)
        eligible = sum(ELIGIBLE in s and DISPATCH not in s for s in states)
        assert scheduler.u2(20) == dispatched
        assert sum(scheduler.u2(at) for at in (24, 26, 28)) == dispatched
        assert sum(scheduler.u2(at) for at in (30, 32, 34)) == eligible
        assert found.of(0, 12, sample)[0].u2(64) == eligible
        assert users.u4(20) == 48
        assert users.u4(24) == 48 - dispatched - eligible


def test_users_wait_in_the_eligible_list_only_where_processors_are_short():
    calm, busy = (office("NEW", *changes) for changes in ((EAGER,), (BUSY, EAGER)))
    assert {r.u2(34) for r in calm.of(0, 10)} == {0}
    assert max(r.u2(64) for r in busy.of(0, 12)) > 0
    assert sum(busy.growth(3, 2, CPU, 112)) > 0 == sum(calm.growth(3, 2, CPU, 112))


def test_working_sets_are_summed_by_class():
    for record in office().of(0, 10):
        assert sum(record.u4(at) for at in (76, 80, 84)) == record.u4(72) > 0


def test_shares_are_those_of_the_users_in_the_dispatch_list():
    found = office("NEW", ('prefix = "WEB"', 'prefix = "WEB"\nshare = 700'))
    for sample, record in enumerate(found.of(0, 10)):
        states = lists(found, sample)
        shares = [
            700 if user.startswith("WEB") else 100 for user, s in states.items() if DISPATCH in s
        ]
        assert record.u4(64) == sum(shares) == found.of(0, 24, sample)[0].u4(40)


def test_waits_by_type_of_processor_are_those_of_all():
    # One type is all that the system has: IFL.
    for record in office("NEW", BUSY).of(0, 12):
        pairs = ((36, 104), (40, 120), (44, 136), (48, 152))
        assert all(record.u4(every) == record.u4(typed) for every, typed in pairs)
        assert record.u4(48) > 0


def test_transactions_are_told_by_class_of_user():
    found = office()
    multi, uni = (
        [a + b for a, b in zip(*pair, strict=True)]
        for pair in (
            (found.growth(0, 8, SYSTEM, 36), found.growth(0, 8, SYSTEM, 48)),
            (found.growth(0, 8, SYSTEM, 60), found.growth(0, 8, SYSTEM, 72)),
        )
    )
    quick = found.growth(0, 8, SYSTEM, 84)
    for rate, counts in ((9, multi), (8, uni), (2, quick)):
        for count in counts:
            assert count / 60 == pytest.approx(rate, rel=0.25)
    # Servers are dispatched without delay: every one of their transactions, by processor.
    assert found.growth(0, 13, CPU, 22, 2) == quick


def response(found: Dump, time: int, count: int) -> float:
    total, number = found.growth(0, 8, SYSTEM, time, 8), found.growth(0, 8, SYSTEM, count)
    return sum(total) / TOD_PER_S / sum(number)


def test_responses_are_longer_on_busy_processors():
    calm, busy = (office("NEW", *changes) for changes in ((), (BUSY,)))
    # Half of three processors is in use: about 1 + 0.5 / (0.5 x 3) times as long as alone.
    assert response(calm, 52, 60) == pytest.approx(0.04 * 1.4, rel=0.15)
    assert response(calm, 64, 72) == pytest.approx(0.8 * 1.4, rel=0.15)
    assert response(calm, 28, 36) == pytest.approx(response(calm, 52, 60), rel=0.05)
    assert response(busy, 52, 60) > 5 * response(calm, 52, 60)


def test_a_target_of_utilization_leaves_nobody_without_a_processor():
    found = office(
        "NEW",
        BUSY,
        (
            "2007-03-05T10:00:00Z\n",
            "2007-03-05T10:00:00Z\ntargets = { total_util = 40, emul_util = 30 }\n",
        ),
    )
    assert {r.u2(34) for r in found.of(0, 10)} == {0}
    waits = [r.u4(44) for r in found.of(0, 12)]
    assert max(waits) <= 1


def test_the_configuration_tells_the_scheduler_settings():
    (settings,) = office().of(1, 16)
    assert [settings.u4(at) for at in (60, 64, 68)] == [125, 105, 95]
    assert [settings.u4(at) for at in (44, 48, 52)] == [100, 75, 60]
    assert settings.u8(24) == TOD_PER_S // 200


def test_lists_are_sampled_in_every_interval():
    found = office()
    for number in (8, 10, 12, 24):
        assert [r.sample for r in found.of(0, number)] == list(range(INTERVALS + 1))
    for before, now in itertools.pairwise(found.of(0, 8)):
        assert now.u8(52) > before.u8(52)
