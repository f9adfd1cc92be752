"""The single samples behind printed figures, the same for the same seed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..noise import I64, stream
from ..tables import ScenarioError
from .rates import PairedRates, pair_rates
from .series import Nearness, find_series
from .spec import CLOCK_CS, RATES, SCORES, Difference, Samples
from .statistic import Statistic, printed_places

if TYPE_CHECKING:
    from .repetitions import Repetitions

_ATTEMPTS, _PAIRINGS = 60, 8
_MOST = 1 << 40
_INSIDE = 0.8
"""Share of a rounding interval that is used where sums are not whole: others may add otherwise."""

Solution = dict[str, tuple[int, ...]]


@lru_cache(maxsize=256)
def samples_of(repetitions: Repetitions, run_id: str, measure: str, seed: int) -> tuple[int, ...]:
    """The samples of one measure of a run; of a score, those of its periods.

    Raises:
        ScenarioError: none were found that print all the figures that hang together.
    """
    return _solved(repetitions, repetitions.together(run_id, measure), measure, seed)[run_id]


@lru_cache(maxsize=256)
def durations(repetitions: Repetitions, run_id: str, seed: int) -> tuple[int, ...]:
    """Length of each sample of a run, whole seconds."""
    run = repetitions.run(run_id)
    if run.duration_s is not None:
        return (run.duration_s,) * run.count
    busy = np.zeros(run.count)
    for measure in RATES:
        if run.has(measure):
            rates = samples_of(repetitions, run_id, measure, seed)
            busy += run.kb(measure) / np.array(rates, dtype=np.float64)
    return tuple((np.floor(busy).astype(np.int64) + 1).tolist())


@lru_cache(maxsize=256)
def _solved(
    repetitions: Repetitions, run_ids: tuple[str, ...], measure: str, seed: int
) -> Solution:
    """The samples of one measure of all runs that differences tie together."""
    tied = [d for d in repetitions.differences if d.of in run_ids and d.has(measure)]
    sums = repetitions.sums(run_ids, measure)
    attempts = _PAIRINGS if measure in RATES else _ATTEMPTS
    for attempt in range(attempts if sums else 0):
        rng = stream(seed, "samples", measure, *run_ids, str(attempt))
        found: dict[str, I64] = {}
        for run_id in run_ids:
            run, total = repetitions.run(run_id), (sums or {})[run_id]
            wanted = _wanted(repetitions, run, measure, total, found)
            most = _most(repetitions, run, measure, seed)
            least = np.full(len(most), int(measure in RATES), dtype=np.int64)
            series = find_series(total, wanted, least, most, rng)
            if series is None:
                break
            found[run_id] = series
        else:
            if measure not in RATES or _pair(repetitions, tied, found, rng):
                return {run_id: tuple(series.tolist()) for run_id, series in found.items()}
    raise _not_found(repetitions, run_ids, measure, tied)


def _wanted(
    repetitions: Repetitions, run: Samples, measure: str, total: int, found: dict[str, I64]
) -> list[Nearness]:
    """How much a run's samples deviate, from their mean and from those of the runs before it."""
    own = run.statistic(measure, repetitions.file)
    wanted = [Nearness(np.full(own.count, total // own.count), *own.squares(total))]
    for difference in repetitions.differences:
        if measure in RATES or not difference.has(measure):
            continue
        for this, other, sign in (
            (difference.of, difference.less, 1),
            (difference.less, difference.of, -1),
        ):
            if this == run.run_id and other in found:
                printed = difference.statistic(measure, run.count, repetitions.file)
                apart = sign * (total - int(found[other].sum()))
                shift = sign * (apart // own.count)
                wanted.append(Nearness(found[other] + shift, *printed.squares(apart)))
    return wanted


def _most(repetitions: Repetitions, run: Samples, measure: str, seed: int) -> I64:
    """The range of samples: virtual time ends where the sample does."""
    if measure != "virtual_cpu_cs":
        return np.full(run.periods if measure in SCORES else run.count, _MOST)
    seconds = np.array(durations(repetitions, run.run_id, seed))
    cp = np.array(samples_of(repetitions, run.run_id, "cp_cpu_cs", seed))
    most: I64 = (seconds * 100 + CLOCK_CS) * run.virtual_processors - cp
    return most


def _pair(
    repetitions: Repetitions,
    tied: list[Difference],
    found: dict[str, I64],
    rng: np.random.Generator,
) -> bool:
    """Give the runs of a difference of rates the samples whose rates come out right."""
    for difference in tied:
        of, less = repetitions.run(difference.of), repetitions.run(difference.less)
        printed = difference.statistic("read_kb_per_s", of.count, repetitions.file)
        wanted = PairedRates(of.kb("read_kb_per_s"), less.kb("read_kb_per_s"), *_printing(printed))
        pair = pair_rates(wanted, found[of.run_id], found[less.run_id], rng)
        if pair is None:
            return False
        found[of.run_id], found[less.run_id] = pair
    return True


def _printing(printed: Statistic) -> tuple[tuple[float, float], tuple[float, float]]:
    """What prints as that mean, and as that deviation."""
    mean, deviation = float(printed.mean), float(printed.deviation)
    mean_half = _INSIDE * 0.5 * 10.0**-printed.places
    half = _INSIDE * 0.5 * 10.0 ** -printed_places(printed.deviation, printed.places)
    return (mean - mean_half, mean + mean_half), (max(deviation - half, 0.0), deviation + half)


def _not_found(
    repetitions: Repetitions, run_ids: tuple[str, ...], measure: str, tied: list[Difference]
) -> ScenarioError:
    named = {run_id: getattr(repetitions.run(run_id), measure) for run_id in run_ids}
    named |= {difference.name: getattr(difference, measure) for difference in tied}
    return ScenarioError(
        f"no samples were found that print {measure} of {', '.join(named)}",
        place=repetitions.run(run_ids[0]).statistic(measure, repetitions.file).key,
        expected="figures that can be true together of whole numbers that are not negative"
        + (", in samples that last long enough" if measure == "virtual_cpu_cs" else ""),
        found=", ".join(f"{name} {figures}" for name, figures in named.items()),
        remedy="correct the figures, leave out a difference, or try another seed",
    )
