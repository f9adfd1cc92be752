"""Records about devices, control units and channel paths: they agree with each other."""

from __future__ import annotations

import itertools

import pytest

from cpmon.core.errors import CpmonError
from cpmon.generate.loading import parse_scenario
from tests.generate.eventful import SYSTEM, read_eventful
from tests.generate.figures import TOD_PER_S, Dump
from tests.generate.plain_reader import Record

pytestmark = pytest.mark.generator

DEVICES = 12
SCM_PER_S = 1_000_000 / 128


@pytest.fixture(scope="module")
def dump() -> Dump:
    return read_eventful()


def growth(dump: Dump, kind: tuple[int, int], interval: int, key: slice, at: int) -> dict[int, int]:
    """Growth of a 4-byte counter by key, of what is in both samples."""
    before, now = (
        {int.from_bytes(r.data[key]): r.u4(at) for r in dump.of(*kind, interval + n)}
        for n in (0, 1)
    )
    return {k: (now[k] - before[k]) % 2**32 for k in before.keys() & now.keys()}


def of_disk(dump: Dump, interval: int, at: int) -> dict[int, int]:
    """Growth of a counter of IODDEV by subchannel."""
    return growth(dump, (6, 3), interval, slice(24, 28), at)


def of_cache(dump: Dump, interval: int, at: int) -> dict[int, int]:
    """Growth of a counter of IODCAD by subchannel."""
    return growth(dump, (6, 4), interval, slice(20, 24), at)


def test_the_configuration_tells_every_device(dump: Dump):
    found = dump.of(1, 6, 0)
    assert [r.u2(26) for r in found] == [0xA00, 0xA01, 0xA10, *range(0xB00, 0xB09)]
    assert [r.u4(28) for r in found] == list(range(DEVICES))
    serials = ["PAG001", "PAG002", "SPL001", *(f"USR00{n}" for n in range(1, 10))]
    assert [r.text(46, 6) for r in found] == serials
    page, user = found[0].data, found[-1].data
    assert (page[21], page[22:24].hex(), page[24], page[40:43].hex()) == (4, "3390", 3, "399006")
    assert (user[21], user[22:24].hex(), user[24], user[40:43].hex()) == (4, "3390", 9, "2107e8")
    assert (page[25], page[32:40].hex()) == (0xF0, "1a2a3a4a00000000")
    assert (user[25], user[32:40].hex()) == (0xC0, "5a5b000000000000")


def test_a_configuration_that_comes_again_has_the_devices_that_are_online():
    off = read_eventful(("at_s = 213", "at_s = 123"))
    assert [r.u2(26) for r in off.of(1, 6, 5)].count(0xB04) == 0
    assert len(off.of(1, 6, 5)) == DEVICES - 1


def test_a_device_tells_its_paths_and_its_owner(dump: Dump):
    for record in dump.of(6, 3, 0):
        (config,) = [r for r in dump.of(1, 6, 0) if r.u4(28) == record.u4(24)]
        assert record.data[21] == config.data[25]
        assert record.data[28:36] == config.data[32:40]
        assert record.text(42, 8) == "SYSTEM"


def test_every_user_who_is_logged_on_has_a_minidisk(dump: Dump):
    for sample in range(10):
        links = [r.u2(50) for r in dump.of(6, 3, sample) if r.u2(200) >= 0xB00]
        if len(links) == 9:
            assert sum(links) == dump.of(0, 8, sample)[0].u4(20)
        assert max(links) - min(links) <= 4
    assert {r.u2(50) for r in dump.of(6, 3) if r.u2(200) < 0xB00} == {0}


def test_only_a_device_that_comes_online_presents_an_interrupt_of_its_own(dump: Dump):
    found = {n: {r.u2(200): r.u4(100) for r in dump.of(6, 3, n)} for n in range(8)}
    for number, counts in found.items():
        assert counts.pop(0xB04, 0) == int(number > 5)
        assert set(counts.values()) == {0}


@pytest.mark.parametrize("interval", range(8))
def test_parts_of_a_service_time_are_within_it(dump: Dump, interval: int):
    connect, pending, disconnect, queued, response = (
        of_disk(dump, interval, at) for at in (56, 60, 64, 180, 188)
    )
    for device in connect:
        assert 0 < response[device] < pending[device]
        assert queued[device] <= disconnect[device] // 2


@pytest.mark.parametrize("interval", range(8))
def test_a_control_unit_counts_the_requests_that_the_device_counts(dump: Dump, interval: int):
    reads, writes, seeks = (of_disk(dump, interval, at) for at in (128, 124, 116))
    counts = {at: of_cache(dump, interval, at) for at in (*range(112, 144, 4), 192)}
    assert len(counts[112]) >= DEVICES - 2
    for device, read in counts[112].items():
        assert read + counts[128][device] == reads[device]
        assert counts[120][device] + counts[136][device] == writes[device]
        for requests in (112, 120, 128, 136):
            assert counts[requests + 4][device] <= counts[requests][device]
        hits = sum(counts[at][device] for at in (116, 124, 132, 140))
        assert counts[192][device] == seeks[device] == reads[device] + writes[device] - hits


