"""Printed statistics of repeated samples: a mean, a standard deviation, and what they allow.

The samples are whole numbers. That makes a printed mean and deviation a strong statement: the sum
of the samples is known, and so is the sum of their squares, often to the unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from ...config.values import Text
from ...core.errors import CpmonError

_SIGNIFICANT = 4
_LARGEST_MEAN, _LARGEST_DEVIATION = 10**9, 10**8
"""So that sums of squares of a hundred samples fit in 63 bits."""


class Figures(Text):
    """A mean and a deviation, as they are printed, or one number for every sample."""

    EXPECTED = "mean/deviation, as 16499.3/1426, or one number for every sample"
    PATTERN = r"-?[0-9]+(\.[0-9]+)?(/[0-9]+(\.[0-9]+)?)?"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, a text or a number of TOML."""
        return super().parse(str(value) if type(value) in (int, float) else value)


@dataclass(frozen=True)
class Statistic:
    """`count` whole numbers, by the mean and the standard deviation (divisor N) printed of them.

    Attributes:
        place: where the statistic stands in its file, for messages.
        places: decimals of a printed mean: 1, or 0 where whole numbers are printed throughout.
    """

    place: str
    count: int
    mean: Decimal
    deviation: Decimal
    places: int = 1

    @classmethod
    def parse(cls, figures: Figures, count: int, place: str, places: int = 1) -> Statistic:
        """A statistic from its figures.

        Raises:
            CpmonError: they are out of range.
        """
        mean, _, deviation = figures.partition("/")
        statistic = cls(place, count, Decimal(mean), Decimal(deviation or "0"), places)
        if abs(statistic.mean) >= _LARGEST_MEAN or statistic.deviation >= _LARGEST_DEVIATION:
            raise CpmonError(
                f"samples cannot have the figures {figures}",
                place=place,
                expected=f"a mean below {_LARGEST_MEAN:.0e}, a deviation below 1e+08",
                found=figures,
                remedy="lower the figures",
            )
        return statistic

    @property
    def totals(self) -> list[int]:
        """The sums whose mean prints so; the first is the nearest to it."""
        middle = self.count * self.mean
        half = self.count * Decimal(5).scaleb(-self.places - 1)
        around = range(math.floor(middle - half), math.floor(middle + half) + 2)
        return sorted(filter(self.prints, around), key=lambda total: abs(total - middle))

    def prints(self, total: int) -> bool:
        """Whether the mean of samples with that sum prints so."""
        return _rounded(Decimal(total) / self.count, self.places) == self.mean

    def has_squares(self, total: int) -> bool:
        """Whether parity leaves samples with that sum a deviation that prints so."""
        least, most = self.squares(total)
        return least <= most

    def squares(self, total: int) -> tuple[int, int]:
        """Least and greatest sum of squares of deviations that print this standard deviation.

        A deviation is printed with four significant digits, without trailing zeros. Where no whole
        numbers with any of the `totals` deviate so, one that was written with fewer digits stands
        for all that round to it.

        Args:
            total: sum of the samples; deviations are counted from `total // count`.

        Returns:
            Both of them attainable as far as parity goes: squares add up to an even number exactly
            if what is squared does. Least above greatest: no samples can print so.
        """
        rest = total % self.count
        if not self.deviation:
            return rest, 0 if rest == 0 else rest - 2
        return self._squares(rest, self._meant_places)

    @cached_property
    def _meant_places(self) -> int:
        """Decimals to which deviations agree with this one."""
        printed = printed_places(self.deviation, self.places)
        rests = {total % self.count for total in self.totals}
        reached = any(least <= most for least, most in (self._squares(r, printed) for r in rests))
        return printed if reached else min(printed, self.written_places)

    @property
    def written_places(self) -> int:
        """Decimals with which the deviation was written."""
        return max(0, -int(self.deviation.as_tuple().exponent))

    def _squares(self, rest: int, places: int) -> tuple[int, int]:
        """The same, of deviations that round to this one at so many decimals."""
        half = Fraction(1, 2 * 10**places)
        low, high = Fraction(self.deviation) - half, Fraction(self.deviation) + half
        # count * squares - rest**2 is count**2 times the variance.
        least = math.ceil((max(low, Fraction(0)) ** 2 * self.count**2 + rest**2) / self.count)
        beyond = math.ceil((high**2 * self.count**2 + rest**2) / self.count)
        least = max(least, rest)
        most = beyond - 1
        return least + (least - rest) % 2, most - (most - rest) % 2

    def check(self, signed: bool = False) -> None:
        """Whether samples can print so at all, as far as their sum and parity decide it.

        Args:
            signed: the samples may be negative.

        Raises:
            CpmonError: with the nearest figures that can be printed.
        """
        if not self.totals:
            below = math.floor(self.count * self.mean)
            near = [shortest(Decimal(below + up) / self.count, self.places) for up in (0, 1)]
            raise self._impossible("has no such mean", f"a mean of {' or '.join(near)}")
        if self.deviation != round(self.deviation, printed_places(self.deviation, self.places)):
            raise self._impossible("has no such deviation", "four significant digits of it")
        if not any(self.has_squares(total) for total in self.totals):
            near = list(dict.fromkeys(self._nearest(self.totals[0])))
            raise self._impossible("has no such deviation", f"a deviation of {' or '.join(near)}")
        farthest = max(self.mean, Decimal(0)) * Decimal(self.count - 1).sqrt()
        if not signed and self.deviation > farthest + 1:
            raise self._impossible(
                "has no such deviation", f"a deviation of at most {shortest(farthest, 1)}"
            )

    def _nearest(self, total: int) -> Iterator[str]:
        """The deviations that can be printed just below and above an impossible one."""
        least, most = self.squares(total)
        rest = total % self.count
        for squares in (most, least):
            if squares >= rest:
                variance = Fraction(squares, self.count) - Fraction(rest, self.count) ** 2
                root = (Decimal(variance.numerator) / variance.denominator).sqrt()
                yield shortest(root, printed_places(root, self.places))

    def _impossible(self, problem: str, possible: str) -> CpmonError:
        figures = f"{shortest(self.mean, 9)}/{self.deviation}"
        return CpmonError(
            f"a set of {self.count} whole numbers {problem}: {figures}",
            place=self.place,
            expected=possible,
            found=figures,
        )


def printed_places(deviation: Decimal, places: int = 1) -> int:
    """Decimals of a printed deviation: four significant digits, never fewer than whole ones.

    Args:
        places: 0 where whole numbers are printed throughout.
    """
    if places == 0 or not deviation:
        return 0
    return max(0, _SIGNIFICANT - 1 - deviation.adjusted())


def shortest(value: Decimal, places: int) -> str:
    """A number rounded half up to at most so many decimals, without trailing zeros."""
    text = f"{_rounded(value, places):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _rounded(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
