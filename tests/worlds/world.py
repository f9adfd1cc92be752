"""Random worlds: a small system in which events happen at any second."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

INTERVALS, SECONDS = 6, 60
START = datetime(2006, 10, 16, 0, 12)  # noqa: DTZ001
"""Worlds begin before a quarter of an hour ends, UTC."""

SYSTEM = """
name = "world"
title = "A random world"
system = "{name}"
seed = {seed}
intervals = {intervals}
[monitor]
interval_s = {seconds}
high_frequency_s = 1.0
events = ["monitor", "storage", "user", "processor", "io", "network"]
[machine]
type = "{type}"
model = "704"
serial = "0A1B2C"
processors = 3
mode = "{mode}"
physical_processors = 6
{machine}
[storage]
{storage}
churn_per_s = 0.002
[[users]]
name = "linux"
prefix = "LINUX"
count = 2
guest = "linux"
virtual_processors = 2
cpu_percent = 30
working_set_mib = 200
storage_mib = 512
architecture = "Z"
appldata = true
network_ios_per_s = 8.0
dispatched_share = 0.8
[[users.file_systems]]
device = "/dev/dasda1"
directory = "/"
used_percent = 40.0
growth_mib_per_h = 600.0
[[users.processes]]
pid = 1
command = "init"
parent = 0
[[users.processes]]
pid = 812
command = "db2sysc"
cpu_percent = 12.5
resident_mib = 75.0
virtual_mib = 120.0
[[users.interfaces]]
name = "eth1"
received_kib_per_s = 50.0
sent_kib_per_s = 8.0
[[users.virtual_disks]]
device = "0300"
size_mib = 200
ios_per_s = 20.0
{adapters}[[users]]
name = "staff"
prefix = "CMS"
count = 3
cpu_percent = 2.6
transactions_per_s = 0.5
console_ios_per_s = 0.4
[[users]]
name = "server"
prefix = "SRV"
count = 1
cpu_percent = 5
guest = "server"
[[volumes]]
prefix = "PAG"
kind = "page"
count = 1
first_device = "0A00"
[[volumes]]
prefix = "SPL"
kind = "spool"
count = 2
first_device = "0A10"
io_per_s = 2
[[volumes]]
prefix = "USR"
kind = "user"
count = 3
first_device = "0B00"
io_per_s = 40
avoided_per_s = 4
[run.A]
cp_level = "{level}"
start = {start}Z
"""
ADAPTERS = """[[users.adapters]]
device = "0600"
received_kib_per_s = 90.0
sent_kib_per_s = 40.0
"""
MACHINES = {"4.3.0": "2064", "5.2.0": "2094", "5.4.0": "2094", "6.4.0": "2827", "7.2.0": "3906"}

_OTHER = '[[partitions]]\nname = "OTHER"\nprocessors = 2\nbusy_percent = 30.0\n'
_MORE = """weight = 300
[[partitions]]
name = "THIRD"
processors = 3
busy_percent = 20.0
weight = 50
capped = true
[[partitions]]
name = "ALONE"
processors = 1
busy_percent = 50.0
dedicated = true
"""
_TWO_TYPES = """processor_type = "IFL"
[[partitions]]
name = "OTHER"
processors = 2
busy_percent = 20.0
processor_type = "CP"
weight = 300
"""
_PLAIN = "central_mib = 1024"
VARIANTS = {
    "plain": (f"dedicated = false\n{_OTHER}", _PLAIN),
    "threads": (f"dedicated = false\nthreads = 2\n{_OTHER}", _PLAIN),
    "dedicated": (f"dedicated = true\n{_OTHER}{_MORE}", _PLAIN),
    "capped": (f"dedicated = false\ncapped = true\nweight = 60\n{_OTHER}{_MORE}", _PLAIN),
    "types": (
        'dedicated = false\nprocessor_type = "IFL"\nother_processors = {CP = 4}\n'
        f"{_OTHER}{_TWO_TYPES}",
        _PLAIN,
    ),
    "expanded": (f"dedicated = false\n{_OTHER}", "central_mib = 700\nexpanded_mib = 512"),
}
"""Kinds of machines and storage by name; the others than `plain` are of partitions."""

USERS = ("LINUX001", "LINUX002", "CMS00001", "CMS00002", "CMS00003", "SRV00001")
LINUX = USERS[:2]
DISKS = ("0B00", "0B01", "0B02")

Event = dict[str, Any]


@dataclass(frozen=True)
class World:
    """A system with a CP level, what happens in it, and the names in `KINDS` that it is of."""

    name: str
    level: str = "5.4.0"
    mode: str = "lpar"
    seed: int = 1
    events: tuple[Event, ...] = ()
    chosen: frozenset[str] = frozenset()
    variant: str = "plain"

    @property
    def text(self) -> str:
        """Its scenario."""
        machine, storage = VARIANTS[self.variant]
        head = SYSTEM.format(
            name=self.name,
            level=self.level,
            mode=self.mode,
            seed=self.seed,
            type=MACHINES[self.level],
            machine=machine,
            storage=storage,
            adapters=ADAPTERS if self.level >= SINCE["adapter"] else "",
            intervals=INTERVALS,
            seconds=SECONDS,
            start=START.isoformat(),
        )
        tables = (
            "\n[[events]]\n" + "".join(f"{key} = {json.dumps(each[key])}\n" for key in each)
            for each in self.events
        )
        return head + "".join(tables)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its events, sorted: a combination."""
        return tuple(sorted(each["kind"] for each in self.events))

    def has(self, kinds: Iterable[str]) -> bool:
        """Whether something of all of some names in `KINDS` happens."""
        return self.chosen.issuperset(kinds)

    def smaller(self) -> Iterable[World]:
        """Worlds with one event each, and with one event less."""
        many = len(self.events)
        if many > 2:
            for each in self.events:
                yield replace(self, events=(each,))
        for place in range(many):
            yield replace(self, events=self.events[:place] + self.events[place + 1 :])


