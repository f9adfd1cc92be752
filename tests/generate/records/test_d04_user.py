"""Where samples find the virtual processors, read without the layouts of the generator."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator

import pytest

from cpmon.generate import dump_frames
from cpmon.generate.loading import parse_scenario
from tests.generate.figures import TOD_PER_S, USER, Dump
from tests.generate.plain_reader import Record

pytestmark = pytest.mark.generator

OFFICE = """
name = "office"
title = "Users of several kinds"
system = "OFFICE"
seed = 11

[monitor]
high_frequency_s = 2.0

[machine]
type = "2064"
model = "104"
processors = 4

[storage]
central_mib = 4096

[[users]]
name = "guests"
prefix = "GUEST"
count = 10
guest = "linux"
virtual_processors = 2
cpu_percent = 12.0
dispatched_share = 0.7
io_wait_share = 0.1
page_wait_share = 0.02
workload = "level"

[[users]]
name = "staff"
prefix = "STAFF"
count = 40
cpu_percent = 0.5
dispatched_share = 0.2
io_wait_share = 0.05
simulation_wait_share = 0.01
console_wait_share = 0.004
workload = "level"

[[users]]
name = "sleepers"
prefix = "SLEEP"
count = 3
cpu_percent = 0.0
dispatched_share = 0.0
io_wait_share = 0.0
simulation_wait_share = 0.0
console_wait_share = 0.0
workload = "level"

[[workloads]]
name = "level"
noise = 0.0

[[events]]
kind = "runaway"
at_s = 600
lasts_s = 300
users = "STAFF007"
cpu_percent = 97.0

[[events]]
kind = "logoff"
at_s = 183
users = "STAFF001 GUEST001"

[[events]]
kind = "logon"
at_s = 363
users = "STAFF001 GUEST001"

[run.NOW]
cp_level = "5.1.0"
start = 2004-05-03T10:00:00Z
intervals = 40

[run.THEN]
cp_level = "4.4.0"
start = 2004-05-03T10:00:00Z
intervals = 2
"""

SAMPLES = 30
COUNTED_IN_LISTS, COUNTED_IN_STATES = 48, 84
"""HFQUCT and HFSTCT: high-frequency samples of the virtual processor, both of them."""
CLASSES = (52, 56, 60, 64, 68, 72, 76, 80)
IDLE, IO, CONSOLE, SIMULATION, PAGE, CPU, RUNNING, DORMANT = 88, 96, 100, 104, 108, 112, 116, 128
STATES = (IDLE, IO, CONSOLE, SIMULATION, PAGE, CPU, RUNNING, DORMANT)
OTHERS = (92, 120, 124, 132, 136, 184, 188, 192)


@functools.cache
def dump(run: str = "NOW") -> Dump:
    return Dump(b"".join(dump_frames(parse_scenario(OFFICE, "office.toml"), run)))


def intervals() -> Iterator[tuple[Record, Record]]:
    """Every record of the same session and the one before it."""
    for rows in dump().series(4, 4, USER).values():
        for before, now in itertools.pairwise(rows):
            if now.sample == before.sample + 1:
                yield before, now


def grown(at: int, before: Record, now: Record) -> int:
    return now.u4(at) - before.u4(at)


def test_every_sample_finds_a_virtual_processor_in_one_state():
    for before, now in intervals():
        assert sum(grown(at, before, now) for at in STATES) == SAMPLES
        assert grown(COUNTED_IN_STATES, before, now) == SAMPLES
        assert not any(now.u4(at) for at in OTHERS)


def test_who_is_not_dormant_is_in_a_list_in_one_class():
    for before, now in intervals():
        assert grown(COUNTED_IN_LISTS, before, now) == SAMPLES
        queued = sum(grown(at, before, now) for at in CLASSES)
        assert queued == SAMPLES - grown(DORMANT, before, now)


def test_there_is_a_record_for_each_record_of_activity():
    for sample in range(41):
        keys = [[r.data[USER] for r in dump().of(4, number, sample)] for number in (3, 4)]
        assert keys[0] == keys[1]


def test_samples_find_users_running_for_as_long_as_they_used_a_processor():
    running: Counter[bytes] = Counter()
    for before, now in intervals():
        running[now.data[USER]] += grown(RUNNING, before, now)
    for key, rows in dump().series(4, 3, USER).items():
        pairs = [(a, b) for a, b in itertools.pairwise(rows) if b.sample == a.sample + 1]
        used = sum(b.u8(36) - a.u8(36) for a, b in pairs) / TOD_PER_S
        # A share of a sample is found or not found by chance: deviation of at most a half each.
        assert running[key] == pytest.approx(used / 2.0, abs=4 * 0.5 * len(pairs) ** 0.5)


@pytest.mark.parametrize(
    ("state", "users", "share"),
    [
        (IO, "GUEST", 0.1),
        (PAGE, "GUEST", 0.02),
        (IO, "STAFF", 0.05),
        (SIMULATION, "STAFF", 0.01),
        (CONSOLE, "STAFF", 0.004),
    ],
)
def test_waits_are_those_of_the_group_however_rare(state: int, users: str, share: float):
    found = looked = rows = 0
    for before, now in intervals():
        name = now.text(20, 8)
        if name.startswith(users) and name != "STAFF007":
            found += grown(state, before, now)
            looked += SAMPLES if now.u2(28) == 0 else 0
            rows += 1
    assert found == pytest.approx(looked * share, abs=4 * 0.5 * rows**0.5)


def test_who_does_nothing_is_dormant():
    for before, now in intervals():
        if now.text(20, 8).startswith("SLEEP"):
            assert grown(DORMANT, before, now) == SAMPLES


def test_who_loops_is_found_running_and_in_the_class_of_long_stays():
    for before, now in intervals():
        if now.text(20, 8) == "STAFF007" and 10 < now.sample <= 15:
            assert grown(RUNNING, before, now) >= 0.95 * SAMPLES
            assert not any(grown(at, before, now) for at in CLASSES if at != CLASSES[3])


def test_counters_begin_anew_at_logon():
    rows = [r for r in dump().of(4, 4, 7) if r.text(20, 8) in ("STAFF001", "GUEST001")]
    assert len(rows) == 3
    for row in rows:
        # They are logged on for the last 56.75 s of the interval.
        assert (
            row.u4(COUNTED_IN_STATES) == sum(row.u4(at) for at in STATES) == SAMPLES * 56.75 // 60
        )


@pytest.mark.parametrize(("state", "waiting"), [(IO, 28), (RUNNING, 48), (IDLE, 20)], ids=str)
def test_the_schedulers_lists_agree_in_the_mean(state: int, waiting: int):
    """SYTUWT counts who is in a state at a sample; high-frequency samples count in between."""
    often = sum(grown(state, before, now) for before, now in intervals()) / SAMPLES
    at_samples = sum(dump().of(0, 12, sample)[0].u4(waiting) for sample in range(1, 41))
    assert often == pytest.approx(at_samples, rel=0.15)


@pytest.mark.parametrize(("run", "length"), [("NOW", 228), ("THEN", 196)])
def test_records_are_as_long_as_the_release_writes_them(run: str, length: int):
    assert {len(r.data) for r in dump(run).of(4, 4)} == {length}
