"""Rates of a difference: KB that one run read more than another, over the time it took longer.

The rate of each pair of samples is (KB of one - KB of the other) / (its seconds - the other's),
from rates that are whole numbers. A difference of two times amplifies every unit, so a mean and a
deviation of such rates that match the printed digits need a search: it forms pairs, then varies two
halves of the samples without changing either run's figures, and chooses two variants whose rates
add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..numeric import F64, I64

_ROUNDS = 200
_STIRRED = 2000
_SPLITS = 150
_HOPELESS, _FAR = 20, 0.01
"""The search fails if after so many splits the rates are farther from the goal than this share."""
_HALF = 5
_RADIUS = 9
_VARIANTS = 400
_CANDIDATES = 2_000_000


@dataclass(frozen=True, slots=True)
class PairedRates:
    """Goal of the search: mean and deviation of the rates.

    Attributes:
        kb_of, kb_less: KB moved in each sample of the run, and of the run taken away.
        mean, deviation: (low, high): of the rates over all samples, KB/s; divisor N.
    """

    kb_of: int
    kb_less: int
    mean: tuple[float, float]
    deviation: tuple[float, float]

    def sums(self, pairs: I64) -> tuple[F64, F64]:
        """Sums of the rates and of their squares, KB/s, over the last axis.

        A pair without a time difference has the rate 1e12.

        Args:
            pairs: (..., 2, samples) rates of the run and of the run taken away.
        """
        seconds = self.kb_of / pairs[..., 0, :] - self.kb_less / pairs[..., 1, :]
        rates = (self.kb_of - self.kb_less) / np.maximum(seconds, 1e-6)
        return rates.sum(axis=-1), (rates * rates).sum(axis=-1)

    def is_met(self, total: F64, squares: F64, count: int) -> np.ndarray[tuple[int, ...], np.dtype]:
        """Whether the sums give the printed mean and deviation."""
        mean = total / count
        variance = squares / count - mean * mean
        low, high = self.deviation
        centred = (mean > self.mean[0]) & (mean < self.mean[1])
        return centred & (variance > low * low) & (variance < high * high)

    def distance(self, pairs: I64) -> F64:
        """(rows,) distance of (rows, 2, samples) from mean and deviation, as shares of them."""
        total, squares = self.sums(pairs)
        count = pairs.shape[-1]
        mean = sum(self.mean) / 2
        power = mean * mean + (sum(self.deviation) / 2) ** 2
        distance: F64 = np.abs(total / (count * mean) - 1) + np.abs(squares / (count * power) - 1)
        return distance


def pair_rates(goal: PairedRates, of: I64, less: I64, rng: np.random.Generator) -> I64 | None:
    """(2, samples) of two runs, paired and slightly changed to meet the goal.

    Args:
        of, less: (samples,) rates of the two runs. Sum and sum of squares of each stay the same.

    Returns:
        None if the search found no such samples.
    """
    pair = _paired(goal, of, less, rng)
    count = len(of)
    middle = min(_HALF, count // 2)
    for split in range(_SPLITS):
        if goal.is_met(*goal.sums(pair), count):
            return pair
        if middle < 2 or (split == _HOPELESS and goal.distance(pair[None])[0] > _FAR):
            return None
        order = rng.permutation(count)
        halves = order[:middle], order[middle : 2 * middle]
        variants = [_variants_of_both(pair[:, half]) for half in halves]
        picks = _both(goal, pair[:, np.sort(order[2 * middle :])], variants, count)
        if picks is None:
            # Continue from a random one of those about as near to the goal.
            picks = rng.integers([[len(each)] for each in variants], size=(2, _STIRRED))
        tried = np.repeat(pair[None], picks.shape[1], axis=0)
        for half, each, rows in zip(halves, variants, picks, strict=True):
            tried[:, :, half] = each[rows]
        pair = tried[int(goal.distance(tried).argmin())]
    return None


def _paired(goal: PairedRates, of: I64, less: I64, rng: np.random.Generator) -> I64:
    """(2, samples): the samples of two runs, paired so that the goal is nearly met."""
    count = len(of)
    up, down = np.triu_indices(count, 1)
    pair = np.stack([of[rng.permutation(count)], less])
    for _ in range(_ROUNDS):
        once = _swapped(np.repeat(pair[None], len(up), axis=0), up, down)
        twice = np.repeat(once, len(up), axis=0)
        both = np.concatenate([once, _swapped(twice, np.tile(up, len(up)), np.tile(down, len(up)))])
        distances = goal.distance(both)
        best = int(distances.argmin())
        if distances[best] >= goal.distance(pair[None])[0]:
            break
        pair = both[best]
    return pair


def _swapped(rows: I64, up: I64, down: I64) -> I64:
    """(rows, 2, samples), each with two of the first run's samples exchanged."""
    each = np.arange(len(rows))
    rows[each, 0, up], rows[each, 0, down] = rows[each, 0, down], rows[each, 0, up]
    return rows


def _both(goal: PairedRates, rest: I64, variants: list[I64], count: int) -> I64 | None:
    """(2, 1): a variant of each half that meet the goal together, or None.

    Args:
        rest: (2, samples) in neither half. count: of all samples.
    """
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


def _variants_of_both(pair: I64) -> I64:
    """(variants, 2, samples): all combinations of variants of both runs."""
    ones, others = map(_variants, pair)
    return np.stack([np.repeat(ones, len(others), axis=0), np.tile(others, (len(ones), 1))], axis=1)


def _variants(samples: I64) -> I64:
    """(variants, samples): changed samples with the same sum and the same sum of squares."""
    changes, squares = _changes(len(samples))
    # The sum of a change is 0, so samples can be relative to any number.
    neutral = np.flatnonzero((samples - samples[0]) @ changes * 2 + squares == 0)
    near = neutral[np.argsort(squares[neutral], kind="stable")[:_VARIANTS]]
    variants: I64 = samples + changes[:, near].T
    return variants[(variants > 0).all(axis=1)]


@lru_cache(maxsize=8)
def _changes(count: int) -> tuple[I64, I64]:
    """All small changes that keep the sum of so many samples, and their sums of squares.

    Returns:
        (count, changes) and (changes,).
    """
    line = np.arange(-_RADIUS, _RADIUS + 1, dtype=np.int64)
    axes = np.meshgrid(*[line] * (count - 1), indexing="ij")
    free = np.stack([axis.ravel() for axis in axes])
    every = np.concatenate([free, -free.sum(axis=0, keepdims=True)])
    changes: I64 = np.ascontiguousarray(every[:, np.abs(every[-1]) <= _RADIUS])
    return changes, (changes * changes).sum(axis=0)
