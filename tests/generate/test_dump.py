"""What a generated dump says, read by a reader that knows nothing of the generator."""

from __future__ import annotations

import itertools
import struct

import pytest

from tests.generate.figures import (
    CPU,
    DEVICE,
    SYSTEM,
    TOD_PER_S,
    USER,
    VOLUME,
    Dump,
    dump_of,
    read,
)
from tests.generate.plain_reader import FRAME, sets

RUNS = [
    pytest.param(("timer", "2600NP"), id="2600NP"),
    pytest.param(("timer", "2900P"), id="2900P", marks=pytest.mark.generator),
    pytest.param(("large-storage", "E12187E0"), id="E12187E0", marks=pytest.mark.generator),
]


@pytest.fixture(params=RUNS)
def dump(request: pytest.FixtureRequest) -> Dump:
    return read(*request.param)


def test_processor_times_close_to_the_elapsed_time_exactly(dump: Dump):
    for rows in dump.series(0, 2, CPU).values():
        for before, now in itertools.pairwise(rows):
            charged = now.u8(32) - before.u8(32)
            system = abs(now.u8(40) - before.u8(40))
            wait = now.u8(68) - before.u8(68)
            assert charged + system + wait == now.tod - before.tod
            assert wait > 0


def test_emulation_counts_down_and_is_part_of_the_charged_time(dump: Dump):
    for rows in dump.series(0, 2, CPU).values():
        for before, now in itertools.pairwise(rows):
            assert 0 < before.u8(24) - now.u8(24) <= now.u8(32) - before.u8(32)
        assert rows[0].u8(24) < 0x7FFFFFFF00000000


def test_spin_time_is_part_of_cp_time(dump: Dump):
    for rows in dump.series(0, 2, CPU).values():
        for before, now in itertools.pairwise(rows):
            cp = now.tod - before.tod - (now.u8(68) - before.u8(68)) - (before.u8(24) - now.u8(24))
            assert now.u8(92) - before.u8(92) <= cp


def test_users_and_processors_agree_on_cpu_time_to_the_last_unit(dump: Dump):
    falls = [0, 0, 0]
    for rows in dump.series(0, 2, CPU).values():
        for interval, (before, now) in enumerate(itertools.pairwise(rows)):
            falls[interval] += before.u8(24) - now.u8(24)
    assert dump.growth(4, 3, USER, 44, 8) == falls
    assert dump.growth(4, 3, USER, 36, 8) == dump.growth(0, 2, CPU, 32, 8)


def test_users_and_processors_agree_on_expanded_storage_paging(dump: Dump):
    ins = zip(dump.growth(0, 5, CPU, 24), dump.growth(0, 5, CPU, 28), strict=True)
    assert dump.growth(4, 3, USER, 192) == [fast + slow for fast, slow in ins]
    assert dump.growth(4, 3, USER, 188) == dump.growth(0, 5, CPU, 32)


def test_users_volumes_and_processors_agree_on_dasd_paging(dump: Dump):
    assert dump.growth(4, 3, USER, 112) == dump.growth(3, 4, VOLUME, 48)
    assert dump.growth(4, 3, USER, 116) == dump.growth(3, 4, VOLUME, 52)
    assert dump.growth(3, 4, VOLUME, 48) == dump.growth(0, 1, CPU, 72)
    assert dump.growth(3, 4, VOLUME, 52) == dump.growth(0, 1, CPU, 76)


def test_starts_of_all_devices_are_those_of_the_processors(dump: Dump):
    assert dump.growth(6, 3, DEVICE, 192) == dump.growth(0, 1, CPU, 48)


def test_short_counters_of_starts_are_the_long_ones_without_their_high_half(dump: Dump):
    assert all(r.u2(52) == r.u4(192) & 0xFFFF for r in dump.of(6, 3))
    assert all(r.u2(68) == r.u4(168) & 0xFFFF for r in dump.of(3, 4))


def test_pages_below_2g_fit_the_pageable_frames(dump: Dump):
    for sample, storage in enumerate(dump.of(0, 3)):
        resident = sum(r.u4(68) for r in dump.of(4, 3, sample))
        available, pageable, cache = storage.u4(52), storage.u4(48), storage.u4(112)
        assert resident + available + cache <= pageable
        assert pageable + storage.u4(44) == 2**31 // 4096


