"""The print rules of the published tables: decimal, half up, and ratios of what was printed.

A value is printed once, and from then on its printed form is the value: differences, sums and
ratios in a table are computed from `Printed.value`, never from the float behind it. That is how
0.003 and 0.002 come to stand for a ratio of 1.500.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from enum import StrEnum

Number = int | float | Decimal

SIGNIFICANT = 12
"""Digits of a float that are taken for information; what lies behind them is binary noise."""
RATIO_DIGITS = 3
KEPT_CHARACTERS = 5

_EXACT = Context(prec=400)
"""Wide enough for any float written out in full."""
_CLEAN = Context(prec=SIGNIFICANT, rounding=ROUND_HALF_EVEN)
_SUFFIXES = ("", "k", "M", "G", "T")


class Style(StrEnum):
    """How a column fits its values into its characters."""

    FIXED = "fixed"
    """A fixed number of decimals."""
    KEPT = "kept"
    """Five characters: as many decimals, up to three, as fit (0.088, 7.254, 16.30)."""
    THOUSANDS = "thousands"
    """An integer of five characters; from 100000 on in thousands (101k)."""
    MINUTES = "mm:ss"
    """A duration given in seconds, to the second: 10:06, 0:45."""
    HUNDREDTHS = "mm:ss.hh"
    """A duration given in seconds, to the hundredth; below a minute seconds alone: 0.21."""


@dataclass(frozen=True, slots=True)
class Format:
    """The print rule of a column. `digits` are decimals, used by the fixed style only."""

    digits: int = 0
    style: Style = Style.FIXED


@dataclass(frozen=True, slots=True)
class Printed:
    """A cell as it stands in a table.

    `value` is what later arithmetic uses: the printed number, or the full integer of one that
    was abbreviated. None where there is no number: then `text` is a dash, or empty with `reason`.
    """

    text: str
    value: Decimal | None
    reason: str = ""


DASH = Printed("-", None)


def blank(reason: str) -> Printed:
    """An empty cell and why it is empty."""
    return Printed("", None, reason)


def exact(value: Number) -> Decimal:
    """The decimal number that was meant.

    A float is read in its shortest form and cut to 12 significant digits, so that a sum that
    should be 1.4875 and came out as 1.48749999999999 still is a tie. Integers and decimals are
    taken as they are.
    """
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int):
        return Decimal(value)
    return _CLEAN.create_decimal(repr(float(value)))


def fixed(value: Decimal, digits: int) -> Decimal:
    """Rounded half up to so many decimals; never a negative zero."""
    rounded = value.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP, context=_EXACT)
    return abs(rounded) if rounded.is_zero() else rounded


def show(value: Number | None, form: Format, *, scale: Number = 1, reason: str = "") -> Printed:
    """A value as its column prints it, multiplied by `scale` before.

    None, NaN and infinity print as a blank, with `reason`.
    """
    if value is None or not math.isfinite(value):
        return blank(reason)
    number = _EXACT.multiply(exact(value), exact(scale))
    match form.style:
        case Style.KEPT:
            return _kept(number)
        case Style.THOUSANDS:
            return _thousands(number)
        case Style.MINUTES:
            return _duration(fixed(number, 0))
        case Style.HUNDREDTHS:
            return _duration(fixed(number, 2))
        case Style.FIXED:
            return _plain(fixed(number, form.digits))


def significant(value: Decimal, digits: int) -> Decimal:
    """Rounded half up to so many significant digits, but never before the decimal point."""
    if value.is_zero():
        return Decimal(0)
    places = max(0, digits - 1 - value.adjusted())
    rounded = fixed(value, places)
    if places and rounded.adjusted() > value.adjusted():
        return fixed(value, places - 1)
    return rounded


def ratio(value: Printed, base: Printed) -> Printed:
    """Printed value over printed base, three decimals; a dash where the base prints zero."""
    if value.value is None or base.value is None:
        return blank(value.reason or base.reason)
    if base.value.is_zero():
        return DASH
    quotient = _EXACT.divide(value.value, base.value)
    return _plain(fixed(quotient, RATIO_DIGITS))


def percent(value: Printed, base: Printed, shown: Callable[[Decimal], Printed]) -> Printed:
    """By how many percent of its base a value differs from it, computed from the printed values.

    A dash where the base prints zero, a blank where one of them has no number.

    Args:
        shown: prints the percentage, which is unrounded.
    """
    if base.value is not None and base.value.is_zero():
        return DASH
    if value.value is None or base.value is None:
        return blank(value.reason or base.reason)
    quotient = _EXACT.divide(value.value - base.value, abs(base.value))
    return shown(_EXACT.multiply(quotient, Decimal(100)))


def percentage(value: Printed, base: Printed) -> Printed:
    """The change from base to value in percent: one decimal below 10, none from 10 on."""

    def shown(exactly: Decimal) -> Printed:
        tenths = fixed(exactly, 1)
        return _plain(tenths if abs(tenths) < 10 else fixed(exactly, 0))

    return percent(value, base, shown)


def upper_percent(value: float) -> str:
    """A bound in percent, rounded up: one decimal below 10, none from 10 on."""
    tenths = math.ceil(value * 10) / 10
    return f"{tenths:.1f}" if tenths < 10 else f"{math.ceil(value)}"


def _plain(value: Decimal) -> Printed:
    return Printed(f"{value:f}", value)


def _duration(seconds: Decimal) -> Printed:
    """Minutes without leading zero and seconds, with as many decimals as are given."""
    sign, size = "-" if seconds < 0 else "", abs(seconds)
    if size < 60 and size.as_tuple().exponent:
        return _plain(seconds)
    minutes, rest = _EXACT.divmod(size, Decimal(60))
    width = 2 if rest == rest.to_integral_value() and not rest.as_tuple().exponent else 5
    return Printed(f"{sign}{minutes:f}:{rest:0{width}f}", seconds)


def _kept(number: Decimal) -> Printed:
    for digits in range(RATIO_DIGITS, 0, -1):
        printed = _plain(fixed(number, digits))
        if len(printed.text) <= KEPT_CHARACTERS:
            return printed
    return _plain(fixed(number, 0))


def _thousands(number: Decimal) -> Printed:
    whole = fixed(number, 0)
    text, size = f"{whole:f}", whole
    for suffix in _SUFFIXES:
        text = f"{fixed(size, 0):f}{suffix}"
        if len(text) <= KEPT_CHARACTERS:
            break
        size = size.scaleb(-3, context=_EXACT)
    return Printed(text, whole)
