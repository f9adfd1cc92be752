"""Statistics of departures: which series of a span lie outside of what was usual before.

Many series are judged at once, as arrays of (series, intervals), NaN where an interval has no
value. A series without a value of zero or below is judged by its logarithm, because the noise of
rates and utilizations grows with their size.

With FEWEST intervals of baseline or more, the usual value is their median and the spread the
greater of two robust estimates: 1.4826 times the median absolute deviation (Rousseeuw and Croux
1993), and the distance of the 5 % and 95 % quantiles over 3.29, which also sees bursts. A course of
the day is followed by a line through the medians of the first and the second half (Brown and Mood
1951), with the uncertainty of its prolongation; what a parabola through the medians of three thirds
would leave it by does not count as departure. The mean of the span has left its range only if that
of no stretch of the baseline as long as the span was as far out, by itself and from the line.

With fewer intervals nothing is proven, as in the comparison of runs. A series with values in less
than SERIES of the intervals of the baseline is none: what it does there is an event.

As in the comparison of runs, successive intervals count as n (1 - r) / (1 + r) for their lag-1
correlation r, of which the upper 90 % confidence limit is used (`statistics.py`). Where baseline
and span have the same course, as weeks and runs, their intervals are paired by time, and the test
is that of the comparison of runs.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..statistics import EXACT, FEWEST, Array, lag_correlation, p_of_pairs

Mask = npt.NDArray[np.bool_]

LEAST = 2
"""Fewest intervals of a baseline."""
SERIES = 0.25
"""Least share of the intervals of a baseline in which a series has a value."""
_TO_DEVIATION = 1.4826
_WIDTH = 3.29
"""Distance of the 5 % and 95 % quantiles of the standard normal distribution."""
_MEDIAN = np.pi / 2
"""Variance of a median over that of a mean."""


@dataclass(frozen=True, slots=True)
class Departures:
    """The span of each series against its baseline; all arrays are (series,).

    Attributes:
        usual, low, high: median, least and greatest value of the baseline.
        value: mean of the span.
        score: the departure in standard errors; infinite if the baseline never varied.
        p: its p value, two-sided; NaN if it cannot be tested.
        outside: whether the span lies outside of the range of the baseline.
        intervals: intervals of the baseline with a value.
    """

    usual: Array
    low: Array
    high: Array
    value: Array
    score: Array
    p: Array
    outside: Mask
    intervals: Array


def departures(
    base: Array,
    span: Array,
    times: tuple[Array, Array],
    *,
    trend: bool = False,
    shift: float | None = None,
) -> Departures:
    """Judge the spans of many series.

    Args:
        base, span: (series, intervals), in order of time.
        times: seconds of the intervals of base and span.
        trend: the baseline is followed by the span, so that a course of the day goes on.
        shift: seconds from an interval of the baseline to that of the span that it is paired with.
    """
    from scipy.special import stdtr

    counts = np.count_nonzero(~np.isnan(base), axis=1).astype(float)
    lengths = np.count_nonzero(~np.isnan(span), axis=1).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # series without values yield NaN
        if base.shape[1] < FEWEST or shift is not None:
            return _means(base, span, times, shift)
        is_positive = (np.nanmin(base, axis=1) > 0) & (np.nanmin(span, axis=1) > 0)
        before, after = (np.where(is_positive[:, None], np.log(s), s) for s in (base, span))
        gap, error, freedom, outside = _robust(before, after, times, trend=trend)
        size = np.nanmax(np.abs(np.concatenate([before, after], axis=1)), axis=1)
        gap = np.where(np.abs(gap) <= EXACT * size, 0.0, gap)
        score = np.where(gap == 0, 0.0, gap / error)
        p = 2 * stdtr(freedom, -np.abs(score))
        # What never varied in n intervals may do so in the next with probability 1 / (n + 1).
        p = np.where(np.isinf(score), (counts + 1) ** -np.maximum(lengths, 1), p)
        return Departures(
            _medians(base),
            np.nanmin(base, axis=1),
            np.nanmax(base, axis=1),
            np.nanmean(span, axis=1),
            score,
            np.where((counts >= SERIES * base.shape[1]) & (lengths >= 1), p, np.nan),
            outside & (gap != 0),
            counts,
        )


def _means(base: Array, span: Array, times: tuple[Array, Array], shift: float | None) -> Departures:
    """Both times; tested if there are enough pairs of intervals."""
    usual = _medians(base) if shift is None else np.nanmean(base, axis=1)
    value = np.nanmean(span, axis=1)
    low, high = np.nanmin(base, axis=1), np.nanmax(base, axis=1)
    counts = np.count_nonzero(~np.isnan(base), axis=1).astype(float)
    p = np.full(len(base), np.nan)
    outside = (value > high) | (value < low)
    if shift is not None:
        p = p_of_pairs(*_paired(base, span, times, shift))
        p[counts < SERIES * base.shape[1]] = np.nan
        outside = value != usual
    return Departures(usual, low, high, value, np.full(len(base), np.nan), p, outside, counts)


def _paired(
    base: Array, span: Array, times: tuple[Array, Array], shift: float
) -> tuple[Array, Array]:
    """(series, pairs) values of base and span by the time that they share; NaN without a value."""
    length = max(float(np.median(np.diff(t))) if t.size > 1 else 1.0 for t in times)
    starts = times[0] + shift, times[1]
    first = min(float(t.min()) for t in starts)
    places = [np.floor((t - first) / length + 0.5).astype(int) for t in starts]
    grids = []
    for values, place in zip((base, span), places, strict=True):
        grid = np.full((len(values), 1 + max(int(p.max()) for p in places)), np.nan)
        grid[:, place] = values
        grids.append(grid)
    return grids[0], grids[1]


def _robust(
    base: Array, span: Array, times: tuple[Array, Array], *, trend: bool
) -> tuple[Array, Array, Array, Mask]:
    """Gap, standard error and freedom of the span's mean from the line of the baseline."""
    counts = np.maximum(np.count_nonzero(~np.isnan(base), axis=1), 1).astype(float)
    lengths = np.maximum(np.count_nonzero(~np.isnan(span), axis=1), 1).astype(float)
    slope = _slope(base, times[0]) if trend else np.zeros(len(base))
    middle = (times[0][0] + times[0][-1]) / 2
    straight = base - slope[:, None] * (times[0] - middle)
    centre = _medians(straight)
    residuals = straight - centre[:, None]
    ahead = np.nanmean(span - slope[:, None] * (times[1] - middle), axis=1) - centre
    spread = _spread(residuals)
    correlation = lag_correlation(residuals)
    share = (1 - correlation) / (1 + correlation)
    effective = np.maximum(counts * share, 2)
    variance = 1 / np.maximum(lengths * share, 1) + _MEDIAN / effective
    if trend:
        reach = (times[1].mean() - middle) / (times[0][-1] - times[0][0])
        variance += _MEDIAN * 16 * reach**2 / effective
        bend = _bend(straight, reach)
        ahead = np.sign(ahead) * np.maximum(np.abs(ahead) - bend, 0.0)
    freedom = np.maximum(effective - (2 if trend else 1), 1)
    outside = np.ones(len(base), dtype=bool)
    for mean, series in ((ahead, residuals), (np.nanmean(span, axis=1), base)):
        stretches = _moving_means(series, span.shape[1])
        outside &= (mean > np.nanmax(stretches, axis=1)) | (mean < np.nanmin(stretches, axis=1))
    return ahead, spread * np.sqrt(variance), freedom, outside


