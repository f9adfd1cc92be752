"""Means of the intervals of a run, and how sure a difference of two of them is.

A rate of a run is a sum over a sum (pages over seconds), not a mean of its intervals. Its samples
are therefore made so that their mean is exactly that quotient: R + (over - R under) / mean(under)
for R = sum(over) / sum(under), the linearised ratio. Long intervals then count for more, and their
scatter is that of the quotient.

Successive intervals resemble each other, so n of them say less than n independent samples would.
With r, the correlation of each with the next, they count as n (1 - r) / (1 + r). A mean that was
taken from the same samples makes r come out too small by about (1 + 4 r) / n, which is added
back (Marriott and Pope 1954); without that, every fifth comparison of correlated noise (r = 0.8)
by ten intervals would look like a change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .samples import SIGNIFICANT_P

Array = npt.NDArray[np.float64]

FEWEST = 8
"""Below so many intervals their correlation cannot be told, and nothing follows from them."""
_MOST_CORRELATED = 0.99
_LEAST_EFFECTIVE = 2.0
_EXACT = 1e-9
"""Samples that differ by no more than this part of them are the same but for binary noise."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean of intervals and its uncertainty.

    Attributes:
        mean: of the samples, in their unit.
        variance: of this mean, in their unit squared; 0 where all samples are the same.
        samples: how many intervals there are.
        effective: as how many independent ones they count.
    """

    mean: float
    variance: float
    samples: int
    effective: float


def ratio_samples(over: Array, under: Array) -> Array:
    """Samples whose mean is sum(over) / sum(under).

    Args:
        over, under: (intervals,); NaN where the interval has no value.

    Returns:
        (intervals,); NaN where either was, and everywhere if the divisor is 0.
    """
    missing = np.isnan(over) | np.isnan(under)
    over, under = np.where(missing, np.nan, over), np.where(missing, np.nan, under)
    divisor, count = np.nansum(under), np.count_nonzero(~missing)
    if not divisor:
        return np.full_like(over, np.nan)
    quotient = np.nansum(over) / divisor
    made: Array = quotient + (over - quotient * under) / (divisor / count)
    return made


def estimate(values: Array) -> Estimate | None:
    """The mean of the intervals of a steady state; None without any.

    Args:
        values: (intervals,), in order of time; NaN where an interval has none.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    mean, count = float(known.mean()), int(known.size)
    if np.ptp(known) <= _EXACT * float(np.abs(known).max()):
        return Estimate(mean, 0.0, count, float(count))
    rest = values - mean
    squares = float(np.nansum(rest**2))
    effective = _effective(rest, squares / count, count)
    # The mean of the squares is too small by the variance of the mean itself.
    return Estimate(mean, squares / count / (effective - 1), count, effective)


def _effective(rest: Array, variance: float, count: int) -> float:
    """As how many independent samples these deviations from their mean count."""
    products = rest[1:] * rest[:-1]
    pairs = products[~np.isnan(products)]
    raw = float(pairs.sum()) / count / variance
    correlation = min(max(raw + (1 + 4 * raw) / count, 0.0), _MOST_CORRELATED)
    return max(count * (1 - correlation) / (1 + correlation), _LEAST_EFFECTIVE)


def difference_p(these: Estimate, those: Estimate) -> float:
    """How often chance alone would show such a difference of means, 0..1.

    Two-sided t-test by Welch, with the effective numbers of samples. Of two values that never
    vary: 1 if they are the same, else 0.
    """
    gap, variance = these.mean - those.mean, these.variance + those.variance
    if not variance:
        return 1.0 if abs(gap) <= _EXACT * max(abs(these.mean), abs(those.mean)) else 0.0
    from scipy.special import stdtr

    spread = sum(e.variance**2 / (e.effective - 1) for e in (these, those))
    return float(2 * stdtr(variance**2 / spread, -abs(gap) / math.sqrt(variance)))


def adjusted(chances: Sequence[float]) -> list[float]:
    """The same p values, made larger for how many they are (Benjamini and Hochberg 1995).

    Of the differences whose adjusted p is at most 5 %, 5 % at most are expected to be chance;
    with so many metrics to look at, one in twenty would be otherwise.
    """
    if not chances:
        return []
    given = np.asarray(chances, dtype=float)
    order = np.argsort(given)[::-1]
    shares = given[order] * given.size / np.arange(given.size, 0, -1)
    made = np.empty_like(given)
    made[order] = np.minimum.accumulate(np.minimum(shares, 1.0))
    found: list[float] = made.tolist()
    return found


def level(chance: float) -> int | None:
    """The confidence level in whole percent, at most 99; None where p is above 5 %."""
    return None if chance > SIGNIFICANT_P else min(99, math.floor(100 * (1 - chance)))
