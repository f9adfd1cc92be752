"""What the machine beneath says of its logical partitions, read without the generator's layouts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from cpmon.core.errors import CpmonError
from cpmon.generate import dump_frames
from cpmon.generate.loading import parse_scenario
from tests.generate.figures import CPU, SYSTEM, Dump
from tests.generate.plain_reader import Record

pytestmark = pytest.mark.generator

OFFICE = """
name = "office"
title = "Partitions of every kind"
system = "OFFICE"
seed = 5

[machine]
type = "2064"
model = "109"
processors = 3
processor_type = "IFL"
mode = "lpar"
partition = "MINE"
partition_number = 2
dedicated = false
weight = 300
physical_processors = 9

[[partitions]]
name = "ALONE"
processors = 2
dedicated = true

[[partitions]]
name = "TIGHT"
processors = 4
busy_percent = 95.0
weight = 100
capped = true

[[partitions]]
name = "EASY"
processors = 1
busy_percent = 20.0
weight = 200

[storage]
central_mib = 512

[[users]]
name = "staff"
prefix = "STAFF"
count = 30
cpu_percent = 4.0

[[volumes]]
prefix = "PAG"
kind = "page"
count = 2
first_device = "0500"

[[events]]
kind = "vary-off"
at_s = 123
processor = 2

[run.SHARED]
cp_level = "5.3.0"
start = 2007-03-05T10:00:00Z

[run.DEDICATED]
cp_level = "5.3.0"
start = 2007-03-05T10:00:00Z
machine = { dedicated = true }

[run.CAPPED]
cp_level = "5.3.0"
start = 2007-03-05T10:00:00Z
machine = { capped = true, weight = 20 }

