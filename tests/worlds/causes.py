"""Worlds with one planted cause: what `explain` must name, by kind, and quiet worlds."""

from __future__ import annotations

import json
import random
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


def _event(kind: str, at: int, **keys: Any) -> dict[str, Any]:
    return {"kind": kind, "at_s": at, **keys}


def _planted(
    kind: str, rng: random.Random, at: int, lasts: int, size: dict[str, Any]
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The events of a cause, and what names it."""
    guest = f"LINUX{rng.randrange(1, size['guests'] - 3):03d}"
    disk = rng.randrange(size["disks"])
    match kind:
        case "loop":
            user = rng.choice([guest, f"CMS{rng.randrange(1, size['staff']):05d}"])
            return [_event("runaway", at, lasts_s=lasts, users=user)], (user,)
        case "storm":
            new = [f"LINUX{size['guests'] - n:03d}" for n in range(4)]
            return [_event("logon", at, users=" ".join(new))], tuple(new)
        case "slow disk":
            device = f"{0x0B00 + disk:04X}"
            factor = rng.uniform(3, 10)
            return [_event("slow", at, lasts_s=lasts, device=device, factor=factor)], (device,)
        case "cap lowered":
            weight = round(size["weight"] * rng.uniform(0.3, 0.6))
            return [_event("weight", at, name="LP1", weight=weight)], ("LP1",)
        case "lock":
            lock = rng.choice(["SRMSLOCK", "HCPTRQLK", "RSAAVLLK", "FSDVMLK", "RCCSFQL"])
            percent = rng.uniform(10, 60)
            return [_event("contention", at, lasts_s=lasts, name=lock, cpu_percent=percent)], (
                lock,
            )
        case "guest added":
            new = f"LINUX{size['guests']:03d}"
            return [_event("logon", at, users=new)], (new,)
        case "guest gone":
            return [_event("logoff", at, users=guest)], (guest,)
        case "page volume full":
            device = f"0A0{rng.randrange(3)}"
            return [_event("full", at, lasts_s=lasts, device=device)], (device,)
        case "path lost":
            path = rng.choice(["3A", "4A", "5A"])
            return [_event("path-off", at, name=path)], (f"path {path}",)
        case "processor varied off":
            processor = rng.randrange(1, size["processors"])
            return [_event("vary-off", at, processor=processor)], (f"{processor}",)
    return [], ()


KINDS = (
    *("loop", "storm", "slow disk", "cap lowered", "lock", "guest added", "guest gone"),
    *("page volume full", "path lost", "processor varied off"),
)


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
    events, objects = _planted(kind, rng, at, lasts, size)
    text = SYSTEM.format(
        **size, intervals=INTERVALS, seconds=SECONDS, start=START.isoformat().replace("+00:00", "Z")
    )
    for each in events:
        text += "\n[[events]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in each.items())
    first = at // SECONDS + 1
    length = 1 if rng.random() < 0.3 else lasts // SECONDS - 2
    since = START + timedelta(seconds=first * SECONDS + 2)
    return Cause(kind, seed, text, objects, since, since + timedelta(seconds=length * SECONDS))
