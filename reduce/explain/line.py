"""A line of an explanation: one thing that was different, or stood near."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..metrics import Metric


@dataclass(frozen=True, slots=True)
class Contributor:
    """An object that explains a part of a departure.

    Attributes:
        change: of its own value, in `unit`. share: of the changes of all objects, 0..1, of those
            in the same direction.
    """

    noun: str
    object: str
    change: float
    unit: str
    share: float


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was different, or stood near.

    Attributes:
        kind: metric, object, setting, event or exception.
        weight: 0..100, by which lines are ordered.
        object: the object, or the system.
        what: title of the metric or rule, or text of the event. name: of either, or kind of event.
        value, usual, low, high: in `unit`; None for events.
        score: departure in standard errors; None if the baseline never varied.
        p_adjusted: adjusted for the number of metrics; None if it has too few values.
        proven: whether it is significant. Large departures that are not are listed if a run is the
            baseline, as in the comparison of runs.
        presence: `new` or `gone` for an object that the baseline or the span does not have.
        first, last: of an exception or event, UTC.
        contributors: greatest first.
        also: what else tells of the same object.
    """

    kind: str
    weight: float
    object: str
    what: str
    name: str
    unit: str = ""
    value: float | None = None
    usual: float | None = None
    low: float | None = None
    high: float | None = None
    score: float | None = None
    p_adjusted: float | None = None
    proven: bool = True
    presence: str = ""
    first: datetime | None = None
    last: datetime | None = None
    contributors: tuple[Contributor, ...] = ()
    also: tuple[str, ...] = ()
    metric: Metric | None = None

    @property
    def change_percent(self) -> float | None:
        """Change from the usual value in percent of it; None if that is 0 or unknown."""
        if self.value is None or not self.usual:
            return None
        return 100 * (self.value - self.usual) / abs(self.usual)

    def is_about(self, name: str) -> bool:
        """Whether it is about an object, by its name with or without the noun."""
        return bool(name) and (self.object == name or self.object.split()[1:2] == name.split()[:1])
