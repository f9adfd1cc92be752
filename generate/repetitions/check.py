"""Whether figures of samples can be true: what arithmetic rules out before anything is sought."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from ..tables import ScenarioError, unknown_key
from .spec import CLOCK_CS, RATES, SERIES, Difference, Samples
from .statistic import Statistic, shortest

if TYPE_CHECKING:
    from .repetitions import Repetitions


def check(repetitions: Repetitions) -> None:
    """Check the samples of a scenario.

    Raises:
        ScenarioError: with the key whose value cannot be, and what could.
    """
    file = repetitions.file
    for run in repetitions.runs:
        for measure in run.measures:
            printed = run.statistic(measure, file)
            _check_least(printed, 1 if measure in RATES else 0)
            printed.check()
        _check_duration(run, file)
    known = {run.run_id: run for run in repetitions.runs}
    taken: set[str] = set()
    for difference in repetitions.differences:
        _check_names(difference, known, taken, file)
        taken.add(difference.name)
        _check_difference(difference, known, file)
    _check_rates(repetitions.differences, file)
    _check_sums(repetitions)


def _check_least(printed: Statistic, least: int) -> None:
    if printed.mean < least:
        raise ScenarioError(
            f"samples cannot have a mean of {printed.mean}",
            place=printed.key,
            expected=f"a mean of at least {least}",
            found=f"{printed.mean}",
        )


def _check_duration(run: Samples, file: str) -> None:
    """A sample has a length, and its processor time fits in it."""
    place = f"{file}: run.{run.run_id}.samples"
    seconds = float(run.duration_s or 0)
    if run.duration_s is None:
        rates = {m: float(run.statistic(m, file).mean) for m in RATES if run.has(m)}
        seconds = sum(run.kb(measure) / rate for measure, rate in rates.items())
    if not seconds:
        raise ScenarioError(
            f"the samples of run {run.run_id} have no length",
            place=place,
            expected="duration_s, write_kb_per_s or read_kb_per_s",
            remedy="add duration_s = ... there",
        )
    used = sum(run.statistic(m, file).mean for m in ("virtual_cpu_cs", "cp_cpu_cs"))
    room = (seconds * 100 + CLOCK_CS) * run.virtual_processors
    if used > room:
        raise ScenarioError(
            f"run {run.run_id}: a sample uses more processor time than it lasts",
            place=f"{place}.virtual_cpu_cs",
            expected=f"at most {room:,.1f} together with cp_cpu_cs, in {seconds:,.1f} s",
            found=f"{used:,.1f}",
            remedy="lower it, or give the guest more virtual_processors",
        )


def _check_names(
    difference: Difference, known: dict[str, Samples], taken: set[str], file: str
) -> None:
    """Of whom the difference is, and that its name is free."""
    place = f"differences.{difference.name}"
    for run_id in (difference.of, difference.less):
        if run_id not in known:
            raise unknown_key(run_id, list(known), file, place)
    if difference.of == difference.less or difference.name in (*known, *taken):
        raise ScenarioError(
            f"difference {difference.name} needs two runs and a name of its own",
            place=f"{file}: {place}",
            found=f"{difference.of} less {difference.less}",
        )
    counts = [known[run_id].count for run_id in (difference.of, difference.less)]
    if counts[0] != counts[1]:
        raise ScenarioError(
            f"difference {difference.name} pairs samples, and its runs have not as many",
            place=f"{file}: {place}",
            expected=f"{counts[0]} samples of {difference.less} as well",
            found=f"{counts[1]}",
        )


def _check_difference(difference: Difference, known: dict[str, Samples], file: str) -> None:
    """Means subtract exactly; a deviation is no less and no more than the two deviations allow."""
    of, less = known[difference.of], known[difference.less]
    for measure in _measures(difference):
        for run in (of, less):
            if not run.has(measure):
                raise ScenarioError(
                    f"difference {difference.name} needs {measure} of run {run.run_id}",
                    place=difference.key(measure, file),
                    remedy=f"add {measure} to [run.{run.run_id}.samples]",
                )
        printed = difference.statistic(measure, of.count, file)
        if measure in RATES:
            _check_least(printed, 1)
            continue
        one, other = of.statistic(measure, file), less.statistic(measure, file)
        apart = one.mean - other.mean
        # Unless a mean of so many is exact, each of the three is rounded by half a digit at most.
        if abs(printed.mean - apart) > (Decimal("0.15") if 10 % of.count else 0):
            raise ScenarioError(
                f"difference {difference.name} has another mean than its runs",
                place=printed.key,
                expected=f"a mean of {shortest(apart, 1)}",
                found=f"{printed.mean}",
            )
        printed.check(signed=True)
        _check_deviation(printed, one, other)


def _check_deviation(printed: Statistic, one: Statistic, other: Statistic) -> None:
    halves = sum(
        1 / (2 * 10**each.written_places) for each in (printed, one, other) if each.deviation
    )
    low = float(abs(one.deviation - other.deviation)) - halves
    high = float(one.deviation + other.deviation) + halves
    if not low <= float(printed.deviation) <= high:
        raise ScenarioError(
            f"no samples that deviate by {one.deviation} and {other.deviation} differ so",
            place=printed.key,
            expected=f"a deviation from {max(low, 0.0):.4g} to {high:.4g}",
            found=f"{printed.deviation}",
        )


def _check_rates(differences: tuple[Difference, ...], file: str) -> None:
    """Rates of a difference are sought two runs at a time."""
    taken: set[str] = set()
    for difference in differences:
        if difference.has("read_kb_per_s"):
            both = {difference.of, difference.less}
            if both & taken:
                raise ScenarioError(
                    f"difference {difference.name}: read_kb_per_s of a run is in two differences",
                    place=difference.key("read_kb_per_s", file),
                    found=", ".join(sorted(both & taken)),
                    remedy="leave one of them out",
                )
            taken |= both


def _check_sums(repetitions: Repetitions) -> None:
    """Of runs that differences tie together, sums can be found that print as all of them do."""
    for difference in repetitions.differences:
        for measure in _measures(difference):
            run_ids = repetitions.together(difference.of, measure)
            if repetitions.sums(run_ids, measure) is None:
                raise ScenarioError(
                    f"no samples print {measure} of {', '.join(run_ids)} and of their differences",
                    place=difference.key(measure, repetitions.file),
                    expected="means and deviations that whole numbers can have together",
                    found=getattr(difference, measure),
                    remedy="correct the figures, or leave out the difference",
                )


def _measures(difference: Difference) -> Iterator[str]:
    return (measure for measure in SERIES if difference.has(measure))