def _second(rng: random.Random) -> int:
    return rng.randrange(1, INTERVALS * SECONDS - 1)


def _inside(rng: random.Random) -> int:
    """Not in the second of a sample, which may be late: one that is missing there is not missed."""
    second = _second(rng)
    return second + 2 * (second % SECONDS < 2)


def _pair(
    rng: random.Random, off: str, on: str, *, again: bool = True, **about: Any
) -> list[Event]:
    """Something that goes off and, often, on, and `again`, sometimes all in one interval."""
    at, events = _second(rng), list[Event]()
    order = (off, on) if rng.random() < 0.7 else (on, off)
    events.append({"kind": order[0], "at_s": at, **about})
    if rng.random() < 0.7:
        at += rng.choice([rng.randrange(1, 50), rng.randrange(30, 200)])
        events.append({"kind": order[1], "at_s": at, **about})
        for turn in range(rng.choice([0, 0, 0, 1, 2, 3]) if again else 0):
            at += rng.choice([rng.randrange(1, 20), rng.randrange(1, 100)])
            events.append({"kind": order[turn % 2], "at_s": at, **about})
    return events


def _told(events: list[Event]) -> list[Event]:
    """A partition that is active only between two samples is in no record."""
    return events[: 1 if events[0]["kind"] == "partition-on" else 2]


