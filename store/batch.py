"""Days of a system that `cpmon reduce` computes at once, and the dumps that they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from .days import Held
from .lateness import LATE
from .stamps import basis_of
from .views import text


@dataclass(frozen=True, slots=True)
class Batch:
    """Some days of a system, one behind the other without a day of intervals between.

    Attributes:
        before: the day of intervals before them, if there is one.
        basis: the dumps that they rest on.
    """

    system: str
    days: tuple[date, ...]
    before: date | None
    basis: tuple[Held, ...]

    @property
    def first(self) -> datetime:
        """Intervals of it end later than this."""
        return datetime.combine(self.days[0], time.min) + LATE

    @property
    def last(self) -> datetime:
        """Intervals of it end up to this."""
        return datetime.combine(self.days[-1], time.min) + timedelta(days=1) + LATE

    @property
    def dumps(self) -> list[Held]:
        """Those with samples of the days, or of the last interval before them."""
        days = {*self.days, self.before}
        return [one for one in self.basis if days & set(one.days)]

    def where(self) -> str:
        """The condition on the rows of a reduction."""
        return (
            f"system = {text(self.system)} AND interval_end > TIMESTAMP '{self.first}'"
            f" AND interval_end <= TIMESTAMP '{self.last}'"
        )


def batches(
    of_system: Sequence[Held], days: Sequence[date], wanted: Sequence[date], most: int
) -> list[Batch]:
    """The wanted days of a system, as many at once as stand together, up to `most`.

    Args:
        of_system: its dumps. days: all of its days, in order.
    """
    found: list[list[int]] = []
    for place in sorted(days.index(day) for day in wanted):
        if found and found[-1][-1] == place - 1 and len(found[-1]) < most:
            found[-1].append(place)
        else:
            found.append([place])
    return [
        Batch(
            of_system[0].system,
            tuple(days[place] for place in places),
            days[places[0] - 1] if places[0] else None,
            tuple(basis_of(of_system, days[max(0, places[0] - 1)], days[places[-1]])),
        )
        for places in found
    ]