def test_expanded_storage_used_and_available_add_up_to_its_size(dump: Dump):
    totals = {
        sum(r.u4(80) for r in dump.of(4, 3, sample)) + global_.u8(32)
        for sample, global_ in enumerate(dump.of(0, 14))
    }
    assert len(totals) == 1
    assert totals <= {0, 10 * 2**30 // 4096}


def test_page_slots_in_use_agree_between_users_volumes_and_system(dump: Dump):
    for sample, system in enumerate(dump.of(0, 6)):
        volumes = [r for r in dump.of(3, 4, sample) if r.u4(36)]
        slots = sum(r.u4(104) for r in dump.of(4, 3, sample))
        assert slots == sum(r.u4(164) for r in volumes) == system.u4(32)
        assert all(r.u4(164) <= r.u4(36) for r in volumes)


def test_devices_are_never_busier_than_the_clock(dump: Dump):
    for rows in dump.series(6, 3, DEVICE).values():
        for before, now in itertools.pairwise(rows):
            busy = sum((now.u4(at) - before.u4(at)) % 2**32 for at in (56, 60, 64))
            assert busy * 128 <= (now.tod - before.tod) / 4096


def test_waiting_states_add_up_to_the_dispatch_list(dump: Dump):
    for sample, states in enumerate(dump.of(0, 12)):
        (lists,), (users,) = dump.of(0, 10, sample), dump.of(0, 8, sample)
        in_list = sum(r.data[32] == 0x37 for r in dump.of(4, 3, sample))
        assert sum(states.u4(at) for at in range(20, 56, 4)) == states.u4(56)
        assert states.u4(56) == lists.u2(20) == in_list
        assert users.u4(20) - users.u4(24) == in_list


def test_some_counters_pass_two_to_the_32_in_every_dump(dump: Dump):
    wraps = 0
    for rows in dump.series(0, 2, CPU).values():
        wraps += sum(now.u4(100) < before.u4(100) for before, now in itertools.pairwise(rows))
    assert wraps >= 1


def test_time_stamps_grow_and_end_with_the_interval(dump: Dump):
    tods = [r.tod for r in dump.records]
    assert tods == sorted(tods)
    for end in dump.of(1, 11):
        first = min(r.tod for r in dump.records if r.sample == end.sample and r.domain != 1)
        assert 0 < end.tod - first < TOD_PER_S // 50


def test_the_run_lasts_its_intervals_and_single_ones_vary_a_little(dump: Dump):
    ends = [r.tod for r in dump.of(1, 11)]
    assert ends[-1] - ends[0] == 3 * 60 * TOD_PER_S
    lengths = [now - before for before, now in itertools.pairwise(ends)]
    assert len(set(lengths)) > 1
    assert all(abs(length - 60 * TOD_PER_S) < TOD_PER_S // 50 for length in lengths)


def test_the_configuration_comes_once_before_the_first_sample(dump: Dump):
    first = [(r.domain, r.number) for r in dump.records[: dump.records.index(dump.of(0, 1)[0])]]
    expanded = [17] if dump.of(3, 9) else []
    wanted = [(1, n) for n in (2, 1, 4, 5, 6, 7, 8, 9, 15, 16, *expanded, 10)]
    assert [kind for kind in dict.fromkeys(first) if kind != (1, 13)] == wanted
    assert all(len(dump.of(1, n)) == 1 for n in (1, 4, 7, 9))
    assert len(dump.of(1, 15)) == len(dump.of(4, 3, 0))
    assert [r.text(20, 8) for r in dump.of(1, 15)] == [r.text(20, 8) for r in dump.of(4, 3, 0)]


def test_one_processor_is_marked_as_the_master(dump: Dump):
    assert [r.u2(20) for r in dump.of(1, 5) if r.data[28] & 0x40] == [0]


def test_text_is_ebcdic_padded_with_blanks():
    dump = read("timer", "2600NP")
    assert dump.of(1, 4)[0].text(88, 8) == "TIMER"
    assert dump.of(4, 3)[0].data[20:28] == "LINUX001".encode("cp037")
    assert dump.of(3, 4)[0].text(20, 6) == "TPG001"


@pytest.mark.parametrize(("run", "length"), [("2600NP", 108), ("3600P1", 176)])
def test_a_release_writes_records_of_its_own_length(run: str, length: int):
    assert len(read("timer", run).of(1, 4)[0].data) == length


def test_every_sample_set_begins_on_a_frame_and_names_its_domains():
    for part in sets(dump_of("timer", "2600NP")):
        if part.flag == 0xE2:
            assert part.start % FRAME == 0
            assert (part.end + 1) % FRAME == 0
            assert part.masks == (0x80 | 0x40 | 0x10 | 0x08 | 0x04 | 0x02, 0)


def test_the_first_control_record_describes_event_and_sample_data():
    first, second, third = list(sets(dump_of("timer", "2600NP")))[:3]
    assert (first.flag, second.flag, third.flag) == (0xC5, 0xE2, 0xE2)
    assert first.control == second.control == 0
    assert first.start % FRAME == 0
    assert first.end - first.start + 1 == 24 + len("MONITOR START") + 24
    assert third.control == second.offset + second.end - second.start + 1


def test_addresses_go_round_in_the_monitor_segment():
    parts = [p for p in sets(dump_of("timer", "3900P1", 20)) if p.flag == 0xE2]
    assert any(now.start < before.start for before, now in itertools.pairwise(parts))
    assert all(p.end - 0x01000000 < 8 << 20 for p in parts)


def test_the_control_record_copies_a_message_pending_buffer():
    dump = dump_of("timer", "2600NP")
    path, kind = struct.unpack_from(">HxB", dump, 0)
    assert (path, kind) == (1, 9)
    assert dump[8:10].decode("cp037") == "ES"


def test_the_file_ends_with_an_empty_control_record():
    assert not any(dump_of("timer", "2600NP")[-FRAME:])


def test_a_system_without_partitions_writes_no_partition_record():
    assert read("large-storage", "E12187E0").of(0, 15) == []
    assert len(read("timer", "2600NP").of(0, 15)) == 4


def test_counters_of_systems_that_do_not_move_pages_stay_still():
    assert read("timer", "2600NP").growth(0, 4, CPU, 44) == [0, 0, 0]
    assert read("large-storage", "E12187E0").growth(0, 14, SYSTEM, 20) == [0, 0, 0]
