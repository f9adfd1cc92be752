"""Events that are causes: what they do to the records of what they hit, and of nothing else."""

from __future__ import annotations

import pytest

from cpmon.core.errors import CpmonError
from tests.generate.figures import Dump
from tests.generate.offices import office
from tests.generate.records.test_d00_locks import grown
from tests.generate.records.test_d06_io import growth

pytestmark = pytest.mark.generator

SSCH, PENDING, DISCONNECT = 192, 60, 64
"""Offsets of SCGSSCH, SCMFPTIM and SCMDDTIM in IODDEV."""
DEVICE, SLOTS, WRITES, USED = 26, 36, 52, 164
"""Offsets of RDEVDEV, CALPAGE, EXPCTPWR and CPVALOCD in STOASP."""
MINUTE = 1
"""The interval in which each happens, of four."""


def hit(**keys: object) -> Dump:
    """The office in which something happens for the second minute."""
    lines = "".join(f"{k} = {v!r}\n".replace("'", '"') for k, v in keys.items())
    event = f"[[events]]\nat_s = {60 * MINUTE}\nlasts_s = 60\n{lines}\n"
    return office("NEW", ("[run.NEW]", f"{event}[run.NEW]"))


def service(dump: Dump, interval: int, at: int) -> dict[int, float]:
    """Units of 128 us that an I/O took in a part of its time, by subchannel."""
    starts = growth(dump, (6, 3), interval, slice(24, 28), SSCH)
    times = growth(dump, (6, 3), interval, slice(24, 28), at)
    return {unit: times[unit] / count for unit, count in starts.items() if count}


def test_a_slow_device_keeps_its_ios_disconnected():
    usual, slow = office(), hit(kind="slow", device="0701", factor=6)
    unit = 6  # behind three page, two spool and one user volume
    for minute in range(4):
        before, after = (service(dump, minute, DISCONNECT) for dump in (usual, slow))
        others = [after[n] / before[n] for n in before if n != unit]
        assert others == pytest.approx([1] * len(others), rel=0.02)
        # Of a service of 5.3 ms five more, beside the 2 ms disconnected.
        factor = 1 + 5 * 5.3 / 2 if minute == MINUTE else 1
        assert after[unit] / before[unit] == pytest.approx(factor, rel=0.02)


def test_a_lost_path_is_in_no_mask_and_ios_are_pending_for_longer():
    lost = hit(kind="path-off", name="2A")
    masks = [{record.data[21] for record in lost.of(6, 3, sample)} for sample in range(5)]
    assert masks == [{0xF0}, {0xF0}, {0xB0}, {0xB0}, {0xB0}]
    before, after = (service(dump, 3, PENDING) for dump in (office(), lost))
    assert [after[n] / before[n] for n in before] == pytest.approx([4 / 3] * len(before), rel=0.02)


def test_a_full_volume_has_no_free_slot_and_gets_no_page():
    full = hit(kind="full", device="0501")
    # It happens a moment after a sample: the next one has it, and the interval after that.
    at_sample = {r.u2(DEVICE): r for r in full.of(3, 4, MINUTE + 1)}
    assert at_sample[0x501].u4(USED) == at_sample[0x501].u4(SLOTS)
    assert at_sample[0x500].u4(USED) < at_sample[0x500].u4(SLOTS)
    written = growth(full, (3, 4), MINUTE + 1, slice(DEVICE, DEVICE + 2), WRITES)
    assert written[0x501] == 0 < written[0x500]
    usual = growth(office(), (3, 4), MINUTE + 1, slice(DEVICE, DEVICE + 2), WRITES)
    assert sum(written.values()) == sum(usual.values())


def test_contention_is_of_one_lock():
    usual, contended = grown(office()), grown(hit(kind="contention", name="FSDVMLK"))
    for minute, (before, after) in enumerate(zip(usual, contended, strict=True)):
        gained = {name: after[name][1] - before[name][1] for name in before}
        if minute == MINUTE:
            most = max(gained, key=lambda name: gained[name])
            assert most == "FSDVMLK"
            assert gained[most] == pytest.approx(0.97 * 60 * 4_096_000_000, rel=0.05)
        else:
            assert before == after


def test_another_volume_is_that_of_later_samples_and_counters_go_on():
    changed = hit(kind="volume", device="0701", name="NEW001")
    serials = [
        {r.data[36:42].decode("cp037") for r in changed.of(6, 3, n) if r.u2(200) == 0x701}
        for n in range(5)
    ]
    assert serials == [{"USR002"}, {"USR002"}, {"NEW001"}, {"NEW001"}, {"NEW001"}]
    for minute in range(4):
        before, after = (
            growth(dump, (6, 3), minute, slice(24, 28), SSCH) for dump in (office(), changed)
        )
        assert before == after


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"kind": "volume", "device": "0701", "name": "too long"}, "mounted"),
        ({"kind": "volume", "device": "0501", "name": "NEW001"}, "pages or spools"),
        ({"kind": "slow", "device": "0999"}, "device"),
        ({"kind": "full", "device": "0700"}, "device"),
        ({"kind": "path-off", "name": "9A"}, "channel path"),
        ({"kind": "contention", "name": "NOLOCK"}, "lock"),
        ({"kind": "weight", "name": "LP1"}, "partition"),
    ],
)
def test_what_there_is_not_cannot_be_hit(keys: dict[str, str], said: str):
    with pytest.raises(CpmonError, match=said):
        hit(**keys)
