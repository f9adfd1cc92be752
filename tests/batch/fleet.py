"""Three systems that write a small dump each hour, for weeks: every value follows from its place.

A dump has a set of frames for each interval: one with samples, one with the interval's end. An
interval of which no sample can be read is none; `ends` are those that survive the damage.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.dumps import BEGIN_S, dump, fields, frame, interval_end, samples

SYSTEMS = ("ALPHA", "BETA", "GAMMA")
BEGIN = datetime.fromtimestamp(BEGIN_S, UTC).replace(hour=0)
OFFSET = (BEGIN - datetime.fromtimestamp(BEGIN_S, UTC)).total_seconds()
INTERVALS = 3
NOMINAL_S = 3600 // INTERVALS
DAMAGES = ("text", "cut", "frame lost", "record bad", "no configuration")
_TICKS = 4096 * 1_000_000
"""Units of a TOD clock in a second."""


@dataclass(frozen=True)
class Hour:
    """The dump of an hour.

    Attributes:
        system: that wrote it. hour: since `BEGIN`. data: the file.
        ends: ends of the intervals that must be in the store, UTC.
        damage: what was done to it, or empty.
    """

    system: str
    hour: int
    data: bytes
    ends: tuple[datetime, ...]
    damage: str = ""

    @property
    def begin(self) -> datetime:
        """When the hour begins, UTC."""
        return BEGIN + timedelta(hours=self.hour)

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.system}-{self.begin:%Y%m%d-%H}.mon"

    @property
    def is_dump(self) -> bool:
        """Whether it is monitor data at all."""
        return self.damage != "text"


def hours(count: int, damaged: float = 0.0, seed: int = 1) -> Iterator[list[Hour]]:
    """The dumps of each hour, of all systems; about so large a share of them is damaged."""
    dice = random.Random(seed)
    for hour in range(count):
        found = []
        for number, system in enumerate(SYSTEMS):
            kind = dice.choice(DAMAGES) if dice.random() < damaged else ""
            found.append(hourly(system, number, hour, kind))
        yield found


def hourly(system: str, number: int, hour: int, damage: str = "") -> Hour:
    """The dump that a system writes in an hour."""
    seconds = [OFFSET + hour * 3600 + NOMINAL_S * (k + 1) for k in range(INTERVALS)]
    sets = [_set(number, at) for at in seconds]
    configuration = [
        fields("mtrsys", seconds[0] - NOMINAL_S + 1, systmid=system),
        fields("mtrspr", seconds[0] - NOMINAL_S + 1, interval=NOMINAL_S),
    ]
    first = samples(frame(*configuration))
    ends = [datetime.fromtimestamp(BEGIN_S + at, UTC) for at in seconds]
    if damage == "text":
        return Hour(system, hour, f"{system} hour {hour}: no space left\n".encode(), (), damage)
    if damage == "cut":
        return Hour(system, hour, first + b"".join(sets[:-1]) + sets[-1][:5000], tuple(ends[:-1]),
                    damage)  # fmt: skip
    if damage == "frame lost":
        sets[1] = sets[1][:4096] + b"\xff" * 4096 + sets[1][8192:]
        del ends[1]
    if damage == "record bad":
        sets[1] = sets[1][:4096] + b"\x00\x07" + sets[1][4098:]
        del ends[1]
    if damage == "no configuration":
        first = b""
    return Hour(system, hour, dump(first, *sets), tuple(ends), damage)


def _set(number: int, at: float) -> bytes:
    """The frames of an interval that ends at a second."""
    elapsed = int((at - OFFSET) * _TICKS)
    sampled = [
        fields(
            "sytprp",
            at - 0.001,
            pfxcpuad=cpu,
            pfxprbtm=0x7FFFFFFF00000000 - elapsed // (2 + cpu + number),
            pfxutime=elapsed // (2 + cpu + number),
            pfxtmsys=0x7FFFFFFF00000000 - elapsed // 20,
            pfxtotwt=elapsed // 4,
        )
        for cpu in (0, 1)
    ]
    sampled += [
        fields("useact", at - 0.001, vmduser=f"USER{user:04}", vmdttime=elapsed // (9 + user))
        for user in range(3)
    ]
    return samples(frame(*sampled), frame(interval_end(at)))
