"""Sums and deltas of a dump's records, worked out with the plain reader alone."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Hashable
from decimal import ROUND_HALF_UP, Decimal

from cpmon.generate import dump_frames, load_scenario
from tests.generate.plain_reader import Record, records

TOD_PER_S = 4_096_000_000


@functools.cache
def dump_of(scenario: str, run: str, intervals: int = 3) -> bytes:
    """A generated dump; the same object for every test that asks for it."""
    return b"".join(dump_frames(load_scenario(scenario), run, intervals=intervals))


@functools.cache
def read(scenario: str, run: str, intervals: int = 3) -> Dump:
    """The records of a generated dump."""
    return Dump(dump_of(scenario, run, intervals))


class Dump:
    """The records of a dump by type, and differences between samples."""

    def __init__(self, dump: bytes) -> None:
        self.records = list(records(dump))
        self._types: dict[tuple[int, int], list[Record]] = defaultdict(list)
        for record in self.records:
            self._types[record.domain, record.number].append(record)

    def of(self, domain: int, number: int, sample: int | None = None) -> list[Record]:
        every = self._types[domain, number]
        return every if sample is None else [r for r in every if r.sample == sample]

    def series(self, domain: int, number: int, key: slice) -> dict[Hashable, list[Record]]:
        """Records with the same key bytes, in order of time."""
        found: dict[Hashable, list[Record]] = defaultdict(list)
        for record in self.of(domain, number):
            found[record.data[key]].append(record)
        return found

    def growth(self, domain: int, number: int, key: slice, at: int, width: int = 4) -> list[int]:
        """Growth of a counter in each interval, over all keys; wraps are added back."""
        sums: dict[int, int] = defaultdict(int)
        for rows in self.series(domain, number, key).values():
            values = [int.from_bytes(r.data[at : at + width]) for r in rows]
            for interval, (before, now) in enumerate(itertools.pairwise(values)):
                sums[interval] += (now - before) % (1 << 8 * width)
        return [sums[k] for k in sorted(sums)]

    @functools.cached_property
    def seconds(self) -> float:
        rows = self.of(0, 2)
        return (rows[-1].tod - rows[len(self.of(0, 2, 0)) - 1].tod) / TOD_PER_S


CPU = slice(20, 22)
USER = slice(20, 30)
VOLUME = slice(26, 28)
DEVICE = slice(200, 202)
SYSTEM = slice(0, 0)


def printed(value: float, digits: int) -> str:
    """A number as a report prints it: decimal, half up."""
    return str(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
