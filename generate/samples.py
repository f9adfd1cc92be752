"""Samples that have the printed figures of a scenario; the same seed gives the same samples.

A series has whole numbers with a given sum, whose sums of squares lie in given ranges, also those
of the differences from other, fixed series. The search starts from random numbers; every move adds
a step to one sample and subtracts it from another, which keeps the sum.

The rate of each pair of samples is (KB of one - KB of the other) / (its seconds - the other's),
from rates that are whole numbers. A difference of two times amplifies every unit, so a mean and a
deviation of such rates that match the printed digits need a search: it forms pairs, then varies two
halves of the samples without changing either run's figures, and chooses two variants whose rates
add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..core.errors import CpmonError
from .numeric import F64, I64, Bool, bell, floor_int, random_stream
from .scenario.repetitions import (
    CLOCK_CS,
    RATES,
    SCORES,
    Difference,
    Repetitions,
    Samples,
    printed_places,
)

_HOPELESS, _FAR = 20, 0.01
"""The search fails if after so many splits the rates are farther from the goal than this share."""
_RADIUS = 9
"""Largest change of a sample in a variant."""
_CANDIDATES = 2_000_000
"""Pairs of variants that are compared at once."""


class _PairedRates(NamedTuple):
    """Goal of the search: ranges of mean and deviation (divisor N) of all rates, KB/s.

    `kb_of`, `kb_less`: KB moved in each sample of the run, and of the run taken away.
    """

    kb_of: int
    kb_less: int
    mean: tuple[float, float]
    deviation: tuple[float, float]

    def sums(self, pairs: I64) -> tuple[F64, F64]:
        """Sums of the rates and of their squares, KB/s, of (..., 2, samples) rates of both runs.

        A pair without a time difference has the rate 1e12.
        """
        seconds = self.kb_of / pairs[..., 0, :] - self.kb_less / pairs[..., 1, :]
        rates = (self.kb_of - self.kb_less) / np.maximum(seconds, 1e-6)
        return rates.sum(axis=-1), (rates * rates).sum(axis=-1)

    def is_met(self, total: F64, squares: F64, count: int) -> Bool:
        mean = total / count
        variance = squares / count - mean * mean
        low, high = self.deviation
        centred: Bool = (mean > self.mean[0]) & (mean < self.mean[1])
        return centred & (variance > low * low) & (variance < high * high)

    def distance(self, pairs: I64) -> F64:
        """(rows,) distance of (rows, 2, samples) from mean and deviation, as shares of them."""
        total, squares = self.sums(pairs)
        count = pairs.shape[-1]
        mean = sum(self.mean) / 2
        power = mean * mean + (sum(self.deviation) / 2) ** 2
        distance: F64 = np.abs(total / (count * mean) - 1) + np.abs(squares / (count * power) - 1)
        return distance


def _pair_rates(goal: _PairedRates, of: I64, less: I64, rng: np.random.Generator) -> I64 | None:
    """(2, samples) of two runs, paired and slightly changed to meet the goal; None if none do.

    Sum and sum of squares of each run stay the same.
    """
    pair = _paired(goal, of, less, rng)
    count = len(of)
    middle = min(5, count // 2)
    for split in range(150):
        if goal.is_met(*goal.sums(pair), count):
            return pair
        if middle < 2 or (split == _HOPELESS and goal.distance(pair[None])[0] > _FAR):
            return None
        order = rng.permutation(count)
        halves = order[:middle], order[middle : 2 * middle]
        variants = [_variants(pair[:, half]) for half in halves]
        picks = _both(goal, pair[:, np.sort(order[2 * middle :])], variants, count)
        if picks is None:
            # Continue from a random one of those about as near to the goal.
            picks = rng.integers([[len(each)] for each in variants], size=(2, 2000))
        tried = np.repeat(pair[None], picks.shape[1], axis=0)
        for half, each, rows in zip(halves, variants, picks, strict=True):
            tried[:, :, half] = each[rows]
        pair = tried[int(goal.distance(tried).argmin())]
    return None


def _paired(goal: _PairedRates, of: I64, less: I64, rng: np.random.Generator) -> I64:
    """(2, samples): the samples of two runs, paired so that the goal is nearly met."""
    count = len(of)
    up, down = np.triu_indices(count, 1)
    pair = np.stack([of[rng.permutation(count)], less])
    for _ in range(200):
        once = _swapped(pair[None], up, down)
        both = np.concatenate([once, _swapped(once, up, down)])
        distances = goal.distance(both)
        best = int(distances.argmin())
        if distances[best] >= goal.distance(pair[None])[0]:
            break
        pair = both[best]
    return pair


def _swapped(pairs: I64, up: I64, down: I64) -> I64:
    """(pairs * swaps, 2, samples): of each pair two of the first run's samples are exchanged."""
    rows, each = np.repeat(pairs, len(up), axis=0), np.arange(len(pairs) * len(up))
    up, down = np.tile(up, len(pairs)), np.tile(down, len(pairs))
    rows[each, 0, up], rows[each, 0, down] = rows[each, 0, down], rows[each, 0, up]
    return rows


