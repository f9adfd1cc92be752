"""Which systems and days a call of `cpmon reduce` is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase

from ...core.errors import CpmonError
from ...core.names import nearest


@dataclass(frozen=True, slots=True)
class Selection:
    """Systems and days; all of them if nothing is said.

    Attributes:
        systems: patterns of names, as `PROD*`.
        days: UTC days one by one.
        since, until: the first day, and the one behind the last.
    """

    systems: tuple[str, ...] = ()
    days: frozenset[date] = frozenset()
    since: date | None = None
    until: date | None = None

    def __bool__(self) -> bool:
        """Whether something is left out."""
        return bool(self.systems or self.days or self.since or self.until)

    def has_system(self, system: str) -> bool:
        """Whether a system is meant."""
        return not self.systems or any(fnmatchcase(system, p) for p in self.systems)

    def has_day(self, day: date) -> bool:
        """Whether a day is meant."""
        return (
            (not self.days or day in self.days)
            and (self.since is None or day >= self.since)
            and (self.until is None or day < self.until)
        )

    def has(self, system: str, day: date) -> bool:
        """Whether a day of a system is meant."""
        return self.has_system(system) and self.has_day(day)

    def check(self, systems: Iterable[str]) -> None:
        """Refuse a pattern that no system of a store matches.

        Raises:
            CpmonError: there is such a pattern.
        """
        names = sorted(set(systems))
        for pattern in self.systems:
            if not any(fnmatchcase(name, pattern) for name in names):
                like = nearest(pattern, names)
                raise CpmonError(
                    f"no system of the store is {pattern}",
                    expected=", ".join(names[:10]) + ", ..." * (len(names) > 10),
                    remedy=f"did you mean {like}?" if like else None,
                )