def _seen(events: list[Event]) -> list[Event]:
    """Up to the first two in one interval: what is lost then is in no block.

    One that was there all the time has counted so much that it shows when it goes.
    """
    seconds = [each["at_s"] // SECONDS for each in events]
    for place, (one, other) in enumerate(itertools.pairwise(seconds)):
        if one == other and (place or events[0]["kind"] == "interface-up"):
            return events[: place + 1]
    return events


def _told_processors(events: list[Event]) -> list[Event]:
    """Without what follows a processor that is online only between two samples: no block tells."""
    for place, (one, other) in enumerate(itertools.pairwise(events)):
        apart = other["at_s"] // SECONDS - one["at_s"] // SECONDS
        if one["kind"] == "cpu-online" and not apart:
            return events[: place + 1]
    return events


def _sampling(rng: random.Random) -> list[Event]:
    if rng.random() < 0.5:
        users = rng.choice(["", rng.choice(USERS)])
        about = {"domain": "user", **({"users": users} if users else {})}
    else:
        device = rng.choice(["", rng.choice(DISKS)])
        about = {"domain": "io", **({"device": device} if device else {})}
    return _pair(rng, "sample-disable", "sample-enable", **about)


KINDS = {
    "logon": lambda r: _pair(r, "logoff", "logon", users=r.choice(USERS[2:])),
    "logon-guest": lambda r: _pair(r, "logoff", "logon", users=r.choice(LINUX)),
    "define-cpu": lambda r: _pair(
        r, "detach-cpu", "define-cpu", users=r.choice(LINUX), processor=1
    ),
    "vary-cpu": lambda r: _pair(r, "vary-off", "vary-on", processor=r.choice([1, 2])),
    "park": lambda r: _pair(r, "park", "unpark", processor=r.choice([1, 2])),
    "vary-device": lambda r: _pair(r, "vary-off", "vary-on", device=r.choice(DISKS)),
    "measurement": lambda r: _pair(r, "measurement-off", "measurement-on", device=r.choice(DISKS)),
    "sampling": _sampling,
    "rate": lambda r: _pair(r, "rate-stop", "rate-start"),
    "suspend": lambda r: [
        {"kind": "suspend", "at_s": _second(r), "lasts_s": r.choice([3, 20, 60, 150])},
    ],
    "share": lambda r: [
        {
            "kind": "share",
            "at_s": _second(r),
            "users": r.choice(USERS),
            "share": r.choice([200, 50]),
        }
    ],
    "reboot": lambda r: [
        {
            "kind": "reboot",
            "at_s": _second(r),
            "lasts_s": r.choice([5, 80]),
            "users": r.choice(LINUX),
        }
    ],
    # A number that a second process of the same name gets at once is not told by any record.
    "process": lambda r: _pair(
        r, "process-end", "process-start", again=False, users=r.choice(LINUX), name="db2sysc"
    ),
    "mount": lambda r: _pair(r, "unmount", "mount", users=r.choice(LINUX), name="/"),
    "guest-cpu": lambda r: _told_processors(
        _pair(r, "cpu-offline", "cpu-online", users=r.choice(LINUX), processor=1)
    ),
    "interface": lambda r: _seen(
        _pair(r, "interface-down", "interface-up", users=r.choice(LINUX), name="eth1")
    ),
    "virtual-disk": lambda r: _pair(
        r, "detach-disk", "define-disk", users=r.choice(LINUX), device="0300"
    ),
    "adapter": lambda r: _pair(
        r, "detach-adapter", "define-adapter", users=r.choice(LINUX), device="0600"
    ),
    "partition": lambda r: _told(_pair(r, "partition-off", "partition-on", name="OTHER")),
    "weight": lambda r: r.choice(
        [
            [
                {
                    "kind": "weight",
                    "at_s": _second(r),
                    "name": "OTHER",
                    "weight": r.choice([50, 300]),
                }
            ],
            _pair(r, "cap", "uncap", name="OTHER"),
        ]
    ),
    "area": lambda r: [{"kind": "area-add", "at_s": _second(r), "device": "0A11"}],
    "guest-clock": lambda r: [
        {
            "kind": "guest-clock",
            "at_s": _second(r),
            "users": r.choice(LINUX),
            "clock_s": r.choice([3600, -40, -7200]),
        }
    ],
    "told": lambda r: r.choice(
        [
            [{"kind": "quickdsp", "at_s": _second(r), "users": r.choice(USERS)}],
            [
                {
                    "kind": r.choice(["attach", "detach"]),
                    "at_s": _second(r),
                    "device": r.choice(DISKS),
                }
            ],
        ]
    ),
    "storage": lambda r: [
        {"kind": "storage-add", "at_s": _second(r), "storage_mib": r.choice([512, 4096])}
    ],
    "runaway": lambda r: [
        {"kind": "runaway", "at_s": _second(r), "lasts_s": 100, "users": r.choice(USERS)}
    ],
    "slow": lambda r: [
        {
            "kind": "slow",
            "at_s": _second(r),
            "lasts_s": 100,
            "device": r.choice(DISKS),
            "factor": r.choice([3, 8]),
        }
    ],
    "contention": lambda r: [
        {
            "kind": "contention",
            "at_s": _second(r),
            "lasts_s": 100,
            "name": r.choice(["SRMSLOCK", "FSDVMLK"]),
            "cpu_percent": 30,
        }
    ],
    "volume": lambda r: [
        {"kind": "volume", "at_s": _second(r), "device": r.choice(DISKS), "name": "OTHER1"}
    ],
    "path": lambda r: _pair(r, "path-off", "path-on", name=r.choice(["1A", "3A"])),
    "interval": lambda r: [
        {"kind": "interval", "at_s": _inside(r), "interval_s": r.choice([30, 120])}
    ],
    "restart": lambda r: [{"kind": "restart", "at_s": _second(r)}],
    "miss": lambda r: [{"kind": "miss", "at_s": _second(r)}],
    "ipl": lambda r: [{"kind": "ipl", "at_s": _second(r), "lasts_s": 60}],
}
"""What can happen, by name."""

_LEVELS = {"threads": ("6.4.0", "7.2.0"), "expanded": ("4.3.0", "5.2.0", "5.4.0")}
"""CP levels of variants that not all have."""

SINCE = {"park": "6.3.0", "storage": "5.4.0", "adapter": "5.1.0"}
"""CP level that first does it."""


def random_world(
    seed: int,
    kinds: Iterable[str] = tuple(KINDS),
    not_together: Iterable[tuple[str, ...]] = (),
    most: int = 3,
) -> World:
    """The world of a seed: some kinds of events, 1 to `most`, none of them `not_together`."""
    rng, level = random.Random(seed), random.Random(seed + 1).choice([*MACHINES])
    possible = [kind for kind in kinds if level >= SINCE.get(kind, "")]
    chosen = rng.sample(possible, min(rng.randint(1, most), len(possible)))
    for apart in not_together:
        if set(apart) <= set(chosen):
            chosen.remove(apart[0])
    events = [event for kind in chosen for event in KINDS[kind](rng)]
    events.sort(key=lambda event: event["at_s"])
    mode, variant = rng.choice(["lpar", "basic"]), "plain"
    if mode == "lpar":
        able = [each for each in VARIANTS if each not in _LEVELS or level in _LEVELS[each]]
        variant = random.Random(seed + 2).choice(["plain", *able])
    return World(f"W{seed}", level, mode, seed, tuple(events), frozenset(chosen), variant)
