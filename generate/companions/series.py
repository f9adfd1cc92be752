"""Whole numbers with a given sum whose sums of squares lie in given ranges: a small exact search.

The search also meets given sums of squares of the differences from other, fixed series. Every move
adds a step to one sample and subtracts it from another, which keeps the sum.
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
    """A goal: the sum of squares of (series - other) is in [least, most]."""

    other: I64
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Search:
    """The search for one series.

    Attributes:
        total: sum of the series.
        goals: the first one has a constant `other`, which makes it the series' own deviation.
        least, most: (samples,), the range of each.
    """

    total: int
    goals: list[Nearness]
    least: I64
    most: I64
    rng: np.random.Generator

    def run(self) -> I64 | None:
        """A series with the total that meets all goals, or None."""
        for tail in _TAILS:
            series = self._start(tail)
            if (series >= self.least).all() and (series <= self.most).all():
                return self._improved(series)
        return None

    def _start(self, tail: int) -> I64:
        """Samples that meet the goals before they are rounded and limited to their range.

        They have a component along each of the other series, of the length that its goal needs,
        and a random component orthogonal to all of them.

        Args:
            tail: how far one sample stands out on the side where there is more room.
        """
        count, mean = len(self.least), self.total / len(self.least)
        fixed, remaining, directions = _along(self.goals, self.total)
        random = bell(self.rng, count)
        is_low = float((self.most - mean).min()) < float((mean - self.least).min())
        random[self.rng.integers(count)] += (-1.0 if is_low else 1.0) * tail * 3
        free = _centred(random)
        for direction in directions:
            free = free - _dot(free, direction) * direction
        length = math.sqrt(_dot(free, free))
        scale = math.sqrt(max(remaining, 0.0)) / length if length > _NOTHING else 0.0
        whole: I64 = floor_int(mean + fixed + free * scale + 0.5)
        return _with_total(whole, self.total, self.rng)

    def _improved(self, series: I64) -> I64 | None:
        """Moves step by step until all goals are met; None after too many steps."""
        if len(series) < 2:
            return series if self._misses(series[None])[0] == 0 else None
        widest = math.isqrt(max(near.most for near in self.goals) // len(series)) or 1
        steps = np.array([1 << k for k in range(widest.bit_length() + 1)], dtype=np.int64)
        batch = max(1, _BATCH_CELLS // (len(steps) * len(series) ** 2))
        for _ in range(_ROUNDS):
            miss = float(self._misses(series[None])[0])
            if miss == 0:
                return series
            best, after = self._best_move(series[None], steps)
            if best >= miss:
                # No single step helps: take the best pair of steps, of which one is random.
                starts = self._random_moves(series, steps, batch)
                best, after = self._best_move(starts, steps)
                if best >= miss:
                    after = starts[0]
            series = after
        return None

    def _best_move(self, batch: I64, steps: I64) -> tuple[float, I64]:
        """The smallest miss after one step from any series of the batch, and that series."""
        count = batch.shape[1]
        climb = steps[None, :, None, None]
        misses = np.zeros((len(batch), len(steps), count, count))
        for near in self.goals:
            gap = batch - near.other
            now = (gap * gap).sum(axis=1)[:, None, None, None]
            apart = (gap[:, :, None] - gap[:, None, :])[:, None]
            misses += _miss(now + 2 * climb * (apart + climb), near)
        up = batch[:, None, :] + steps[None, :, None] > self.most
        down = batch[:, None, :] - steps[None, :, None] < self.least
        misses[up[:, :, :, None] | down[:, :, None, :]] = np.inf
        misses[:, :, range(count), range(count)] = np.inf
        row, step, i, j = np.unravel_index(int(misses.argmin()), misses.shape)
        after = batch[row].copy()
        after[i] += steps[step]
        after[j] -= steps[step]
        return float(misses[row, step, i, j]), after

    def _random_moves(self, series: I64, steps: I64, count: int) -> I64:
        """(count, samples): copies of the series, each after a random allowed step, if any."""
        step = steps[self.rng.integers(len(steps), size=count)]
        up = self.rng.integers(len(series), size=count)
        down = (up + self.rng.integers(1, len(series), size=count)) % len(series)
        rows = np.arange(count)
        moved = np.repeat(series[None], count, axis=0)
        moved[rows, up] += step
        moved[rows, down] -= step
        moved[((moved < self.least) | (moved > self.most)).any(axis=1)] = series
        return moved

    def _misses(self, batch: I64) -> F64:
        """(series,) sum of the misses of all goals for each series of a batch."""
        total = np.zeros(len(batch))
        for near in self.goals:
            gap = batch - near.other
            total += _miss((gap * gap).sum(axis=1), near)
        return total


def _along(goals: list[Nearness], total: int) -> tuple[F64, float, list[F64]]:
    """The component of a series that the other series determine.

    Returns:
        That component, as deviations from the mean; the sum of squares that remains for the rest;
        and the orthonormal directions to which the rest must be orthogonal.
    """
    own, *others = goals
    variation = _variation(own, total)
    fixed = np.zeros(len(own.other))
    directions: list[F64] = []
    for near in others:
        line = _centred(near.other.astype(np.float64))
        # |y - x|² = |y|² + |x|² - 2xy, for deviations from the means.
        shared = (variation + _dot(line, line) - _variation(near, total)) / 2 - _dot(fixed, line)
        for direction in directions:
            line = line - _dot(line, direction) * direction
        length = math.sqrt(_dot(line, line))
        if length > _NOTHING:
            directions.append(line / length)
            fixed = fixed + (shared / length) * directions[-1]
    return fixed, variation - _dot(fixed, fixed), directions


def _with_total(series: I64, total: int, rng: np.random.Generator) -> I64:
    """The series with its sum corrected by single units at random places."""
    missing = total - int(series.sum())
    each, rest = divmod(abs(missing), len(series))
    shift: I64 = np.full(len(series), each, dtype=np.int64)
    shift[rng.permutation(len(series))[:rest]] += 1
    return series + shift if missing > 0 else series - shift


def _variation(near: Nearness, total: int) -> float:
    """Sum of squares about the mean, for the middle of the goal's range."""
    count = len(near.other)
    excess = total - int(near.other.sum())
    return max((near.least + near.most) / 2 - excess * excess / count, 0.0)


def _centred(values: F64) -> F64:
    return values - math.fsum(values.tolist()) / len(values)


def _dot(left: F64, right: F64) -> float:
    # Not `@`, whose last bit depends on the processor.
    return math.fsum((left * right).tolist())


def _miss(squares: I64, near: Nearness) -> F64:
    """Distance of sums of squares from their range, in steps of a typical sample."""
    outside = np.maximum(near.least - squares, 0) + np.maximum(squares - near.most, 0)
    typical: F64 = outside / (1.0 + math.isqrt(near.most // len(near.other)))
    return typical
