"""What Linux guests tell of themselves, against what CP says of them; read from the bytes alone."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import pytest

from cpmon.generate import dump_frames
from cpmon.generate.loading import parse_scenario
from tests.generate.figures import TOD_PER_S, USER, Dump
from tests.generate.plain_reader import Record

pytestmark = pytest.mark.generator

OFFICE = """
name = "office"
title = "Linux guests with one, two and three processors"
system = "OFFICE"
seed = 12

[machine]
type = "2094"
model = "704"
processors = 4

[storage]
central_mib = 2048

[[users]]
name = "web"
prefix = "LXWEB"
count = 6
guest = "linux"
architecture = "Z"
virtual_processors = 2
cpu_percent = 15.0
storage_mib = 512
working_set_mib = 160
network_ios_per_s = 25.0
io_wait_share = 0.05
appldata = true

[[users]]
name = "data"
prefix = "LXDATA"
count = 2
guest = "linux"
architecture = "Z"
virtual_processors = 3
cpu_percent = 30.0
storage_mib = 1024
working_set_mib = 400
io_wait_share = 0.2
appldata = true

[[users]]
name = "tight"
prefix = "LXTIGHT"
count = 1
guest = "linux"
cpu_percent = 5.0
storage_mib = 128
working_set_mib = 160
appldata = true

[[users]]
name = "silent"
prefix = "LXMUTE"
count = 3
guest = "linux"

[[volumes]]
prefix = "LNX"
kind = "user"
count = 4
first_device = "0B00"
io_per_s = 30.0

[[events]]
kind = "logoff"
at_s = 183
users = "LXWEB002"

[[events]]
kind = "logon"
at_s = 363
users = "LXWEB002"

[[events]]
kind = "runaway"
at_s = 603
lasts_s = 237
users = "LXTIGHT1"
cpu_percent = 96.0

[run.DAY]
cp_level = "5.2.0"
start = 2006-05-03T10:00:00Z
intervals = 20
"""

MEMORY, SYSTEM, NETWORK = 1, 2, 3
PROCESSORS = {"LXWEB": 2, "LXDAT": 3, "LXTIG": 1}
LENGTHS = {MEMORY: 144, SYSTEM: 52, NETWORK: 96}
ENTRY = 36
JIFFY = TOD_PER_S // 100
BLOCK = slice(24, 48)
"""User id and product of a block."""

USES = (0, 4, 8, 12, 16, 20, 24, 28)
BUSY, IDLE, IO_WAIT, STOLEN = (0, 4, 8, 16, 20), 12, 24, 28


class Block:
    """A record of application data, its offsets counted from the block's first byte."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.user, self.number = record.text(24, 8), record.data[41]
        self._start, self.length = record.u2(20), record.u2(22)

    def u4(self, at: int) -> int:
        return self.record.u4(self._start + at)

    def u8(self, at: int) -> int:
        return self.record.u8(self._start + at)

    def cpus(self) -> list[dict[int, int]]:
        """Jiffies by use of each processor."""
        count, size, first = self.u4(16), self.u4(20), self.u4(24)
        starts = [first + size * n for n in range(count)]
        assert [self.u4(start + 32) for start in starts] == list(range(count))
        return [{at: self.u4(start + at) for at in USES} for start in starts]


@functools.cache
def dump() -> Dump:
    return Dump(b"".join(dump_frames(parse_scenario(OFFICE, "office.toml"), "DAY")))


def blocks(number: int, sample: int | None = None) -> list[Block]:
    found = [Block(record) for record in dump().of(10, 2, sample)]
    return [block for block in found if block.number == number]


def pairs(number: int) -> Iterator[tuple[Block, Block]]:
    """Each block of a kind and the next one of the same session."""
    for rows in dump().series(10, 2, BLOCK).values():
        for before, now in itertools.pairwise(rows):
            if now.sample == before.sample + 1 and Block(now).number == number:
                yield Block(before), Block(now)


def used(user: str, sample: int) -> int:
    """Virtual CPU time that CP gave a user, all of his processors."""
    return sum(r.u8(44) for r in dump().of(4, 3, sample) if r.text(20, 8) == user)


def base(user: str, sample: int) -> Record:
    """What CP says of a user: the record of his first processor."""
    return next(r for r in dump().of(4, 3, sample) if r.text(20, 8) == user and r.u2(28) == 0)


def test_a_guest_with_appldata_writes_three_blocks_for_each_sample():
    for sample in range(21):
        here = {r.text(20, 8) for r in dump().of(4, 3, sample)}
        telling = sorted(user for user in here if not user.startswith("LXMUTE"))
        for number in LENGTHS:
            assert sorted(block.user for block in blocks(number, sample)) == telling


def test_blocks_are_named_as_the_kernel_names_them():
    for record in dump().of(10, 2):
        number = record.data[41]
        assert record.data[32:41].decode("cp037") == "LINUXKRNL"
        assert record.data[42:48].decode("cp037") == "2601" + ("00" if number == NETWORK else "01")


