"""Statistics of series over time: whether two runs differ, and what chance explains.

Runs are compared by a t-test of their intervals, paired by time.

A rate of a run is a sum over a sum (pages over seconds), not a mean of its intervals. Its samples
are constructed so that their mean is exactly that quotient: R + (over - R under) / mean(under) for
R = sum(over) / sum(under), the linearised ratio (Cochran 1977, chapter 6).

Intervals of two runs are paired by their time into the run, so that a common trend (a ramp, the
hours of a day) cancels out and is not mistaken for autocorrelation. With the samples x and y of a
pair, the difference of the runs is D = mean(y - x), and its deviations are y - x - D s with
s = (x + y) / mean(x + y): those of the relative difference, so that a run that doubles every value
has no deviations, whatever its trend. Each is divided by 1 - s / n, as in the jackknife, because a
pair that holds much of the sum pulls D towards itself (Royall and Cumberland 1981).

Successive deviations are correlated, so n of them carry less information than n independent ones.
The effective number is estimated in two ways, and the more cautious estimate counts:

- With r, the lag-1 correlation, they count as n (1 - r) / (1 + r). The estimate of r is too small
  by about (1 + 4 r) / n (Marriott and Pope 1954) and uncertain by sqrt((1 - r^2) / n): its upper
  90 % confidence limit is used.
- If the correlation lasts longer than r implies, as for a slow wave under much noise, the slow part
  counts: its variance is the mean square of the projections on the first cube root of n cosines,
  whose number is the degrees of freedom (Lazarus, Lewis, Stock and Watson 2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SIGNIFICANT_P = 0.05
"""Significance level: a difference with a greater p value is not significant."""
FEWEST = 12
"""Fewest intervals for a test; with fewer the correlation cannot be estimated."""
POWER = 0.8
"""Statistical power: probability with which a change of the detectable size is found."""
_NORMAL_90 = 1.28
"""The 90 % quantile of the standard normal distribution."""
_MOST_CORRELATED = 0.99
EXACT = 1e-9
"""Relative tolerance: samples that differ by less are equal except for binary rounding."""


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The variance of a mean or of a difference of means, and its degrees of freedom."""

    variance: float
    freedom: float

    def quantile(self, share: float) -> float:
        """The error that is not exceeded with probability `share`."""
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, share)) * math.sqrt(self.variance)

    def p(self, gap: float) -> float:
        """The p value of a difference of that size: a two-sided t-test."""
        from scipy.special import stdtr

        return float(2 * stdtr(self.freedom, -abs(gap) / math.sqrt(self.variance)))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean of samples, with the uncertainties by lag-1 correlation and by the slow part.

    There are none if all samples are equal.
    """

    mean: float
    uncertainties: tuple[Uncertainty, ...]


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """A difference of two means, run minus base, with the uncertainties of an `Estimate`.

    `pairs` is the number of paired intervals, 0 if they are not paired.
    """

    gap: float
    pairs: int
    uncertainties: tuple[Uncertainty, ...]

    @property
    def p(self) -> float:
        """The p value of the difference, 0..1.

        For values that never vary: 1 if they are equal, else 0.
        """
        return max((u.p(self.gap) for u in self.uncertainties), default=float(not self.gap))

    @property
    def freedom(self) -> float | None:
        """Degrees of freedom of the test with the greater p value."""
        if not self.uncertainties:
            return None
        return max(self.uncertainties, key=lambda u: u.p(self.gap)).freedom

    def bound(self) -> float:
        """Absolute value of the outer end of the 95 % confidence interval of the difference."""
        errors = (u.quantile(1 - SIGNIFICANT_P / 2) for u in self.uncertainties)
        return abs(self.gap) + max(errors, default=0.0)

    def detectable(self, level: float) -> float:
        """The smallest difference that such a comparison finds with probability POWER.

        Args:
            level: greatest significant p value.
        """
        sums = (u.quantile(1 - level / 2) + u.quantile(POWER) for u in self.uncertainties)
        return max(sums, default=0.0)


def ratio_samples(over: Array, under: Array) -> Array:
    """Samples whose mean is sum(over) / sum(under).

    All are (intervals,): NaN without a value, and everywhere if the divisor is 0.
    """
    missing = np.isnan(over) | np.isnan(under)
    over, under = np.where(missing, np.nan, over), np.where(missing, np.nan, under)
    divisor, count = np.nansum(under), np.count_nonzero(~missing)
    if not divisor:
        return np.full_like(over, np.nan)
    quotient = np.nansum(over) / divisor
    samples: Array = quotient + (over - quotient * under) / (divisor / count)
    return samples


def estimate(samples: Array) -> Estimate | None:
    """The mean of (intervals,) samples in order of time, NaN if unknown; None if all are."""
    values = samples[~np.isnan(samples)]
    if not values.size:
        return None
    mean = float(values.mean())
    same = np.ptp(values) <= EXACT * float(np.abs(values).max())
    return Estimate(mean, () if same else _uncertainties(samples - mean))


def lag_correlation(deviations: Array) -> Array:
    """Upper 90 % confidence limit of the lag-1 correlation, 0 or more.

    Args:
        deviations: (..., intervals) from the means of series; NaN for missing intervals.

    Returns:
        (...,) limits; 0 for a series without deviations.
    """
    counts = np.maximum(np.count_nonzero(~np.isnan(deviations), axis=-1), 1)
    squares = np.nansum(deviations**2, axis=-1)
    products = np.nansum(deviations[..., 1:] * deviations[..., :-1], axis=-1)
    raw = np.divide(products, squares, out=np.zeros_like(squares), where=squares > 0)
    r = raw + (1 + 4 * raw) / counts
    r = np.where(r > 0, r + _NORMAL_90 * np.sqrt(np.maximum(1 - r**2, 0) / counts), 0.0)
    limited: Array = np.clip(r, 0.0, _MOST_CORRELATED)
    return limited


def _variances(deviations: Array) -> tuple[Array, Array]:
    """The uncertainties of means, from the deviations of their samples.

    Args:
        deviations: (series, samples); NaN for missing samples.

    Returns:
        (2, series) variances and degrees of freedom, by lag-1 correlation and by the slow part.
    """
    known = ~np.isnan(deviations)
    values, counts = np.where(known, deviations, 0.0), np.maximum(known.sum(axis=1), 1)
    correlation = lag_correlation(deviations)
    effective = np.maximum(counts * (1 - correlation) / (1 + correlation), 2.0)
    cosines = np.maximum(2, np.rint(np.cbrt(counts)))
    phases = np.pi / counts[:, None] * (np.cumsum(known, axis=1) - 0.5)
    slow = np.zeros(len(values))
    for wave in range(1, int(cosines.max(initial=0)) + 1):
        weights = np.sqrt(2) * (np.cos(wave * phases) * values).sum(axis=1) / counts
        slow += np.where(wave <= cosines, weights**2, 0.0)
    # Corrects the bias: the mean square is too small by the variance of the mean.
    variance = (values**2).sum(axis=1) / counts / (effective - 1)
    return np.stack([variance, slow / cosines]), np.stack([effective - 1, cosines])


def _uncertainties(deviations: Array) -> tuple[Uncertainty, ...]:
    """The uncertainties of a mean, from the (samples,) deviations of its samples."""
    pairs = zip(*_variances(deviations[None]), strict=True)
    return tuple(Uncertainty(float(v[0]), float(freedom[0])) for v, freedom in pairs)


def paired_difference(base: Array, run: Array) -> MeanDifference:
    """The difference of two runs, (pairs,) samples each by time into the run; NaN if unknown."""
    pairs = int(np.count_nonzero(~np.isnan(run - base)))
    (gap,), deviations = _of_pairs(base[None], run[None])
    exact = not np.nan_to_num(deviations).any()
    return MeanDifference(float(gap), pairs, () if exact else _uncertainties(deviations[0]))


def _of_pairs(base: Array, run: Array) -> tuple[Array, Array]:
    """(series,) mean differences of (series, pairs) samples; deviations of the relative ones.

    Both are 0 where they are so but for binary rounding.
    """
    gaps, sums = run - base, run + base
    pairs = np.maximum(np.count_nonzero(~np.isnan(gaps), axis=1), 1)[:, None]
    gap, mean = (np.nanmean(side, axis=1)[:, None] for side in (gaps, sums))
    tolerance = EXACT * np.nanmax(np.abs(sums), axis=1)
    shape = np.divide(sums, mean, out=np.ones_like(sums), where=mean != 0)
    deviations = (gaps - gap * shape) / (1 - np.minimum(shape / pairs, 0.9))
    deviations -= np.nanmean(deviations, axis=1)[:, None]
    is_exact = np.nanmax(np.abs(deviations), axis=1) <= tolerance
    deviations = np.where(is_exact[:, None], deviations * 0, deviations)
    small = is_exact & (np.abs(gap[:, 0]) <= tolerance)
    return np.where(small, 0.0, gap[:, 0]), deviations


def p_of_pairs(base: Array, run: Array) -> Array:
    """The p values of many `paired_difference`s at once.

    Args:
        base, run: (series, pairs) samples; NaN if unknown.

    Returns:
        (series,) p values; NaN with fewer than FEWEST pairs.
    """
    from scipy.special import stdtr

    counts = np.count_nonzero(~np.isnan(run - base), axis=1)
    p = np.full(len(base), np.nan)
    many = counts >= FEWEST
    if not many.any():
        return p
    gap, deviations = _of_pairs(base[many], run[many])
    variances, freedom = _variances(deviations)
    with np.errstate(divide="ignore", invalid="ignore"):
        tested = 2 * stdtr(freedom, -np.abs(gap) / np.sqrt(variances)).max(axis=0)
    p[many] = np.where(np.nan_to_num(deviations).any(axis=1), tested, gap == 0)
    return p


def welch_difference(base: Estimate, run: Estimate) -> MeanDifference:
    """The difference of two runs whose intervals cannot be paired (Welch 1947)."""
    gap = run.mean - base.mean
    varying = [e.uncertainties for e in (base, run) if e.uncertainties]
    if not varying:
        same = abs(gap) <= EXACT * max(abs(run.mean), abs(base.mean))
        return MeanDifference(0.0 if same else gap, 0, ())
    uncertainties = []
    for terms in zip(*varying, strict=True):
        variance = sum(u.variance for u in terms)
        freedom = variance**2 / sum(u.variance**2 / u.freedom for u in terms)
        uncertainties.append(Uncertainty(variance, freedom))
    return MeanDifference(gap, 0, tuple(uncertainties))


def adjusted(chances: Sequence[float]) -> list[float]:
    """The p values adjusted for multiple tests (Benjamini and Hochberg 1995).

    Among the differences with an adjusted p of at most 5 %, at most 5 % are expected to be chance.
    Without the adjustment one in twenty of all metrics would appear significant.
    """
    # As scipy.stats.false_discovery_control; to import that takes a quarter of an `explain`.
    p = np.asarray(chances, dtype=float)
    order = np.argsort(p)[::-1]
    shares = p[order] * p.size / np.arange(p.size, 0, -1)
    p[order] = np.minimum.accumulate(np.minimum(shares, 1.0))
    return list(p.tolist())


def level(chance: float) -> int | None:
    """The confidence level in whole percent, at most 99; None if p exceeds 5 %."""
    return None if chance > SIGNIFICANT_P else min(99, math.floor(100 * (1 - chance)))
