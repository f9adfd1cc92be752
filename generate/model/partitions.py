"""Logical partitions of the machine."""

from __future__ import annotations

from typing import NamedTuple

from .measurement import Measurement

MOST_PARTITIONS = 60
"""More than a machine has."""


class PartitionRecord(NamedTuple):
    """One of the records about a partition.

    Attributes:
        place: of the partition among all.
        processors: addresses of the logical processors in it.
        times: their places among the logical processors of all partitions.
    """

    place: int
    processors: range
    times: slice


class Partitions:
    """The partitions of a machine by number, none in basic mode; one of them is this system's.

    Attributes:
        names, numbers, weights: of each.
        counts: logical processors of each.
        dedicated, capped: whether its processors are its own; whether its weight is a limit.
        demanded: share of its processors' time that each demands; of no meaning for `own`.
        own: place of this system's.
        physical: processors of the machine.
        shared: those that are not dedicated to a partition.
        shared_weight: weight of all partitions that share processors.
    """

    def __init__(self, measurement: Measurement) -> None:
        machine = measurement.machine
        own = machine.partition_number
        rows = []
        if machine.mode == "lpar":
            free = (n for n in range(1, MOST_PARTITIONS + 2) if n != own)
            rows = [
                (next(free), p.name, p.weight, p.processors, p.dedicated, p.capped, p.busy_percent)
                for p in measurement.scenario.partitions
            ]
            limits = machine.dedicated, machine.capped
            this = (own, machine.partition, machine.weight, machine.processors, *limits, 0.0)
            rows = sorted([*rows, this])
        self.numbers = [row[0] for row in rows]
        self.names = [row[1] for row in rows]
        self.weights = [row[2] for row in rows]
        self.counts = [row[3] for row in rows]
        self.dedicated = [row[4] for row in rows]
        self.capped = [row[5] for row in rows]
        self.demanded = [row[6] / 100 for row in rows]
        self.own = self.numbers.index(own) if rows else 0
        self.physical = machine.physical_processors
        self._machine = machine
        alone = sum(row[3] for row in rows if row[4])
        self.shared = max(self.physical - alone, 0)
        self.shared_weight = sum(row[2] for row in rows if not row[4])

    @property
    def records(self) -> list[PartitionRecord]:
        """The records of all partitions; one that is full is continued in the next."""
        rows = []
        for place, count in enumerate(self.counts):
            first, most = self.processors(place).start, self._machine.processors_per_record
            for at in range(0, count, most or count):
                some = range(at, min(at + (most or count), count))
                rows.append(PartitionRecord(place, some, slice(first + at, first + some.stop)))
        return rows

    @property
    def adjustment(self) -> int:
        """LPARCAF: share of the machine that this system is granted, 1/1000."""
        if not self.names:
            return 0
        granted = self.limit(self.own)
        if not self._machine.dedicated:
            granted = min(granted, self.shared * self._machine.weight / self.shared_weight)
        return round(1000 * granted / self.physical)

    def limit(self, place: int) -> float:
        """Physical processors that a partition may use at most: all that it has, or its weight's.

        Args:
            place: index of the partition.
        """
        if self.dedicated[place] or not self.capped[place]:
            return float(self.counts[place])
        share = self.shared * self.weights[place] / self.shared_weight
        return min(share, float(self.counts[place]))

    def processors(self, place: int) -> slice:
        """The logical processors of a partition among those of all."""
        first = sum(self.counts[:place])
        return slice(first, first + self.counts[place])
