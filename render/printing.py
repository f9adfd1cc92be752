"""The print rules of the published tables: decimal, half up, and ratios of printed values.

Differences, sums and ratios in a table are computed from the printed value, `Printed.value`, never
from the original float: the ratio of 0.003 and 0.002 is 1.500.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from enum import StrEnum

Number = int | float | Decimal

SIGNIFICANT = 12
"""Significant digits of a float; further digits are rounding errors."""
RATIO_DIGITS = 3
KEPT_CHARACTERS = 5

_EXACT = Context(prec=400)
"""Precision that is sufficient for all digits of any float."""
_CLEAN = Context(prec=SIGNIFICANT, rounding=ROUND_HALF_EVEN)


class Style(StrEnum):
    """How the values of a column are printed."""

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
    """A printed cell.

    `value` is the operand of later arithmetic: the printed number, or the full integer of an
    abbreviated one. It is None without a number: then `text` is a dash, or empty with `reason`.
    """

    text: str
    value: Decimal | None
    reason: str = ""


DASH = Printed("-", None)


def blank(reason: str) -> Printed:
    """An empty cell with a reason."""
    return Printed("", None, reason)


def exact(value: Number) -> Decimal:
    """Convert to the intended decimal number.

    A float is rounded to 12 significant digits, so that a sum of 1.48749999999999 that should be
    1.4875 is still a tie. Integers and decimals are not changed.
    """
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int):
        return Decimal(value)
    return _CLEAN.create_decimal(repr(float(value)))


def fixed(value: Decimal, digits: int) -> Decimal:
    """Rounded half up to a number of decimals; never a negative zero."""
    rounded = value.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP, context=_EXACT)
    return abs(rounded) if rounded.is_zero() else rounded


def show(value: Number | None, form: Format, *, scale: Number = 1, reason: str = "") -> Printed:
    """Print a value multiplied by `scale` in the format of its column.

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
    """Rounded half up to significant digits, but not to less than whole numbers."""
    if value.is_zero():
        return Decimal(0)
    places = max(0, digits - 1 - value.adjusted())
    rounded = fixed(value, places)
    if places and rounded.adjusted() > value.adjusted():
        return fixed(value, places - 1)
    return rounded


def ratio(value: Printed, base: Printed) -> Printed:
    """Printed value / printed base with three decimals; a dash if the printed base is zero."""
    if value.value is None or base.value is None:
        return blank(value.reason or base.reason)
    if base.value.is_zero():
        return DASH
    quotient = _EXACT.divide(value.value, base.value)
    return _plain(fixed(quotient, RATIO_DIGITS))


def percent(value: Printed, base: Printed, shown: Callable[[Decimal], Printed]) -> Printed:
    """Difference of a value from its base in percent of the base, from the printed values.

    A dash if the printed base is zero, a blank if one of them has no number.

    Args:
        shown: prints the unrounded percentage.
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
    text, whole = "", fixed(number, 0)
    size = whole
    for suffix in ("", "k", "M", "G", "T"):
        text = f"{fixed(size, 0):f}{suffix}"
        if len(text) <= KEPT_CHARACTERS:
            break
        size = size.scaleb(-3, context=_EXACT)
    return Printed(text, whole)
