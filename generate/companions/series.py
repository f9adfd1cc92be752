"""Whole numbers with a given sum whose sums of squares lie in given ranges: a small exact search.

A series is sought near other series that are fixed already: the squares of its differences from
each of them are given as well. All moves add a step to one sample and take it from another, which
keeps the sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..numeric import F64, I64, bell, floor_int

_ROUNDS = 60
_BATCH_CELLS = 50_000
_NOTHING = 1e-6
_TAILS = (0, 1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class Nearness:
    """The sum of squares of (series - other) lies between least and most, both included."""

    other: I64
    least: int
    most: int


def find_series(
    total: int, goals: list[Nearness], least: I64, most: I64, rng: np.random.Generator
) -> I64 | None:
    """A series with that sum and those sums of squares, or None if the search did not find one.

    Args:
        total: sum of the series.
        goals: the first is about the series' own deviation: its `other` is constant.
        least, most: (count,), the range of each sample.
    """
    for tail in _TAILS:
        series = _start(total, goals, tail, least, most, rng)
        if (series >= least).all() and (series <= most).all():
            return _search(series, goals, least, most, rng)
    return None


def _start(
    total: int, goals: list[Nearness], tail: int, least: I64, most: I64, rng: np.random.Generator
) -> I64:
    """Samples that are right before they are rounded, but for their range.

    They are made of a part along each of the other series, as long as its nearness asks for, and
    of a random part at right angles to all of them.

    Args:
        tail: how far one sample stands out on the side where there is more room.
    """
    count, mean = len(least), total / len(least)
    fixed, remaining, directions = _along(goals, total)
    random = bell(rng, count)
    outward = -1.0 if float((most - mean).min()) < float((mean - least).min()) else 1.0
    random[rng.integers(count)] += outward * tail * 3
    free = _centred(random)
    for direction in directions:
        free = free - _dot(free, direction) * direction
    length = math.sqrt(_dot(free, free))
    scale = math.sqrt(max(remaining, 0.0)) / length if length > _NOTHING else 0.0
    whole: I64 = floor_int(mean + fixed + free * scale + 0.5)
    return _with_total(whole, total, rng)


def _along(goals: list[Nearness], total: int) -> tuple[F64, float, list[F64]]:
    """What the other series fix of a series.

    Returns:
        That part of its deviations from the mean; the sum of squares that is left for the rest;
        and directions, of length 1 and at right angles to each other, that the rest must not have.
    """
    own, *others = goals
    variation = _variation(own, total)
    fixed = np.zeros(len(own.other))
    directions: list[F64] = []
    for near in others:
        line = _centred(near.other.astype(np.float64))
        # |y - x|² = |y|² + |x|² - 2xy, all counted from their means.
        shared = (variation + _dot(line, line) - _variation(near, total)) / 2 - _dot(fixed, line)
        for direction in directions:
            line = line - _dot(line, direction) * direction
        length = math.sqrt(_dot(line, line))
        if length > _NOTHING:
            directions.append(line / length)
            fixed = fixed + (shared / length) * directions[-1]
    return fixed, variation - _dot(fixed, fixed), directions


def _with_total(series: I64, total: int, rng: np.random.Generator) -> I64:
    """The series with its sum put right, one unit here and there."""
    missing = total - int(series.sum())
    each, rest = divmod(abs(missing), len(series))
    shift: I64 = np.full(len(series), each, dtype=np.int64)
    shift[rng.permutation(len(series))[:rest]] += 1
    return series + shift if missing > 0 else series - shift


def _variation(near: Nearness, total: int) -> float:
    """Sum of squares about the mean that the middle of a range of sums of squares stands for."""
    count = len(near.other)
    excess = total - int(near.other.sum())
    return max((near.least + near.most) / 2 - excess * excess / count, 0.0)


def _centred(values: F64) -> F64:
    return values - math.fsum(values.tolist()) / len(values)


def _dot(left: F64, right: F64) -> float:
    # Not `@`, whose last bit depends on the processor.
    return math.fsum((left * right).tolist())


def _search(
    series: I64, goals: list[Nearness], least: I64, most: I64, rng: np.random.Generator
) -> I64 | None:
    """Step by step to where every sum of squares is right; None if that took too many steps."""
    if len(series) < 2:
        return series if _misses(series[None], goals)[0] == 0 else None
    widest = math.isqrt(max(near.most for near in goals) // len(series)) or 1
    steps = np.array([1 << k for k in range(widest.bit_length() + 1)], dtype=np.int64)
    for _ in range(_ROUNDS):
        miss = float(_misses(series[None], goals)[0])
        if miss == 0:
            return series
        best, at = _best_move(series[None], goals, least, most, steps)
        if best >= miss:
            # No single step helps: the best pair of steps, one of them at random.
            batch = max(1, _BATCH_CELLS // (len(steps) * len(series) ** 2))
            starts = _random_moves(series, least, most, steps, batch, rng)
            better, at_better = _best_move(starts, goals, least, most, steps)
            if better < miss:
                series, at = starts[at_better[0]], at_better
            else:
                series = starts[0]
                continue
        series = _moved(series, steps[at[1]], at[2], at[3])
    return None


def _best_move(
    batch: I64, goals: list[Nearness], least: I64, most: I64, steps: I64
) -> tuple[float, tuple[int, int, int, int]]:
    """The least miss that one step from any of the batch leads to, and (row, step, up, down)."""
    count = batch.shape[1]
    climb = steps[None, :, None, None]
    misses = np.zeros((len(batch), len(steps), count, count))
    for near in goals:
        gap = batch - near.other
        now = (gap * gap).sum(axis=1)[:, None, None, None]
        apart = (gap[:, :, None] - gap[:, None, :])[:, None]
        misses += _miss(now + 2 * climb * (apart + climb), near)
    up = batch[:, None, :] + steps[None, :, None] > most
    down = batch[:, None, :] - steps[None, :, None] < least
    misses[up[:, :, :, None] | down[:, :, None, :]] = np.inf
    misses[:, :, range(count), range(count)] = np.inf
    row, step, i, j = np.unravel_index(int(misses.argmin()), misses.shape)
    return float(misses[row, step, i, j]), (int(row), int(step), int(i), int(j))


def _misses(batch: I64, goals: list[Nearness]) -> F64:
    total = np.zeros(len(batch))
    for near in goals:
        gap = batch - near.other
        total += _miss((gap * gap).sum(axis=1), near)
    return total


def _miss(squares: I64, near: Nearness) -> F64:
    """How far sums of squares are from their range, in steps of a typical sample."""
    outside = np.maximum(near.least - squares, 0) + np.maximum(squares - near.most, 0)
    typical: F64 = outside / (1.0 + math.isqrt(near.most // len(near.other)))
    return typical


def _random_moves(
    series: I64, least: I64, most: I64, steps: I64, count: int, rng: np.random.Generator
) -> I64:
    """(count, samples): copies of the series, each one allowed step away where there is one."""
    step = steps[rng.integers(len(steps), size=count)]
    up = rng.integers(len(series), size=count)
    down = (up + rng.integers(1, len(series), size=count)) % len(series)
    rows = np.arange(count)
    moved = np.repeat(series[None], count, axis=0)
    moved[rows, up] += step
    moved[rows, down] -= step
    outside = ((moved < least) | (moved > most)).any(axis=1)
    moved[outside] = series
    return moved


def _moved(series: I64, step: int, up: int, down: int) -> I64:
    after = series.copy()
    after[up] += step
    after[down] -= step
    return after