def test_the_cache_answers_the_share_that_it_is_said_to(dump: Dump):
    requests = hits = 0
    for interval in range(8):
        for at in range(112, 144, 8):
            requests += sum(of_cache(dump, interval, at).values())
            hits += sum(of_cache(dump, interval, at + 4).values())
    assert requests > 50_000
    assert hits / requests == pytest.approx(0.8, abs=0.002)


def test_devices_without_a_cache_have_no_record_of_it(dump: Dump):
    found = dump.of(6, 4, 0)
    spool = [r.u4(24) for r in dump.of(6, 3, 0) if r.u2(200) == 0xA10]
    assert [r.u4(20) for r in found] == [n for n in range(DEVICES) if [n] != spool]
    assert {r.u2(202) for r in found} == {0xA00, 0xB00, 0xB01, 0xB02}


def test_arms_move_for_requests_that_the_cache_cannot_answer(dump: Dump):
    seeks, cylinders = of_disk(dump, 0, 116), of_disk(dump, 0, 120)
    assert all(cylinders[device] == moved * (3339 // 3) for device, moved in seeks.items())


def sampled(record: Record, at: int, count: int) -> list[int]:
    return [record.u4(at + 4 * n) for n in range(count)]


@pytest.mark.parametrize("interval", range(8))
def test_samples_that_found_paths_busy_agree_by_path_and_by_number_of_paths(
    dump: Dump, interval: int
):
    (before,), (now,) = (dump.of(0, 9, interval + n) for n in (0, 1))
    taken = now.u4(20) - before.u4(20)
    by_path, at_once = (
        [b - a for a, b in zip(sampled(before, *part), sampled(now, *part), strict=True)]
        for part in ((24, 256), (1048, 51))
    )
    assert taken == sum(at_once) == 30
    assert sum(by_path) == sum(n * count for n, count in enumerate(at_once)) > 0
    assert {path for path, count in enumerate(by_path) if count} <= {
        *(0x1A, 0x2A, 0x3A, 0x4A, 0x5A, 0x5B)
    }
    assert max(by_path) <= taken


def test_a_path_is_busy_while_its_devices_are_connected(dump: Dump):
    connected = seen = taken = 0
    for interval in (0, 1, 6):
        serial = {r.u4(24): r.text(36, 6) for r in dump.of(6, 3, interval)}
        time = of_disk(dump, interval, 56)
        moved = sum(t for device, t in time.items() if serial[device].startswith("USR"))
        ends = [r.tod for r in dump.of(1, 11)][interval : interval + 2]
        connected += moved / 2 / SCM_PER_S / ((ends[1] - ends[0]) / TOD_PER_S)
        (before,), (now,) = (dump.of(0, 9, interval + n) for n in (0, 1))
        seen += now.u4(24 + 4 * 0x5A) - before.u4(24 + 4 * 0x5A)
        taken += now.u4(20) - before.u4(20)
    assert seen / taken == pytest.approx(connected / 3, abs=0.02)


def test_a_volume_of_cp_has_a_channel_program_for_every_start(dump: Dump):
    for before, now in itertools.pairwise(dump.of(3, 4, n) for n in range(9)):
        for earlier, later in zip(before, now, strict=True):
            assert later.u4(60) - earlier.u4(60) == later.u4(168) - earlier.u4(168)


MISTAKES = {
    "no type of a control unit": (
        'control_unit_type = "2107-E8"',
        'control_unit_type = "DS8000"',
        "volumes[2].control_unit_type",
        "2107-E8",
    ),
    "no device type": ('"3390-9"', '"3390"', "volumes[2].device_type", "as 3390-3"),
    "no channel paths": ('"5A5B"', '"5A5"', "volumes[2].channel_paths", "as 1A2A3A4A"),
    "no control unit": (
        '"0B00"\ncontrol_unit_type',
        '"LSS1"\ncontrol_unit_type',
        "control_unit",
        "0A00",
    ),
    "a volume of CP": (
        'device = "0B04"',
        'device = "0A10"',
        "events[3].device",
        "of kind user",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_about_devices_is_answered_with_what_is_allowed(mistake: str):
    right, wrong, place, allowed = MISTAKES[mistake]
    assert right in SYSTEM
    with pytest.raises(CpmonError) as error:
        parse_scenario(SYSTEM.replace(right, wrong), "eventful.toml")
    assert place in (error.value.place or "")
    assert allowed in str(error.value)