def _medians(values: Array) -> Array:
    return quantiles(values, 0.5)


def quantiles(values: Array, share: float) -> Array:
    """Quantile of each series without its gaps, NaN without values.

    Those of `np.nanquantile`, which goes series by series.
    """
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    ordered = np.sort(values, axis=1)  # gaps last
    counts, rows = np.count_nonzero(~np.isnan(values), axis=1), np.arange(len(values))
    place = share * np.maximum(counts - 1, 0)
    low, high = (ordered[rows, at.astype(int)] for at in (np.floor(place), np.ceil(place)))
    result: Array = low + (high - low) * (place % 1)
    return result


def _slope(base: Array, times: Array) -> Array:
    """Slope of the line through the medians of both halves; 0 where one half has no value."""
    half = base.shape[1] // 2
    rise = _medians(base[:, half:]) - _medians(base[:, :half])
    slope: Array = np.nan_to_num(rise / (np.median(times[half:]) - np.median(times[:half])))
    return slope


def _bend(straight: Array, reach: float) -> Array:
    """How far a parabola through the medians of three thirds leaves the line at a point.

    Args:
        reach: distance of the point from the middle, as a part of the length of the baseline.
    """
    thirds = [_medians(part) for part in np.array_split(straight, 3, axis=1)]
    second = np.abs(thirds[0] - 2 * thirds[1] + thirds[2])
    bend: Array = np.nan_to_num(4.5 * second * (reach**2 - 1 / 12))
    return bend


def _spread(residuals: Array) -> Array:
    """Robust standard deviation of each series."""
    deviation = _TO_DEVIATION * _medians(np.abs(residuals))
    low, high = (quantiles(residuals, share) for share in (0.05, 0.95))
    spread = np.maximum(deviation, (high - low) / _WIDTH)
    # A series that hardly ever varies has quantiles of 0: its few values count in full.
    spread = np.where(spread > 0, spread, np.nanstd(residuals, axis=1))
    size = np.nanmax(np.abs(residuals), axis=1)
    tolerated: Array = np.where(size <= EXACT, 0.0, spread)
    return tolerated


def _moving_means(residuals: Array, length: int) -> Array:
    """Means of all stretches of `length` intervals; of all intervals if there is none."""
    length = min(length, residuals.shape[1])
    known = ~np.isnan(residuals)
    sums = np.cumsum(np.pad(np.where(known, residuals, 0.0), ((0, 0), (1, 0))), axis=1)
    counts = np.cumsum(np.pad(known, ((0, 0), (1, 0))), axis=1)
    means: Array = (sums[:, length:] - sums[:, :-length]) / (
        counts[:, length:] - counts[:, :-length]
    )
    return means
