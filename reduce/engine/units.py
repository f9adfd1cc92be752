"""Units of work of `cpmon reduce`: days of a system, with the dumps that they depend on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from ...core.grace_period import GRACE, day_condition
from ...core.sql import text
from ...store.dumps.landed_dump import LandedDump
from ...store.scope import Basis, Scope, basis_of

MOST_DAYS = 2
"""Days of a unit: a dump of one day begins with the interval that ends the day before it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Some days of a system, without a day of intervals between them.

    Attributes:
        previous: the last day before them that has intervals, if there is one.
        basis: the dumps that their results depend on.
    """

    system: str
    days: tuple[date, ...]
    previous: date | None
    basis: Basis

    @property
    def scope(self) -> Scope:
        """The intervals that count to its days."""
        return _scope(self.system, self.days)

    def condition(self, day: date) -> str:
        """The condition on the rows of one of its days, as SQL."""
        return f"system = {text(self.system)} AND {day_condition(day)}"


def units(
    dumps: Sequence[LandedDump], days: Sequence[date], missing: Collection[date]
) -> Iterator[Unit]:
    """The units of some missing days of a system, in order.

    Args:
        dumps: of the system, by begin. days: all of its days, in order.
    """
    groups: list[list[int]] = []
    for place in (place for place, day in enumerate(days) if day in missing):
        if groups and groups[-1][-1] == place - 1 and len(groups[-1]) < MOST_DAYS:
            groups[-1].append(place)
        else:
            groups.append([place])
    for group in groups:
        first = group[0]
        system, chosen = dumps[0].system, tuple(days[place] for place in group)
        previous = days[first - 1] if first else None
        yield Unit(system, chosen, previous, basis_of(dumps, _scope(system, chosen)))


def _scope(system: str, days: Sequence[date]) -> Scope:
    midnight = datetime.combine(days[0], time.min), datetime.combine(days[-1], time.min)
    return Scope(system, midnight[0] + GRACE, midnight[1] + timedelta(days=1) + GRACE)
