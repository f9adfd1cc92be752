"""Units of work of `cpmon reduce`: days of a system, with the dumps that they depend on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from ..dumps.grace_period import GRACE, day_condition
from ..dumps.landed_dump import LandedDump
from ..views.views import text
from .lineage import dependencies

MOST_DAYS = 2
"""Days of a unit: a dump of one day begins with the interval that ends the day before it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Some days of a system, without a day of intervals between them.

    Attributes:
        previous: the last day before them that has intervals, if there is one.
        dependencies: the dumps that their results depend on.
    """

    system: str
    days: tuple[date, ...]
    previous: date | None
    dependencies: tuple[LandedDump, ...]

    @property
    def first(self) -> datetime:
        """Its intervals end later than this."""
        return datetime.combine(self.days[0], time.min) + GRACE

    @property
    def last(self) -> datetime:
        """Its intervals end up to this."""
        return datetime.combine(self.days[-1], time.min) + timedelta(days=1) + GRACE

    @property
    def dumps(self) -> list[LandedDump]:
        """Those with samples of the days, or of the last interval before them."""
        days = {*self.days, self.previous}
        return [dump for dump in self.dependencies if days & set(dump.days)]

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
        sources = dependencies(dumps, days[max(0, first - 1)], days[group[-1]])
        yield Unit(
            dumps[0].system,
            tuple(days[place] for place in group),
            days[first - 1] if first else None,
            tuple(sources),
        )
