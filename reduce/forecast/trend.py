"""Trend and weekly season of hourly values, and simulated days of their future.

The model is `value = level + slope * weeks + season[hour of the week] + residual`. Level, slope and
season are fitted by an M-estimator, with Huber's weights first and Tukey's biweight then, so that a
week of outage counts little (Huber and Ronchetti, Robust Statistics, 2009, chapter 7). Paths of the
future draw level and slope from their posterior under a flat prior (Gelman and others, Bayesian
Data Analysis, section 14.2) with the weekly means of the residuals as observations, and residuals
as whole past weeks (block bootstrap: Künsch, Annals of Statistics 17, 1989). Weeks that depend on
each other count as fewer. Bands and probabilities are shares of the paths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...core.errors import NothingToReportError
from ...core.text import counted

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DAY_HOURS, WEEK_HOURS, MONDAY = 24, 168, 72
"""Hours of a day and of a week; 1970-01-01 begins 72 hours after a Monday."""
FEWEST_WEEKS = 6
"""Fewest weeks of which at least half of the usual hours are known."""
FEWEST_OF_AN_HOUR = 3
"""Fewest values of an hour of the week; hours with fewer are not forecast."""
PATHS = 2000
ROTATIONS, SIGNIFICANT = 199, 0.01
"""Rotated weeks that a season is held against, and the share of them that may differ as much."""
HUBER, TUKEY, TO_SIGMA = 1.345, 4.685, 1.4826
"""Constants of the weights, and the factor from the median deviation to sigma."""
STEPS = 20
"""Steps of the fit with the weights of each kind."""
LEAST_WEIGHT = 1e-3
MOST_DEPENDENT = 0.8
"""Greatest correlation of successive weeks that the band assumes."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted trend with its season.

    Attributes:
        center: week that `level` is the value of, in weeks since the Monday before 1970.
        level, slope: of the trend, in the unit of the metric and per week.
        level_sd, slope_sd: their standard errors. freedom: degrees of freedom of these.
        season: (168,) deviation of each hour of the local week from Monday 00:00; NaN: unknown;
            all 0 if they differ by no more than their noise.
        blocks: (weeks, 168) residuals of the weeks that are mostly known.
    """

    center: float
    level: float
    slope: float
    level_sd: float
    slope_sd: float
    freedom: float
    season: Floats
    blocks: Floats


@dataclass(frozen=True, slots=True)
class Paths:
    """Simulated days.

    Attributes:
        first: first day, in days since 1970. hours: (days,) hours of each day that are forecast.
        mean, peak: (paths, days) mean and greatest hour of each day; NaN and -inf without hours.
        slopes: (paths,) slope of each, per week.
        capped: (days,) share of the paths in which some hour reached the greatest possible value.
    """

    first: int
    hours: Ints
    mean: Floats
    peak: Floats
    slopes: Floats
    capped: Floats


def fit_hours(hours: Ints, values: Floats, rng: np.random.Generator) -> Fit:
    """Fit trend and season.

    Args:
        hours: (n,) local hours since 1970, by their begin. values: (n,) without NaN.
        rng: fills unknown residuals of a week from other weeks.

    Raises:
        NothingToReportError: too few weeks are known.
    """
    group, week = (hours + MONDAY) % WEEK_HOURS, (hours + MONDAY) // WEEK_HOURS
    seen = np.bincount(group, minlength=WEEK_HOURS)
    use = seen[group] >= FEWEST_OF_AN_HOUR
    known = _mostly_known(week[use])
    if len(known) < FEWEST_WEEKS:
        raise NothingToReportError(
            "too few weeks of hours are kept for a forecast",
            code="forecast-weeks-too-few",
            expected=f"{FEWEST_WEEKS} weeks or more, each at least half of the fullest one",
            found=f"{counted(len(known), 'week')}, {counted(len(hours), 'hour')}",
            effect="nothing is forecast: no trend can be told from the week it is seen in",
            remedy="land and reduce the dumps of more weeks, or leave --since out",
        )
    group, week, weeks = group[use], week[use], (hours[use] + MONDAY) / WEEK_HOURS
    center = float(weeks.mean())
    slope, base, weight = _robust(group, weeks - center, values[use])
    residuals = values[use] - base[group] - slope * (weeks - center)
    enough = seen >= FEWEST_OF_AN_HOUR
    level = float(base[enough].mean())
    level_sd, slope_sd, freedom = _errors(week, residuals, weight, known)
    season = np.where(enough, base - level, np.nan)
    blocks = np.full((len(known), WEEK_HOURS), np.nan)
    row = np.searchsorted(known, week)
    mine = np.isin(week, known)
    blocks[row[mine], group[mine]] = residuals[mine]
    blocks, n = _filled(blocks, rng), len(known)
    if not _is_seasonal(blocks + np.nan_to_num(season)):
        blocks += np.nan_to_num(season)
        season = np.where(enough, 0.0, np.nan)
    # The fit takes two degrees of freedom from the weeks, and one from the weeks of each hour.
    off = blocks.mean(axis=1, keepdims=True)
    blocks = off * np.sqrt(n / (n - 2)) + (blocks - off) * np.sqrt(n / (n - 1))
    return Fit(center, level, slope, level_sd, slope_sd, freedom, season, blocks)


def _mostly_known(week: Ints) -> Ints:
    """The weeks with at least half of the hours of the fullest one."""
    weeks, counts = np.unique(week, return_counts=True)
    found: Ints = weeks[2 * counts >= counts.max(initial=0)]
    return found


def _robust(group: Ints, weeks: Floats, values: Floats) -> tuple[float, Floats, Floats]:
    """Slope, base of each hour of the week at week 0, and weight of each value."""
    weight, slope, base = np.ones(len(values)), 0.0, np.zeros(WEEK_HOURS)
    for step in range(2 * STEPS):
        size = np.maximum(np.bincount(group, weight, WEEK_HOURS), 1e-12)
        time, mean = (np.bincount(group, weight * x, WEEK_HOURS) / size for x in (weeks, values))
        apart, off = weeks - time[group], values - mean[group]
        slope = float((weight * apart * off).sum() / max((weight * apart**2).sum(), 1e-12))
        base = mean - slope * time
        size_of = np.abs(off - slope * apart)
        sigma = TO_SIGMA * float(np.median(size_of))
        if sigma == 0.0:
            break
        if step < STEPS:
            weight = np.minimum(1.0, HUBER * sigma / np.maximum(size_of, 1e-300))
        else:
            weight = (1 - np.minimum(size_of / (TUKEY * sigma), 1.0) ** 2) ** 2
            weight = np.maximum(weight, LEAST_WEIGHT)
    return slope, base, weight


def _errors(
    week: Ints, residuals: Floats, weight: Floats, known: Ints
) -> tuple[float, float, float]:
    """Standard errors of level and slope, and their degrees of freedom, from means of weeks.

    Weeks that depend on each other count as fewer; the correlation is corrected for its bias after
    a line is fitted.
    """
    row = np.searchsorted(known, week)
    mine = np.isin(week, known)
    counts = np.bincount(row[mine], minlength=len(known)) * weight[mine].mean()
    means = np.bincount(row[mine], (weight * residuals)[mine], len(known)) / counts
    n, x = len(known), known - known.mean()
    line = np.polynomial.polynomial.polyfit(x, means, 1)
    off = means - line[0] - line[1] * x
    total = float((off**2).sum())
    close = np.diff(known) == 1
    lag = float((off[1:] * off[:-1])[close].sum()) / total if total else 0.0
    lag = min(max((n * lag + 2) / max(n - 4, 1), 0.0), MOST_DEPENDENT) if n > 5 else 0.0
    inflation = (1 + lag) / (1 - lag)
    freedom = max(n / inflation - 2, 1.0)
    sigma = np.sqrt(total / (n - 2) * inflation)
    return float(sigma / np.sqrt(n)), float(sigma / np.sqrt((x**2).sum())), freedom


def _is_seasonal(weeks: Floats) -> bool:
    """Whether hours of the week differ by more than their noise.

    A permutation test: without a season, weeks that are rotated by any number of hours each differ
    as much in their mean, whatever successive hours have in common.

    Args:
        weeks: (weeks, 168) deviations from the trend.
    """
    weeks = weeks - weeks.mean(axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    shifts = rng.integers(WEEK_HOURS, size=(ROTATIONS, len(weeks), 1))
    places = (np.arange(WEEK_HOURS) + shifts) % WEEK_HOURS
    rotated = np.take_along_axis(np.broadcast_to(weeks, places.shape), places, axis=2)
    as_large = rotated.mean(axis=1).var(axis=1) >= weeks.mean(axis=0).var()
    return bool((1 + as_large.sum()) / (1 + ROTATIONS) <= SIGNIFICANT)


def _filled(blocks: Floats, rng: np.random.Generator) -> Floats:
    """Residuals with unknown ones drawn from other weeks of the same hour; 0 if there is none."""
    unknown_ones = np.isnan(blocks)
    order = np.argsort(unknown_ones, axis=0, kind="stable")  # the known ones first
    sorted_ones = np.take_along_axis(blocks, order, axis=0)
    counts = (~unknown_ones).sum(axis=0)
    drawn = (rng.random(blocks.shape) * counts).astype(np.int64)
    others = np.take_along_axis(sorted_ones, drawn, axis=0)
    return np.nan_to_num(np.where(unknown_ones, others, blocks))


def simulate(
    fit: Fit,
    first: int,
    days: int,
    rng: np.random.Generator,
    low: float | None = None,
    high: float | None = None,
) -> Paths:
    """Simulate days of the future.

    Args:
        first: the first day, in days since 1970.
        low, high: limits of the metric; values beyond are set to them.
    """
    chi = rng.chisquare(fit.freedom, PATHS) / fit.freedom
    level, slope = (
        mean + sd * rng.standard_normal(PATHS) / np.sqrt(chi)
        for mean, sd in ((fit.level, fit.level_sd), (fit.slope, fit.slope_sd))
    )
    known = np.isfinite(fit.season).reshape(7, DAY_HOURS)
    begin = (first * DAY_HOURS + MONDAY) // WEEK_HOURS
    lead = (first * DAY_HOURS + MONDAY) % WEEK_HOURS // DAY_HOURS  # days of that week before
    weeks = -(-(lead + days) // 7)
    mean, peak = np.empty((2, PATHS, weeks * 7))
    capped = np.empty(weeks * 7)
    clock = np.arange(WEEK_HOURS) / WEEK_HOURS
    for number in range(weeks):
        at = begin + number + clock - fit.center
        noise = fit.blocks[rng.integers(len(fit.blocks), size=PATHS)]
        values = level[:, None] + slope[:, None] * at + np.nan_to_num(fit.season) + noise
        over = values >= high if high is not None else np.zeros(values.shape, bool)
        values = np.clip(values, low, high).reshape(PATHS, 7, DAY_HOURS)
        part = slice(number * 7, number * 7 + 7)
        with np.errstate(invalid="ignore"):
            mean[:, part] = np.where(known, values, 0).sum(axis=2) / known.sum(axis=1)
        peak[:, part] = np.where(known, values, -np.inf).max(axis=2)
        capped[part] = (over.reshape(values.shape) & known).any(axis=2).mean(axis=0)
    hours = np.tile(known.sum(axis=1), weeks)
    shown = slice(lead, lead + days)
    return Paths(first, hours[shown], mean[:, shown], peak[:, shown], slope, capped[shown])
