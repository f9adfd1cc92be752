"""Feasibility of the figures of repeated samples, as far as arithmetic decides it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from ...core.errors import CpmonError
from ...core.names import unknown
from ..scenario.repetitions import CLOCK_CS, RATES, Difference, Repetitions, Samples
from ..scenario.statistic import Statistic, shortest


def check_figures(repetitions: Repetitions) -> None:
    """Check the samples of a scenario.

    Raises:
        CpmonError: with the key whose value is impossible, and what is possible.
    """
    runs = repetitions.runs
    for run in runs.values():
        for measure in run.measures:
            printed = run.statistic(measure)
            _check_least(printed, 1 if measure in RATES else 0)
            printed.check()
        _check_duration(run)
    names: set[str] = {*runs}
    with_rates: set[str] = set()
    for difference in repetitions.differences:
        _check_runs(difference, runs, names)
        names.add(difference.name)
        _check_difference(difference, runs)
    for difference in repetitions.differences:
        if difference.has("read_kb_per_s"):
            # Rates of a difference are searched for two runs at a time.
            if shared := with_rates & set(difference.ends):
                raise CpmonError(
                    f"difference {difference.name}: read_kb_per_s of a run is in two differences",
                    place=difference.place("read_kb_per_s"),
                    found=", ".join(sorted(shared)),
                    remedy="leave one of them out",
                )
            with_rates |= set(difference.ends)
    for difference in repetitions.differences:
        _check_sums(repetitions, difference)


def _check_least(printed: Statistic, least: int) -> None:
    if printed.mean < least:
        raise CpmonError(
            f"samples cannot have a mean of {printed.mean}",
            place=printed.place,
            expected=f"a mean of at least {least}",
            found=f"{printed.mean}",
        )


def _check_duration(run: Samples) -> None:
    """A sample has a length, and its processor time fits in it."""
    seconds = float(run.duration_s or 0)
    if run.duration_s is None:
        rates = {m: float(run.statistic(m).mean) for m in RATES if run.has(m)}
        seconds = sum(run.kb(measure) / rate for measure, rate in rates.items())
    if not seconds:
        raise CpmonError(
            f"the samples of run {run.run_id} have no length",
            place=run.place(""),
            expected="duration_s, write_kb_per_s or read_kb_per_s",
            remedy="add duration_s = ... there",
        )
    used = sum(run.statistic(m).mean for m in ("virtual_cpu_cs", "cp_cpu_cs"))
    room = (seconds * 100 + CLOCK_CS) * run.virtual_processors
    if used > room:
        raise CpmonError(
            f"run {run.run_id}: a sample uses more processor time than it lasts",
            place=run.place("virtual_cpu_cs"),
            expected=f"at most {room:,.1f} together with cp_cpu_cs, in {seconds:,.1f} s",
            found=f"{used:,.1f}",
            remedy="lower it, or give the guest more virtual_processors",
        )


def _check_runs(difference: Difference, runs: Mapping[str, Samples], names: set[str]) -> None:
    """The runs of a difference exist, and its name is free."""
    for end, run_id in zip(("of", "less"), difference.ends, strict=True):
        if run_id not in runs:
            raise unknown("run with samples", run_id, runs, place=difference.place(end))
    if difference.of == difference.less or difference.name in names:
        raise CpmonError(
            f"difference {difference.name} needs two runs and a name of its own",
            place=difference.place(""),
            found=f"{difference.of} less {difference.less}",
        )
    count, other = (runs[run_id].count for run_id in difference.ends)
    if count != other:
        raise CpmonError(
            f"difference {difference.name} pairs samples, and its runs have not as many",
            place=difference.place(""),
            expected=f"{count} samples of {difference.less} as well",
            found=f"{other}",
        )


def _check_difference(difference: Difference, runs: Mapping[str, Samples]) -> None:
    """Means subtract exactly; a deviation is no less and no more than the two deviations allow."""
    of, less = (runs[run_id] for run_id in difference.ends)
    for measure in difference.measures:
        for run in (of, less):
            if not run.has(measure):
                raise CpmonError(
                    f"difference {difference.name} needs {measure} of run {run.run_id}",
                    place=difference.place(measure),
                    remedy=f"add {measure} to [run.{run.run_id}.samples]",
                )
        printed = difference.statistic(measure, of.count)
        if measure in RATES:
            _check_least(printed, 1)
            continue
        minuend, subtrahend = of.statistic(measure), less.statistic(measure)
        mean = minuend.mean - subtrahend.mean
        # Unless a mean of so many is exact, each of the three is rounded by half a digit at most.
        if abs(printed.mean - mean) > (Decimal("0.15") if 10 % of.count else 0):
            raise CpmonError(
                f"difference {difference.name} has another mean than its runs",
                place=printed.place,
                expected=f"a mean of {shortest(mean, 1)}",
                found=f"{printed.mean}",
            )
        printed.check(signed=True)
        _check_deviation(printed, minuend, subtrahend)


def _check_deviation(printed: Statistic, minuend: Statistic, subtrahend: Statistic) -> None:
    halves = sum(
        1 / (2 * 10**each.written_places)
        for each in (printed, minuend, subtrahend)
        if each.deviation
    )
    low = float(abs(minuend.deviation - subtrahend.deviation)) - halves
    high = float(minuend.deviation + subtrahend.deviation) + halves
    if not low <= float(printed.deviation) <= high:
        raise CpmonError(
            f"no samples that deviate by {minuend.deviation} and {subtrahend.deviation} differ so",
            place=printed.place,
            expected=f"a deviation from {max(low, 0.0):.4g} to {high:.4g}",
            found=f"{printed.deviation}",
        )


def _check_sums(repetitions: Repetitions, difference: Difference) -> None:
    """Runs that differences connect have sums that print as all of them do."""
    for measure in difference.measures:
        run_ids = repetitions.connected(difference.of, measure)
        if repetitions.sums(run_ids, measure) is None:
            raise CpmonError(
                f"no samples print {measure} of {', '.join(run_ids)} and of their differences",
                place=difference.place(measure),
                expected="means and deviations that whole numbers can have together",
                found=getattr(difference, measure),
                remedy="correct the figures, or leave out the difference",
            )