def test_a_block_fills_its_record_and_has_an_entry_for_each_processor():
    for record in dump().of(10, 2):
        block = Block(record)
        entries = PROCESSORS[block.user[:5]] if block.number == SYSTEM else 0
        assert block.length == LENGTHS[block.number] + entries * ENTRY
        assert len(record.data) == 52 + block.length
        if block.number == SYSTEM:
            assert block.u4(16) == len(block.cpus()) == entries


def test_a_guest_was_busy_for_the_time_that_cp_gave_it():
    for before, now in pairs(SYSTEM):
        then = before.cpus()
        busy = sum(cpu[at] - then[n][at] for n, cpu in enumerate(now.cpus()) for at in BUSY)
        first, last = before.record.sample, now.record.sample
        given = used(now.user, last) - used(now.user, first)
        assert busy == pytest.approx(given / JIFFY, abs=1 + len(then))


def test_a_processor_is_busy_idle_waiting_or_stolen_all_the_time():
    for before, now in pairs(SYSTEM):
        passed = (now.record.tod - before.record.tod) / JIFFY
        for then, cpu in zip(before.cpus(), now.cpus(), strict=True):
            assert sum(cpu[at] - then[at] for at in USES) == pytest.approx(passed, abs=1)
            assert all(cpu[at] >= then[at] for at in USES)


def test_processors_wait_for_io_as_the_group_says():
    waited = sum(
        cpu[IO_WAIT] - then[IO_WAIT]
        for before, now in pairs(SYSTEM)
        for then, cpu in zip(before.cpus(), now.cpus(), strict=True)
        if now.user.startswith("LXDATA")
    )
    assert waited / 100 == pytest.approx(0.2 * 2 * 20 * 60, rel=0.05)


def test_load_follows_from_what_runs():
    calm = [b for n in range(1, 10) for b in blocks(SYSTEM, n) if b.user == "LXTIGHT1"]
    looping = [b for n in range(11, 14) for b in blocks(SYSTEM, n) if b.user == "LXTIGHT1"]
    assert all(0 < block.u4(36) < 0.3 * 2048 for block in calm)
    assert all(0.95 * 2048 < block.u4(36) < 1.3 * 2048 for block in looping)
    for block in blocks(SYSTEM):
        assert 0 < block.u4(28) < block.u4(32)


def test_memory_is_that_of_the_virtual_machine():
    sizes = {r.text(20, 8): r.u4(44) // 1024 for r in dump().of(1, 15)}
    for block in blocks(MEMORY):
        total, free, buffers, cached = (block.u8(at) for at in (56, 64, 88, 96))
        assert 0.9 * sizes[block.user] < total < sizes[block.user]
        assert 0 < free < free + buffers + cached < total


def test_pages_that_a_guest_has_touched_are_those_that_cp_holds_for_it():
    for block in blocks(MEMORY):
        held = base(block.user, block.record.sample)
        pages = held.u4(68) + held.u4(80) + held.u4(104)
        used_kib = block.u8(56) - block.u8(64)
        if block.user != "LXTIGHT1":
            assert used_kib == 4 * pages


def test_a_guest_swaps_what_does_not_fit():
    for before, now in pairs(MEMORY):
        swapped = now.u8(104) - now.u8(112)
        moved = [now.u8(at) - before.u8(at) for at in (32, 40)]
        if now.user == "LXTIGHT1":
            assert swapped > 30 * 1024 and min(moved) > 0
        else:
            assert swapped == 0 and moved == [0, 0]


def test_disk_and_network_traffic_is_that_of_the_virtual_devices():
    for kind, ios, fields in ((MEMORY, 136, (16, 24)), (NETWORK, 148, (24, 32, 40, 48))):
        for before, now in pairs(kind):
            first, last = (base(b.user, b.record.sample) for b in (before, now))
            done = last.u4(ios) - first.u4(ios)
            grown = [now.u8(at) - before.u8(at) for at in fields]
            if kind == MEMORY:
                swapped = 4 * (now.u8(32) + now.u8(40) - before.u8(32) - before.u8(40))
                assert sum(grown) == 16 * done + swapped
            else:
                assert grown[:2] == [5 * done, 4 * done]
                assert all(
                    count <= size <= 1500 * count
                    for count, size in zip(grown[:2], grown[2:], strict=True)
                )


def test_blocks_are_written_whole_and_shortly_before_the_sample():
    for number in LENGTHS:
        for before, now in pairs(number):
            assert now.u4(8) == now.u4(12)
            assert now.u4(8) - before.u4(8) == 6
            assert 0 < now.record.tod - now.u8(0) < 1.2 * TOD_PER_S


def test_a_guest_that_logs_on_counts_anew():
    for block in blocks(SYSTEM, 7):
        if block.user == "LXWEB002":
            passed = 56.75 * 100
            assert all(sum(cpu.values()) == pytest.approx(passed, abs=1) for cpu in block.cpus())
            assert block.u4(8) < 7


def test_architecture_of_a_guest_is_written_in_both_records():
    modes = {r.text(20, 8): r.data[31] for r in dump().of(4, 3, 0)}
    assert modes["LXWEB001"] == 0x44 and modes["LXTIGHT1"] == 0x40
    for record in dump().series(1, 15, USER).values():
        user = record[0].text(20, 8)
        assert record[0].data[33] == modes[user]