def _both(goal: _PairedRates, rest: I64, variants: list[I64], count: int) -> I64 | None:
    """(2, 1): a variant of each half that meet the goal with the rest of all samples, or None."""
    fixed_total, fixed_squares = goal.sums(rest)
    (total_a, squares_a), (total_b, squares_b) = map(goal.sums, variants)
    order = np.argsort(total_b, kind="stable")
    needed = [count * mean - fixed_total - total_a for mean in goal.mean]
    begin, end = (np.searchsorted(total_b[order], edge) for edge in needed)
    for rows, partners in _candidates(begin, end):
        others = order[partners]
        met = goal.is_met(
            fixed_total + total_a[rows] + total_b[others],
            fixed_squares + squares_a[rows] + squares_b[others],
            count,
        )
        if met.any():
            at = int(met.argmax())
            return np.array([[rows[at]], [others[at]]])
    return None


def _candidates(begin: I64, end: I64) -> Iterator[tuple[I64, I64]]:
    """Row numbers and, for each row, the numbers from begin to end, in bounded batches."""
    counts = np.maximum(end - begin, 0)
    climbing = np.cumsum(counts)
    edges = np.searchsorted(climbing, np.arange(_CANDIDATES, climbing[-1], _CANDIDATES))
    for rows in np.split(np.arange(len(counts)), edges):
        lot = counts[rows]
        inside = np.arange(lot.sum()) - np.repeat(np.cumsum(lot) - lot, lot)
        if len(inside):
            yield np.repeat(rows, lot), np.repeat(begin[rows], lot) + inside


def _variants(pair: I64) -> I64:
    """(variants, 2, samples): all combinations of variants of both runs.

    A variant of a run has the same sum and the same sum of squares.
    """
    changes, squares = _changes(pair.shape[1])
    variants = list[I64]()
    for samples in pair:
        # The sum of a change is 0, so samples can be relative to any number.
        neutral = np.flatnonzero((samples - samples[0]) @ changes * 2 + squares == 0)
        near = neutral[np.argsort(squares[neutral], kind="stable")[:400]]
        changed = samples + changes[:, near].T
        variants.append(changed[(changed > 0).all(axis=1)])
    ones, others = variants
    return np.stack([np.repeat(ones, len(others), axis=0), np.tile(others, (len(ones), 1))], axis=1)


@lru_cache(maxsize=8)
def _changes(count: int) -> tuple[I64, I64]:
    """(count, changes): all small ones that keep a sum; (changes,) their sums of squares."""
    line = np.arange(-_RADIUS, _RADIUS + 1, dtype=np.int64)
    axes = np.meshgrid(*[line] * (count - 1), indexing="ij")
    free = np.stack([axis.ravel() for axis in axes])
    every = np.concatenate([free, -free.sum(axis=0, keepdims=True)])
    changes: I64 = np.ascontiguousarray(every[:, np.abs(every[-1]) <= _RADIUS])
    return changes, (changes * changes).sum(axis=0)


_NOTHING = 1e-6


