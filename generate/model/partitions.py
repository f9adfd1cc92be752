"""Logical partitions of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..scenario.hardware import Machine, Partition
from .measurement import Measurement

MOST_PARTITIONS = 60
"""Upper bound of the number of partitions of a machine."""


class PartitionRecord(NamedTuple):
    """One of the records about a partition.

    Attributes:
        name, number: of the partition.
        processors: addresses of the logical processors in it.
        times: their indices among the logical processors of all partitions.
    """

    name: str
    number: int
    processors: range
    times: slice


class Partitions:
    """The partitions of a machine by number, none in basic mode; one is that of this system.

    A partition has consecutive entries, one for each type of its processors.

    Attributes:
        names, numbers, types, weights: of each entry.
        counts: logical processors of each.
        dedicated, capped: whether its processors are dedicated; whether its weight is a limit.
        demanded: share of its processors' time that each demands; unused for `own`.
        own: index of this system's entry.
        physical: types of the physical processors.
        shared: by type, number of processors that are not dedicated.
        shared_weight: by type, weight of all partitions that share processors.
    """

    def __init__(self, measurement: Measurement) -> None:
        machine = measurement.machine
        own, usual = machine.partition_number, machine.processor_type
        rows: list[tuple[int, str, str, Partition | Machine]] = []
        if machine.mode == "lpar":
            free = (n for n in range(1, MOST_PARTITIONS + 2) if n != own)
            others = measurement.scenario.partitions
            number = dict(zip(dict.fromkeys(p.name for p in others), free, strict=False))
            rows = [
                *((number[p.name], p.name, p.processor_type or usual, p) for p in others),
                (own, machine.partition, usual, machine),
            ]
            rows.sort(key=itemgetter(0))
        self.numbers = [row[0] for row in rows]
        self.names = [row[1] for row in rows]
        self.types = [row[2] for row in rows]
        given = [row[3] for row in rows]
        self.weights = [each.weight for each in given]
        self.counts = [each.processors for each in given]
        self.dedicated = [each.dedicated for each in given]
        self.capped = [each.capped for each in given]
        self.demanded = [
            each.busy_percent / 100 if isinstance(each, Partition) else 0.0 for each in given
        ]
        self.own = self.numbers.index(own) if rows else 0
        self.physical = [kind for kind, count in machine.physical.items() for _ in range(count)]
        self._machine = machine
        self.shared: dict[str, int] = {}
        self.shared_weight: dict[str, int] = {}
        for kind, count in machine.physical.items():
            mine = [each for each, of in zip(given, self.types, strict=True) if of == kind]
            alone = sum(each.processors for each in mine if each.dedicated)
            self.shared[kind] = max(count - alone, 0)
            self.shared_weight[kind] = sum(each.weight for each in mine if not each.dedicated)

    @property
    def records(self) -> list[PartitionRecord]:
        """The records of all partitions; a partition can continue in a second record."""
        rows, most = [], self._machine.processors_per_record
        for number in dict.fromkeys(self.numbers):
            place = self.numbers.index(number)
            first = self.processors(place).start
            count = sum(c for c, n in zip(self.counts, self.numbers, strict=True) if n == number)
            for at in range(0, count, most or count):
                some = range(at, min(at + (most or count), count))
                times = slice(first + at, first + some.stop)
                rows.append(PartitionRecord(self.names[place], number, some, times))
        return rows

    @property
    def total(self) -> int:
        """Number of partitions."""
        return len(set(self.numbers))

    def by_processor(self, values: Sequence[object]) -> npt.NDArray[Any]:
        """(logical processors of all partitions,) the value of the processor's entry."""
        return np.repeat(np.array(values), self.counts)

    @property
    def adjustment(self) -> int:
        """LPARCAF: share of the machine that this system is entitled to, 1/1000."""
        if not self.names:
            return 0
        granted = self.limit(self.own)
        if not self._machine.dedicated:
            granted = min(granted, self._share(self.own))
        return round(1000 * granted / self._machine.physical_processors)

    def limit(self, place: int) -> float:
        """Most physical processors that an entry may use: all that it has, or those of its weight.

        Args:
            place: index of the entry.
        """
        if self.dedicated[place] or not self.capped[place]:
            return float(self.counts[place])
        return min(self._share(place), float(self.counts[place]))

    def _share(self, place: int) -> float:
        """Shared physical processors in proportion to the weight of an entry."""
        kind = self.types[place]
        return self.shared[kind] * self.weights[place] / self.shared_weight[kind]

    def processors(self, place: int) -> slice:
        """Slice of an entry's logical processors in those of all entries."""
        first = sum(self.counts[:place])
        return slice(first, first + self.counts[place])
