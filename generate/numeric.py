"""Array types, seeded random numbers and exact integer partitions.

Only additions, multiplications and divisions are used on random numbers, never `exp` or `log`:
those differ in the last bit from processor to processor, and a dump must be the same everywhere.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]
Bool = npt.NDArray[np.bool_]


def random_stream(seed: int, *nouns: str) -> np.random.Generator:
    """An independent random stream for one noun of one run ("3600P1", "users")."""
    named = "\x1f".join((str(seed), *nouns)).encode()
    digest = hashlib.blake2b(named, digest_size=32).digest()
    words: Any = _Words(np.frombuffer(digest, "<u8").copy())
    return np.random.Generator(np.random.PCG64(words))


class _Words(ISeedSequence):
    """A seed sequence from a hash, which needs no mixing; that of NumPy takes ten times as long."""

    def __init__(self, words: npt.NDArray[np.uint64]) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Returns the four 64-bit words that seed PCG64."""
        return self._words[:n_words].astype(dtype, copy=False)


def floor_int(values: Any) -> I64:
    """Values rounded down to whole numbers."""
    rounded: I64 = np.floor(values).astype(np.int64)
    return rounded


def bell(rng: np.random.Generator, shape: int | tuple[int, ...]) -> F64:
    """Roughly normal numbers: mean 0, standard deviation 1, at most 3.47 from the mean."""
    size = (shape,) if isinstance(shape, int) else shape
    total: F64 = rng.random(size)
    for _ in range(3):
        total += rng.random(size)
    # A uniform number has the variance 1/12, the sum of four of them 1/3.
    return (total - 2.0) * math.sqrt(3.0)


def around_one(rng: np.random.Generator, shape: int | tuple[int, ...], spread: float) -> F64:
    """Positive factors of mean about 1 and deviation `spread` (0 to 0.28)."""
    return 1.0 + spread * bell(rng, shape)


def skewed(rng: np.random.Generator, count: int, sigma: float | F64) -> F64:
    """Positive weights with a long upper tail, close to lognormal with that sigma (0 to 2)."""
    root = 1.0 + bell(rng, count) * (sigma / 8.0)
    fourth = root * root * (root * root)
    return fourth * fourth + 1e-6


def partition(total: Any, weights: F64) -> I64:
    """(..., parts) whole ones that add up to `total` exactly and follow `weights` to within one.

    Args:
        total: whole number, or (...,) of them: one for each row of weights; below 2**53.
        weights: (..., parts), not negative. A row of zeros shares evenly.
    """
    if not weights.shape[-1]:
        return np.zeros(weights.shape, dtype=np.int64)
    climbing = np.add.accumulate(weights, axis=-1, dtype=np.float64)
    if not climbing[..., -1].all():
        some = climbing[..., -1:] > 0
        climbing = np.add.accumulate(np.where(some, weights, 1.0), axis=-1)
    climbing /= climbing[..., -1:].copy()
    climbing *= np.asarray(total, np.float64)[..., None]
    parts: I64 = np.floor(climbing, out=climbing).astype(np.int64)
    parts[..., 1:] -= parts[..., :-1].copy()
    return parts


def varied_levels(rng: np.random.Generator, mean: float, intervals: int, spread: float) -> I64:
    """A level at each sample, (intervals + 1,), with mean `mean`; the first sample equals it, too.

    So the mean is the same whether or not a reader counts the first sample, which closes no
    interval.
    """
    weights = around_one(rng, intervals, spread)
    later = partition(round(mean * intervals), weights)
    return np.concatenate([np.array([round(mean)], dtype=np.int64), later])


def capped(total: int, weights: F64, caps: I64) -> I64:
    """Like `partition`, but no part exceeds its cap; the excess goes to the other parts.

    Args:
        weights: (parts,), not negative.
        caps: (parts,); if their sum is less than the total, all parts are at their caps.
    """
    parts = partition(total, weights)
    if not (parts > caps).any():
        return parts
    free = np.ones(len(parts), dtype=np.bool_)
    while (parts[free] > caps[free]).any():
        free &= parts <= caps
        parts = np.where(free, parts, caps)
        rest = total - int(parts[~free].sum())
        if not free.any():
            break
        parts[free] = partition(max(rest, 0), weights[free])
    return parts
