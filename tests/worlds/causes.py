"""Worlds with one planted cause: what `explain` must name, by kind, and quiet worlds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2006, 10, 16, 9, 0, tzinfo=UTC)
INTERVALS, SECONDS = 120, 60

SYSTEM = """
name = "cause"
title = "A world with one cause"
system = "CAUSE"
seed = {seed}
intervals = {intervals}
spread = {spread}
[monitor]
interval_s = {seconds}
high_frequency_s = 1.0
events = ["monitor", "storage", "user", "processor", "io"]
[machine]
type = "2094"
model = "704"
serial = "0A1B2C"
processors = {processors}
mode = "lpar"
dedicated = false
weight = {weight}
capped = true
physical_processors = 8
[[partitions]]
name = "OTHER"
processors = 4
busy_percent = 30.0
weight = 100
[storage]
central_mib = {central_mib}
churn_per_s = 0.002
[[users]]
name = "linux"
prefix = "LINUX"
count = {guests}
guest = "linux"
virtual_processors = 2
cpu_percent = {guest_percent}
working_set_mib = 200
storage_mib = 512
architecture = "Z"
dispatched_share = 0.8
[[users]]
name = "staff"
prefix = "CMS"
count = {staff}
cpu_percent = 1.5
transactions_per_s = 0.3
console_ios_per_s = 0.4
[[users]]
name = "server"
prefix = "SRV"
count = 2
cpu_percent = 4
guest = "server"
[[volumes]]
prefix = "PAG"
kind = "page"
count = 3
first_device = "0A00"
channel_paths = "1A2A"
cylinders = 1113
[[volumes]]
prefix = "SPL"
kind = "spool"
count = 1
first_device = "0A10"
io_per_s = 2
channel_paths = "1A2A"
[[volumes]]
prefix = "USR"
kind = "user"
count = {disks}
first_device = "0B00"
io_per_s = {io_per_s}
channel_paths = "3A4A5A"
[run.A]
cp_level = "5.4.0"
start = {start}
"""


@dataclass(frozen=True)
class Cause:
    """A world in which one thing happens, or nothing.

    Attributes:
        kind: a key of `KINDS`, or "quiet". text: its scenario.
        objects: texts of which one is in the line that names the cause.
        since, until: the span to explain, in which the cause is at work.
    """

    kind: str
    seed: int
    text: str
    objects: tuple[str, ...]
    since: datetime
    until: datetime


@dataclass(frozen=True)
class _Place:
    """What a cause may hit: sizes of the world, a guest and a disk of it, and when."""

    rng: random.Random
    at: int
    lasts: int
    size: dict[str, Any]
    guest: str
    disk: str

    def last_guests(self, count: int) -> list[str]:
        """The guests that log on when the cause comes."""
        return [f"LINUX{self.size['guests'] - n:03d}" for n in range(count)]

    def event(self, kind: str, **keys: Any) -> dict[str, Any]:
        """An event at the moment of the cause, as long as it."""
        return {"kind": kind, "at_s": self.at, "lasts_s": self.lasts, **keys}


_Planted = tuple[dict[str, Any], tuple[str, ...]]
"""An event, and texts of which one names it."""


def _loop(place: _Place) -> _Planted:
    staff = f"CMS{place.rng.randrange(1, place.size['staff']):05d}"
    user = place.rng.choice([place.guest, staff])
    return place.event("runaway", users=user), (user,)


def _arrival(place: _Place, count: int) -> _Planted:
    new = place.last_guests(count)
    return place.event("logon", users=" ".join(new)), tuple(new)


def _slow(place: _Place) -> _Planted:
    factor = place.rng.uniform(3, 10)
    return place.event("slow", device=place.disk, factor=factor), (place.disk,)


def _cap(place: _Place) -> _Planted:
    weight = round(place.size["weight"] * place.rng.uniform(0.3, 0.6))
    return place.event("weight", name="LP1", weight=weight), ("LP1",)


def _lock(place: _Place) -> _Planted:
    lock = place.rng.choice(["SRMSLOCK", "HCPTRQLK", "RSAAVLLK", "FSDVMLK", "RCCSFQL"])
    percent = place.rng.uniform(10, 60)
    return place.event("contention", name=lock, cpu_percent=percent), (lock,)


def _full(place: _Place) -> _Planted:
    device = f"0A0{place.rng.randrange(3)}"
    return place.event("full", device=device), (f"page volume {device}",)


def _path(place: _Place) -> _Planted:
    path = place.rng.choice(["3A", "4A", "5A"])
    return place.event("path-off", name=path), (f"channel path {path}",)


def _processor(place: _Place) -> _Planted:
    number = place.rng.randrange(1, place.size["processors"])
    return place.event("vary-off", processor=number), (f"processor {number}",)


KINDS: dict[str, Callable[[_Place], _Planted]] = {
    "loop": _loop,
    "storm": lambda place: _arrival(place, 4),
    "slow disk": _slow,
    "cap lowered": _cap,
    "lock": _lock,
    "guest added": lambda place: _arrival(place, 1),
    "guest gone": lambda place: (place.event("logoff", users=place.guest), (place.guest,)),
    "page volume full": _full,
    "path lost": _path,
    "processor varied off": _processor,
}
"""Causes by name."""


def cause_world(kind: str, seed: int) -> Cause:
    """The world of a kind and a seed: sizes, load and the moment of the cause vary."""
    rng = random.Random(f"{kind} {seed}")
    size = {
        "seed": seed,
        "spread": rng.choice([0.02, 0.04, 0.08]),
        "processors": rng.choice([2, 3, 4]),
        "weight": rng.choice([200, 300]),
        "guests": rng.randrange(6, 15),
        "guest_percent": rng.choice([6, 10]),
        "staff": rng.randrange(5, 30),
        "disks": rng.randrange(4, 12),
        "io_per_s": rng.choice([10, 25]),
    }
    storm = kind == "storm"
    kept = size["guests"] - (4 if storm else 0)
    # Where a storm comes, what is there fits; elsewhere some pages are out, or none.
    size["central_mib"] = round(size["guests"] * 200 * rng.uniform(0.8, 1.3)) + 128
    if storm:
        size["central_mib"] = round(kept * 200 * 1.15) + 256
    at = SECONDS * rng.randrange(80, 105) + rng.randrange(SECONDS)
    lasts = SECONDS * rng.randrange(6, 14)
    guest = f"LINUX{rng.randrange(1, size['guests'] - 3):03d}"
    place = _Place(rng, at, lasts, size, guest, f"{0x0B00 + rng.randrange(size['disks']):04X}")
    event, objects = KINDS[kind](place) if kind in KINDS else ({}, ())
    text = SYSTEM.format(
        **size, intervals=INTERVALS, seconds=SECONDS, start=START.isoformat().replace("+00:00", "Z")
    )
    if event:
        text += "\n[[events]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in event.items())
    first = at // SECONDS + 1
    length = 1 if rng.random() < 0.3 else lasts // SECONDS - 2
    since = START + timedelta(seconds=first * SECONDS + 2)
    return Cause(kind, seed, text, objects, since, since + timedelta(seconds=length * SECONDS))