[run.BASIC]
cp_level = "4.2.0"
start = 2002-03-05T10:00:00Z
machine = { mode = "basic" }
"""
US = 4096
WHOLE = slice(20, 29)
"""Name and number of a partition."""


class Cpu(NamedTuple):
    address: int
    weight: int
    flags: int
    active: int
    effective: int
    type: str


def dump(run: str, content: str = OFFICE) -> Dump:
    return Dump(b"".join(dump_frames(parse_scenario(content, "office.toml"), run, intervals=4)))


@pytest.fixture(scope="module")
def shared() -> Dump:
    return dump("SHARED")


def cpus(record: Record) -> list[Cpu]:
    start, length = record.u2(32), record.u2(34)
    places = [start + length * n for n in range(record.data[30])]
    assert not places or places[-1] + length == len(record.data)
    return [
        Cpu(
            record.u2(at),
            record.u2(at + 2),
            record.data[at + 4],
            record.u8(at + 6),
            record.u8(at + 14),
            record.text(at + 22, 16),
        )
        for at in places
    ]


def grown(found: Dump) -> Iterator[tuple[int, dict[str, list[Cpu]]]]:
    """Microseconds of each interval, and what the processors of each partition used in it."""
    rows = [
        (r.text(20, 8), list(itertools.pairwise(rs)))
        for rs in found.series(0, 16, WHOLE).values()
        for r in rs[:1]
    ]
    for interval in range(4):
        used = {}
        for name, pairs in rows:
            before, now = pairs[interval]
            span = (now.u8(36) - before.u8(36)) // US
            used[name] = [
                new._replace(
                    active=new.active - old.active, effective=new.effective - old.effective
                )
                for old, new in zip(cpus(before), cpus(now), strict=True)
            ]
        yield span, used


def test_every_partition_has_a_record_in_the_order_of_their_numbers(shared: Dump):
    records = shared.of(0, 16, 0)
    assert [(r.text(20, 8), r.data[28]) for r in records] == [
        ("ALONE", 1),
        ("MINE", 2),
        ("TIGHT", 3),
        ("EASY", 4),
    ]
    assert [[c.address for c in cpus(r)] for r in records] == [[0, 1], [0, 1, 2], [0, 1, 2, 3], [0]]
    assert [{c.weight for c in cpus(r)} for r in records] == [{0}, {300}, {100}, {200}]
    assert [{c.flags for c in cpus(r)} for r in records] == [{0x80}, {0}, {0x20}, {0}]
    assert {c.type for r in records for c in cpus(r)} == {"IFL"}


def test_the_machine_is_described(shared: Dump):
    (first, *_), (last, *_) = shared.of(0, 15, 0), shared.of(0, 15, 4)
    assert (first.data[20], first.data[21], first.u2(26)) == (4, 0x80, 9)
    assert (first.u2(28), first.data[31], first.text(40, 8)) == (2, 0x40, "MINE")
    assert [first.u2(at) for at in (32, 34, 36, 52, 54)] == [3, 3, 0, 0, 3]
    assert [last.u2(at) for at in (32, 34, 36)] == [3, 2, 1]
    # Weight 300 of 600 in a pool of 7; no more than three processors of nine.
    assert first.u4(48) == 333


def test_this_system_is_dispatched_when_it_is_busy(shared: Dump):
    busy = [
        charged - fall
        for charged, fall in zip(shared.growth(0, 2, CPU, 32, 8), falls(shared, 40), strict=True)
    ]
    for number, ((span, used), tods) in enumerate(zip(grown(shared), busy, strict=True)):
        mine = used["MINE"]
        if number == 2:
            continue  # the processor that is varied off takes its last 3.25 s along
        assert abs(sum(c.effective for c in mine) - tods / US) <= len(mine)
        assert all(c.effective <= c.active <= span for c in mine)
        assert sum(c.active for c in mine) > sum(c.effective for c in mine)


def falls(found: Dump, at: int) -> list[int]:
    """Growth of a counter that runs down; processors that leave are left out by their records."""
    sums = [0] * 4
    for rows in found.series(0, 2, CPU).values():
        for before, now in itertools.pairwise(rows):
            sums[now.sample - 1] += now.u8(at) - before.u8(at)
    return sums


def test_a_dedicated_partition_has_its_processors_all_the_time(shared: Dump):
    for span, used in grown(shared):
        assert {c.active for c in used["ALONE"]} == {span}


def test_a_capped_partition_stays_within_its_weight(shared: Dump):
    for span, used in grown(shared):
        total = sum(c.effective for c in used["TIGHT"])
        assert 0.9 * span * 7 * 100 / 600 < total <= span * 7 * 100 / 600


def test_a_varied_off_processor_is_not_dispatched(shared: Dump):
    active = [used["MINE"][2].active for _, used in grown(shared)]
    assert min(active[:2]) > 10e6 and 0 < active[2] <= 3_250_000 and active[3] == 0


@pytest.mark.parametrize("run", ["SHARED", "DEDICATED", "CAPPED"])
def test_all_partitions_and_the_machine_itself_fit_the_physical_processors(run: str):
    found = dump(run)
    management = physical(found)
    for (span, used), own in zip(grown(found), management, strict=True):
        active = sum(c.active for cs in used.values() for c in cs)
        assert 0 < own < 0.01 * 9 * span
        assert active + own <= 9 * span


def test_a_machine_without_room_gives_less_than_was_wanted():
    crowded = OFFICE.replace("physical_processors = 9", "physical_processors = 6").replace(
        "capped = true\n", ""
    )
    for span, used in grown(dump("SHARED", crowded)):
        pool = [c.active for name in ("MINE", "TIGHT", "EASY") for c in used[name]]
        assert 0.97 * 4 * span < sum(pool) <= 4 * span
        assert sum(c.effective for c in used["TIGHT"]) < 0.9 * 4 * 0.95 * span


def physical(found: Dump) -> list[int]:
    """Management time of all physical processors in each interval."""
    totals = []
    for record in found.of(0, 17):
        start, length, count = record.u2(24), record.u2(26), record.data[20]
        assert [record.u2(start + length * n) for n in range(count)] == list(range(9))
        totals.append(sum(record.u8(start + length * n + 2) for n in range(count)))
    return [now - before for before, now in itertools.pairwise(totals)]


def test_a_dedicated_system_is_dispatched_all_the_time():
    for span, used in grown(dump("DEDICATED")):
        assert {c.active for c in used["MINE"][:2]} == {span}


def test_a_capped_system_is_not_busier_than_its_weight_allows():
    for span, used in grown(dump("CAPPED")):
        assert sum(c.effective for c in used["MINE"]) <= span * 7 * 20 / 320


def test_the_data_are_taken_shortly_before_the_sample_ends(shared: Dump):
    for sample, end in enumerate(shared.of(1, 11)):
        taken = {r.u8(36) for r in shared.of(0, 16, sample)}
        taken |= {r.u8(28) for r in shared.of(0, 17, sample)}
        (tod,) = taken
        assert tod % US == 0
        assert 0 < end.tod - tod < 1000 * US


def test_the_configuration_says_the_same_of_the_partition(shared: Dump):
    (system,), (machine, *_) = shared.of(1, 4), shared.of(0, 15)
    assert system.data[148:150] == machine.data[28:30]
    assert system.data[150:151] == machine.data[31:32]
    assert system.data[152:176] == machine.data[32:56]


def test_basic_mode_knows_nothing_of_partitions():
    found = dump("BASIC")
    assert [found.of(0, n) for n in (15, 16, 17)] == [[], [], []]
    assert found.growth(0, 2, SYSTEM, 32, 8)


@pytest.mark.parametrize(("old", "new", "needed"), [("= 9", "= 5", "6"), ("= 3\n", "= 8\n", "10")])
def test_partitions_that_have_no_room_are_refused(old: str, new: str, needed: str):
    with pytest.raises(CpmonError) as refused:
        parse_scenario(OFFICE.replace(old, new), "office.toml")
    assert refused.value.place == "office.toml: machine.physical_processors"
    assert refused.value.expected.startswith(f"at least {needed}:")


def test_more_partitions_than_a_machine_has_are_refused():
    more = "".join(f'[[partitions]]\nname = "P{n}"\nprocessors = 1\n' for n in range(60))
    with pytest.raises(CpmonError, match="too many partitions"):
        parse_scenario(OFFICE + more, "office.toml")


MIXED = OFFICE.replace(
    "physical_processors = 9", "physical_processors = 9\nother_processors = { CP = 3, ZIIP = 1 }"
) + "".join(
    f'[[partitions]]\nname = "{name}"\nprocessor_type = "{kind}"\nprocessors = {count}\n{rest}\n'
    for name, kind, count, rest in (
        ("EASY", "CP", 2, "weight = 150"),
        ("EASY", "ZIIP", 1, "weight = 10"),
        ("ZOS", "CP", 1, "dedicated = true"),
    )
)


def test_a_partition_has_processors_of_several_types():
    found = dump("SHARED", MIXED)
    (*_, easy, zos) = found.of(0, 16, 0)
    assert [(r.text(20, 8), r.data[28], r.data[30]) for r in (easy, zos)] == [
        ("EASY", 4, 4),
        ("ZOS", 5, 1),
    ]
    assert [(c.address, c.type, c.weight) for c in cpus(easy)] == [
        *((0, "IFL", 200), (1, "CP", 150), (2, "CP", 150), (3, "ZIIP", 10)),
    ]
    machine, physical = found.of(0, 15, 0)[0], found.of(0, 17, 0)[0]
    assert (machine.data[20], machine.u2(26), physical.data[20]) == (5, 13, 13)
    types = [physical.text(physical.u2(24) + physical.u2(26) * n + 10, 16) for n in range(13)]
    assert types == ["IFL"] * 9 + ["CP"] * 3 + ["ZIIP"]
    # Of this system, what it is granted is of its own type: 300 of 600 in a pool of 7 of 9.
    assert machine.u4(48) == 333


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"ZOS"', '"MINE"', "partitions[5].name"),
        ('"ZOS"', '"EASY"', "partitions[5].name"),
        ("CP = 3", "CP = 2", "machine.other_processors"),
        (", ZIIP = 1", "", "machine.other_processors"),
    ],
)
def test_types_of_processors_that_do_not_fit_are_refused(old: str, new: str, place: str):
    with pytest.raises(CpmonError) as refused:
        parse_scenario(MIXED.replace(old, new), "office.toml")
    assert refused.value.place == f"office.toml: {place}"
