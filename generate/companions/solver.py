"""Finds samples that have the printed figures; the same seed gives the same samples."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...core.errors import CpmonError
from ..numeric import I64, floor_int, random_stream
from ..scenario.repetitions import (
    CLOCK_CS,
    RATES,
    SCORES,
    Difference,
    Repetitions,
    Samples,
    printed_places,
)
from .rates import PairedRates, pair_rates
from .series import Nearness, Search

_ATTEMPTS, _PAIRINGS = 60, 8
_MOST = 1 << 40
_INSIDE = 0.8
"""Share of a rounding interval that is used for sums that are not whole numbers, because other
programs may add in another order."""

Solution = dict[str, tuple[int, ...]]


@lru_cache(maxsize=256)
def samples_of(repetitions: Repetitions, run_id: str, measure: str, seed: int) -> tuple[int, ...]:
    """The samples of one measure of a run; of a score, those of its periods.

    Raises:
        CpmonError: no samples have the printed figures of all runs that differences connect.
    """
    return _solve(repetitions, repetitions.connected(run_id, measure), measure, seed)[run_id]


@lru_cache(maxsize=256)
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
def _solve(repetitions: Repetitions, run_ids: tuple[str, ...], measure: str, seed: int) -> Solution:
    """The samples of one measure of all runs that differences connect."""
    differences = [d for d in repetitions.differences if d.of in run_ids and d.has(measure)]
    sums = repetitions.sums(run_ids, measure) or {}
    attempts = _PAIRINGS if measure in RATES else _ATTEMPTS
    for attempt in range(attempts if sums else 0):
        rng = random_stream(seed, "samples", measure, *run_ids, str(attempt))
        solved: dict[str, I64] = {}
        for run_id in run_ids:
            run = repetitions.runs[run_id]
            nearness = _nearness(repetitions, run, measure, sums[run_id], solved)
            most = _most(repetitions, run, measure, seed)
            least = np.full(len(most), int(measure in RATES), dtype=np.int64)
            series = Search(sums[run_id], nearness, least, most, rng).run()
            if series is None:
                break
            solved[run_id] = series
        else:
            if measure not in RATES or _pair(repetitions, differences, solved, rng):
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
) -> list[Nearness]:
    """Goals of a run's samples: deviation from their mean and from those of solved runs."""
    own = run.statistic(measure)
    nearness = [Nearness(np.full(own.count, total // own.count), *own.squares(total))]
    for difference in repetitions.differences:
        if measure in RATES or not difference.has(measure):
            continue
        of, less = difference.ends
        for this, other, sign in ((of, less, 1), (less, of, -1)):
            if this == run.run_id and other in solved:
                printed = difference.statistic(measure, run.count)
                apart = sign * (total - int(solved[other].sum()))
                shift = sign * (apart // own.count)
                nearness.append(Nearness(solved[other] + shift, *printed.squares(apart)))
    return nearness


def _most(repetitions: Repetitions, run: Samples, measure: str, seed: int) -> I64:
    """The largest value of each sample; virtual time is at most the length of the sample."""
    if measure != "virtual_cpu_cs":
        return np.full(run.periods if measure in SCORES else run.count, _MOST)
    seconds = np.array(durations(repetitions, run.run_id, seed))
    cp = np.array(samples_of(repetitions, run.run_id, "cp_cpu_cs", seed))
    most: I64 = (seconds * 100 + CLOCK_CS) * run.virtual_processors - cp
    return most


def _pair(
    repetitions: Repetitions,
    differences: list[Difference],
    solved: dict[str, I64],
    rng: np.random.Generator,
) -> bool:
    """Replace the samples of both runs of a difference so that its rates are met."""
    for difference in differences:
        of, less = (repetitions.runs[run_id] for run_id in difference.ends)
        printed = difference.statistic("read_kb_per_s", of.count)
        mean, deviation = float(printed.mean), float(printed.deviation)
        mean_half = _INSIDE * 0.5 * 10.0**-printed.places
        half = _INSIDE * 0.5 * 10.0 ** -printed_places(printed.deviation, printed.places)
        goal = PairedRates(
            of.kb("read_kb_per_s"),
            less.kb("read_kb_per_s"),
            mean=(mean - mean_half, mean + mean_half),
            deviation=(max(deviation - half, 0.0), deviation + half),
        )
        pair = pair_rates(goal, solved[of.run_id], solved[less.run_id], rng)
        if pair is None:
            return False
        solved[of.run_id], solved[less.run_id] = pair
    return True