class _Nearness(NamedTuple):
    """A goal: the sum of squares of (series - other) is in [least, most]."""

    other: I64
    least: int
    most: int

    def variation(self, total: int) -> float:
        """Sum of squares about the mean, for the middle of the range."""
        excess = total - int(self.other.sum())
        return max((self.least + self.most) / 2 - excess * excess / len(self.other), 0.0)

    def miss(self, squares: I64) -> F64:
        """Distance of sums of squares from the range, in steps of a typical sample."""
        outside = np.maximum(self.least - squares, 0) + np.maximum(squares - self.most, 0)
        return np.asarray(outside / (1.0 + math.isqrt(self.most // len(self.other))))


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for one series with a total, and (samples,) a range of each.

    The first goal has a constant `other`, which makes it the series' own deviation.
    """

    total: int
    goals: list[_Nearness]
    least: I64
    most: I64
    rng: np.random.Generator

    def run(self) -> I64 | None:
        """A series that meets all goals, or None."""
        for tail in (0, 1, 2, 4, 8, 16, 32):
            series = self._start(tail)
            if (series >= self.least).all() and (series <= self.most).all():
                return self._improved(series)
        return None

    def _start(self, tail: int) -> I64:
        """Samples that meet the goals before they are rounded and limited to their range.

        They have a component along each of the other series, of the length that its goal needs,
        and a random component orthogonal to all of them. One sample stands out by `tail` on the
        side where there is more room.
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
        series = floor_int(mean + fixed + free * scale + 0.5)
        # Single units at random places correct the sum.
        missing = self.total - int(series.sum())
        each, rest = divmod(abs(missing), count)
        shift: I64 = np.full(count, each, dtype=np.int64)
        shift[self.rng.permutation(count)[:rest]] += 1
        return series + shift if missing > 0 else series - shift

    def _improved(self, series: I64) -> I64 | None:
        """Moves step by step until all goals are met; None after too many steps."""
        if len(series) < 2:
            return series if self._missed(series) == 0 else None
        widest = math.isqrt(max(near.most for near in self.goals) // len(series)) or 1
        steps = np.array([1 << k for k in range(widest.bit_length() + 1)], dtype=np.int64)
        batch = max(1, 50_000 // (len(steps) * len(series) ** 2))
        for _ in range(60):
            miss = self._missed(series)
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
            misses += near.miss(now + 2 * climb * (apart + climb))
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

    def _missed(self, series: I64) -> float:
        """Sum of the misses of all goals."""
        return sum(float(near.miss(((series - near.other) ** 2).sum())) for near in self.goals)


def _along(goals: list[_Nearness], total: int) -> tuple[F64, float, list[F64]]:
    """The component of a series that the other series determine.

    Returns:
        That component, as deviations from the mean; the sum of squares that remains for the rest;
        and the orthonormal directions to which the rest must be orthogonal.
    """
    own, *others = goals
    variation = own.variation(total)
    fixed = np.zeros(len(own.other))
    directions: list[F64] = []
    for near in others:
        line = _centred(near.other.astype(np.float64))
        # |y - x|² = |y|² + |x|² - 2xy, for deviations from the means.
        shared = (variation + _dot(line, line) - near.variation(total)) / 2 - _dot(fixed, line)
        for direction in directions:
            line = line - _dot(line, direction) * direction
        length = math.sqrt(_dot(line, line))
        if length > _NOTHING:
            directions.append(line / length)
            fixed = fixed + (shared / length) * directions[-1]
    return fixed, variation - _dot(fixed, fixed), directions


def _centred(values: F64) -> F64:
    return values - math.fsum(values.tolist()) / len(values)


def _dot(left: F64, right: F64) -> float:
    # Not `@`, whose last bit depends on the processor.
    return math.fsum((left * right).tolist())


_INSIDE = 0.8
"""Share of a rounding interval that is used for sums that are not whole numbers, because other
programs may add in another order."""


def samples_of(repetitions: Repetitions, run_id: str, measure: str, seed: int) -> tuple[int, ...]:
    """The samples of one measure of a run; of a score, those of its periods.

    Raises:
        CpmonError: no samples have the printed figures of all runs that differences connect.
    """
    return _solve(repetitions, repetitions.connected(run_id, measure), measure, seed)[run_id]


def durations(repetitions: Repetitions, run_id: str, seed: int) -> tuple[int, ...]:
    """Length of each sample of a run, whole seconds."""
    run = repetitions.runs[run_id]
    if run.duration_s is not None:
        return (run.duration_s,) * run.count
    busy = np.zeros(run.count)
    for measure in RATES:
        if run.has(measure):
            rates = samples_of(repetitions, run_id, measure, seed)
            busy += run.kb(measure) / np.array(rates, dtype=np.float64)
    return tuple((floor_int(busy) + 1).tolist())


@lru_cache(maxsize=256)
def _solve(
    repetitions: Repetitions, run_ids: tuple[str, ...], measure: str, seed: int
) -> dict[str, tuple[int, ...]]:
    """The samples of one measure of all runs that differences connect."""
    differences = [d for d in repetitions.differences if d.of in run_ids and d.has(measure)]
    sums = repetitions.sums(run_ids, measure) or {}
    attempts = 8 if measure in RATES else 60
    for attempt in range(attempts if sums else 0):
        rng = random_stream(seed, "samples", measure, *run_ids, str(attempt))
        solved: dict[str, I64] = {}
        for run_id in run_ids:
            run = repetitions.runs[run_id]
            nearness = _nearness(repetitions, run, measure, sums[run_id], solved)
            most = _most(repetitions, run, measure, seed)
            least = np.full(len(most), int(measure in RATES), dtype=np.int64)
            series = _Search(sums[run_id], nearness, least, most, rng).run()
            if series is None:
                break
            solved[run_id] = series
        else:
            if measure not in RATES or _pair(repetitions.runs, differences, solved, rng):
                return {run_id: tuple(series.tolist()) for run_id, series in solved.items()}
    figures = {run_id: getattr(repetitions.runs[run_id], measure) for run_id in run_ids}
    figures |= {difference.name: getattr(difference, measure) for difference in differences}
    raise CpmonError(
        f"no samples were found that print {measure} of {', '.join(figures)}",
        code="scenario-samples-not-found",
        place=repetitions.runs[run_ids[0]].statistic(measure).place,
        expected="figures that can be true together of whole numbers that are not negative"
        + (", in samples that last long enough" if measure == "virtual_cpu_cs" else ""),
        found=", ".join(f"{name} {each}" for name, each in figures.items()),
        remedy="correct the figures, leave out a difference, or try another seed",
    )


def _nearness(
    repetitions: Repetitions, run: Samples, measure: str, total: int, solved: dict[str, I64]
) -> list[_Nearness]:
    """Goals of a run's samples: deviation from their mean and from those of solved runs."""
    own = run.statistic(measure)
    nearness = [_Nearness(np.full(own.count, total // own.count), *own.squares(total))]
    for difference in repetitions.differences:
        if measure in RATES or not difference.has(measure):
            continue
        of, less = difference.ends
        for this, other, sign in ((of, less, 1), (less, of, -1)):
            if this == run.run_id and other in solved:
                printed = difference.statistic(measure, run.count)
                apart = sign * (total - int(solved[other].sum()))
                shift = sign * (apart // own.count)
                nearness.append(_Nearness(solved[other] + shift, *printed.squares(apart)))
    return nearness


def _most(repetitions: Repetitions, run: Samples, measure: str, seed: int) -> I64:
    """The largest value of each sample; virtual time is at most the length of the sample."""
    if measure != "virtual_cpu_cs":
        return np.full(run.periods if measure in SCORES else run.count, 1 << 40)
    seconds = np.array(durations(repetitions, run.run_id, seed))
    cp = np.array(samples_of(repetitions, run.run_id, "cp_cpu_cs", seed))
    most: I64 = (seconds * 100 + CLOCK_CS) * run.virtual_processors - cp
    return most


def _pair(
    runs: Mapping[str, Samples],
    differences: list[Difference],
    solved: dict[str, I64],
    rng: np.random.Generator,
) -> bool:
    """Replace the samples of both runs of each difference so that its rates are met."""
    for difference in differences:
        of, less = (runs[run_id] for run_id in difference.ends)
        printed = difference.statistic("read_kb_per_s", of.count)
        mean, deviation = float(printed.mean), float(printed.deviation)
        mean_half = _INSIDE * 0.5 * 10.0**-printed.places
        half = _INSIDE * 0.5 * 10.0 ** -printed_places(printed.deviation, printed.places)
        goal = _PairedRates(
            of.kb("read_kb_per_s"),
            less.kb("read_kb_per_s"),
            mean=(mean - mean_half, mean + mean_half),
            deviation=(max(deviation - half, 0.0), deviation + half),
        )
        pair = _pair_rates(goal, solved[of.run_id], solved[less.run_id], rng)
        if pair is None:
            return False
        solved[of.run_id], solved[less.run_id] = pair
    return True
