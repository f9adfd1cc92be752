"""Repeated samples in a scenario: `[run.NAME.samples]` and `[[differences]]`.

They are given by printed statistics: a mean and a standard deviation. Since the samples are whole
numbers, these determine the sum of the samples, and the sum of their squares often exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Self

from msgspec import Meta

from ...config import Place, Table
from ...config.values import Text
from ...core.errors import CpmonError, unknown

_LARGEST_MEAN, _LARGEST_DEVIATION = 10**9, 10**8
"""Limits, so that sums of squares of a hundred samples fit in 63 bits."""


class Figures(Text):
    """A mean and a deviation, as they are printed, or one number for every sample."""

    EXPECTED = "mean/deviation, as 16499.3/1426, or one number for every sample"
    PATTERN = r"-?[0-9]+(\.[0-9]+)?(/[0-9]+(\.[0-9]+)?)?"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, a text or a number of TOML."""
        return super().parse(str(value) if type(value) in (int, float) else value)


@dataclass(frozen=True)
class Statistic:
    """`count` whole numbers, by the mean and the standard deviation (divisor N) printed of them.

    Attributes:
        place: place of the statistic in its file, for messages.
        places: decimals of a printed mean: 1, or 0 where whole numbers are printed throughout.
    """

    place: str
    count: int
    mean: Decimal
    deviation: Decimal
    places: int = 1

    @classmethod
    def parse(cls, figures: Figures, count: int, place: str, places: int = 1) -> Statistic:
        """A statistic from its figures.

        Raises:
            CpmonError: they are out of range.
        """
        mean, _, deviation = figures.partition("/")
        statistic = cls(place, count, Decimal(mean), Decimal(deviation or "0"), places)
        if abs(statistic.mean) >= _LARGEST_MEAN or statistic.deviation >= _LARGEST_DEVIATION:
            raise CpmonError(
                f"samples cannot have the figures {figures}",
                code="scenario-figures-too-large",
                place=place,
                expected=f"a mean below {_LARGEST_MEAN:.0e}, a deviation below 1e+08",
                found=figures,
                remedy="lower the figures",
            )
        return statistic

    @property
    def totals(self) -> list[int]:
        """The sums with this printed mean, nearest first."""
        middle = self.count * self.mean
        half = self.count * Decimal(5).scaleb(-self.places - 1)
        around = range(math.floor(middle - half), math.floor(middle + half) + 2)
        return sorted(filter(self.prints, around), key=lambda total: abs(total - middle))

    def prints(self, total: int) -> bool:
        """Whether samples with that sum have this printed mean."""
        return _rounded(Decimal(total) / self.count, self.places) == self.mean

    def has_squares(self, total: int) -> bool:
        """Whether parity allows samples with that sum to have this printed deviation."""
        least, most = self.squares(total)
        return least <= most

    def squares(self, total: int) -> tuple[int, int]:
        """Least and greatest sum of squares of deviations that print this standard deviation.

        A deviation is printed with four significant digits, without trailing zeros. If no whole
        numbers with any of the `totals` have it, a deviation with fewer digits matches all that
        round to it.

        Args:
            total: sum of the samples; deviations are counted from `total // count`.

        Returns:
            Both have the parity of the sum of deviations, as any sum of squares. If the least is
            above the greatest, no samples have this printed deviation.
        """
        rest = total % self.count
        if not self.deviation:
            return rest, 0 if rest == 0 else rest - 2
        return self._squares(rest, self._meant_places)

    @cached_property
    def _meant_places(self) -> int:
        """Decimals at which a deviation must match this one."""
        printed = printed_places(self.deviation, self.places)
        rests = {total % self.count for total in self.totals}
        reached = any(least <= most for least, most in (self._squares(r, printed) for r in rests))
        return printed if reached else min(printed, self.written_places)

    @property
    def written_places(self) -> int:
        """Decimals with which the deviation was written."""
        return max(0, -int(self.deviation.as_tuple().exponent))

    def _squares(self, rest: int, places: int) -> tuple[int, int]:
        """`squares` of deviations that round to this one at a number of decimals."""
        half = Fraction(1, 2 * 10**places)
        low, high = Fraction(self.deviation) - half, Fraction(self.deviation) + half
        # count * squares - rest**2 is count**2 times the variance.
        least = math.ceil((max(low, Fraction(0)) ** 2 * self.count**2 + rest**2) / self.count)
        beyond = math.ceil((high**2 * self.count**2 + rest**2) / self.count)
        least = max(least, rest)
        most = beyond - 1
        return least + (least - rest) % 2, most - (most - rest) % 2

    def check(self, signed: bool = False) -> None:
        """Check by sum and parity that samples, `signed` or not, with these printed figures exist.

        Raises:
            CpmonError: none exist; the error has the nearest possible figures.
        """
        if not self.totals:
            below = math.floor(self.count * self.mean)
            near = [shortest(Decimal(below + up) / self.count, self.places) for up in (0, 1)]
            raise self._impossible("has no such mean", f"a mean of {' or '.join(near)}")
        if self.deviation != round(self.deviation, printed_places(self.deviation, self.places)):
            raise self._impossible("has no such deviation", "four significant digits of it")
        if not any(self.has_squares(total) for total in self.totals):
            near = list(dict.fromkeys(self._nearest(self.totals[0])))
            raise self._impossible("has no such deviation", f"a deviation of {' or '.join(near)}")
        farthest = max(self.mean, Decimal(0)) * Decimal(self.count - 1).sqrt()
        if not signed and self.deviation > farthest + 1:
            raise self._impossible(
                "has no such deviation", f"a deviation of at most {shortest(farthest, 1)}"
            )

    def _nearest(self, total: int) -> Iterator[str]:
        """The possible printed deviations just below and above an impossible one."""
        least, most = self.squares(total)
        rest = total % self.count
        for squares in (most, least):
            if squares >= rest:
                variance = Fraction(squares, self.count) - Fraction(rest, self.count) ** 2
                root = (Decimal(variance.numerator) / variance.denominator).sqrt()
                yield shortest(root, printed_places(root, self.places))

    def _impossible(self, problem: str, possible: str) -> CpmonError:
        figures = f"{shortest(self.mean, 9)}/{self.deviation}"
        return CpmonError(
            f"a set of {self.count} whole numbers {problem}: {figures}",
            place=self.place,
            expected=possible,
            found=figures,
        )


def printed_places(deviation: Decimal, places: int = 1) -> int:
    """Decimals of a printed deviation: four significant digits, never fewer than whole ones.

    `places` is 0 where whole numbers are printed throughout.
    """
    return max(0, 3 - deviation.adjusted()) if places and deviation else 0


def shortest(value: Decimal, places: int) -> str:
    """A number rounded half up to `places` decimals, without trailing zeros."""
    text = f"{_rounded(value, places):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _rounded(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


RATES = ("write_kb_per_s", "read_kb_per_s")

SCORES = ("thrasher", "burner")
"""Tools that count in periods of their own; their figures are printed without decimals."""

CLOCK_CS = 99
"""Most by which a sample exceeds the difference of its time stamps in whole seconds, 0.01 s."""

Count = Annotated[int, Meta(ge=1, le=100)]


class Measured(Table, frozen=True, kw_only=True):
    """A table with figures of measures."""

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that the table has; all of them are whole numbers."""
        times, counts = (
            ("virtual_cpu_cs", "cp_cpu_cs"),
            ("virtual_ios", "page_reads", "page_writes"),
        )
        return tuple(filter(self.has, (*times, *RATES, *counts, *SCORES)))

    def has(self, measure: str) -> bool:
        """Whether the table has a measure."""
        return getattr(self, measure, None) is not None


class SampleKeys(Measured, frozen=True, kw_only=True):
    """Keys of the samples of a run. Figures are "mean/deviation", or one number for every sample.

    Attributes:
        virtual_cpu_cs, cp_cpu_cs: processor time of the guest in a sample, 0.01 s.
        duration_s: length of a sample; without it, it follows from the exerciser's rates.
        file_kb: what the exerciser writes once and reads `read_passes` times.
        virtual_ios, page_reads, page_writes: deltas of CP INDICATE USER in a sample.
        thrasher, burner: counts of these tools in each of `periods` of `period_s`.
    """

    virtual_cpu_cs: Figures
    cp_cpu_cs: Figures
    count: Count = 10
    duration_s: Annotated[int, Meta(ge=1, le=86400)] | None = None
    file_kb: Annotated[int, Meta(ge=1, le=10**9)] = 524288
    write_kb_per_s: Figures | None = None
    read_kb_per_s: Figures | None = None
    read_passes: Annotated[int, Meta(ge=1, le=1000)] = 1
    virtual_ios: Figures | None = None
    page_reads: Figures = Figures("0")
    page_writes: Figures = Figures("0")
    resident_pages: Annotated[int, Meta(ge=0)] = 0
    working_set_pages: Annotated[int, Meta(ge=0)] = 0
    storage_mib: Annotated[int, Meta(ge=1, le=2047)] = 128
    virtual_processors: Annotated[int, Meta(ge=1, le=80)] = 1
    thrasher: Figures | None = None
    burner: Figures | None = None
    periods: Count = 10
    period_s: Annotated[int, Meta(ge=1, le=3600)] = 60


class Samples(SampleKeys, frozen=True, kw_only=True):
    """The samples of one run; `place` maps a key of their table to its place."""

    run_id: str
    place: Place

    def statistic(self, measure: str) -> Statistic:
        """The printed statistic of a measure that the run has."""
        at, figures = self.place(measure), getattr(self, measure)
        if measure in SCORES:
            return Statistic.parse(figures, self.periods, at, 0)
        return Statistic.parse(figures, self.count, at)

    def kb(self, measure: str) -> int:
        """KB that the exerciser moves in a sample: writing, or reading in all passes."""
        return self.file_kb * (self.read_passes if measure == "read_kb_per_s" else 1)


class DifferenceKeys(Measured, frozen=True, kw_only=True):
    """Keys of a run made of two others, sample by sample: `of` less `less`.

    Processor times and I/Os subtract. `read_kb_per_s` is the difference of KB read / the difference
    of times.
    """

    name: str
    of: str
    less: str
    virtual_cpu_cs: Figures | None = None
    cp_cpu_cs: Figures | None = None
    virtual_ios: Figures | None = None
    read_kb_per_s: Figures | None = None


class Difference(DifferenceKeys, frozen=True, kw_only=True):
    """A difference of two runs; `place` maps a key of its table to its place."""

    place: Place

    @property
    def ends(self) -> tuple[str, str]:
        """The two runs."""
        return self.of, self.less

    def statistic(self, measure: str, count: int) -> Statistic:
        """The printed statistic of a measure that the difference has."""
        return Statistic.parse(getattr(self, measure), count, self.place(measure))


@dataclass(frozen=True, slots=True, eq=False)
class Repetitions:
    """The samples of all runs that have any, by run, and the differences between them."""

    runs: Mapping[str, Samples]
    differences: tuple[Difference, ...]

    def connected(self, run_id: str, measure: str) -> tuple[str, ...]:
        """The runs, in the order of the file, that differences of a measure connect with a run."""
        connected = {run_id}
        for _ in self.differences:
            for difference in self.differences:
                if difference.has(measure) and connected & set(difference.ends):
                    connected |= set(difference.ends)
        return tuple(each for each in self.runs if each in connected)

    def sums(self, run_ids: tuple[str, ...], measure: str) -> dict[str, int] | None:
        """Sums of the samples of runs with their printed figures, differences included.

        A mean with one decimal determines the sum of ten samples; more samples have several
        possible sums, and not all of them are consistent. Rates do not subtract, so no difference
        connects their sums.

        Returns:
            None if no sums are consistent.
        """
        series = {run_id: self.runs[run_id].statistic(measure) for run_id in run_ids}
        count = next(iter(series.values())).count
        differences = [
            (difference, difference.statistic(measure, count))
            for difference in self.differences
            if difference.of in run_ids and difference.has(measure) and measure not in RATES
        ]
        return _choose_sums(series, differences, {})


def _choose_sums(
    series: Mapping[str, Statistic],
    differences: list[tuple[Difference, Statistic]],
    chosen: dict[str, int],
) -> dict[str, int] | None:
    """Extends the chosen sums of a measure to all runs, by backtracking; None if that fails."""
    if len(chosen) == len(series):
        return chosen
    run_id = next(each for each in series if each not in chosen)
    for total in series[run_id].totals:
        sums = {**chosen, run_id: total}
        if series[run_id].has_squares(total) and all(
            printed.prints(sums[of] - sums[less]) and printed.has_squares(sums[of] - sums[less])
            for difference, printed in differences
            for of, less in [difference.ends]
            if run_id in (of, less) and of in sums and less in sums
        ):
            complete = _choose_sums(series, differences, sums)
            if complete is not None:
                return complete
    return None


def check_figures(repetitions: Repetitions) -> None:
    """Check the samples of a scenario.

    Raises:
        CpmonError: a value is impossible; the error has its key and possible values.
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
            # The search for rates of a difference handles two runs at a time.
            if shared := with_rates & set(difference.ends):
                raise CpmonError(
                    f"difference {difference.name}: read_kb_per_s of a run is in two differences",
                    code="scenario-differences-overlap",
                    place=difference.place("read_kb_per_s"),
                    found=", ".join(sorted(shared)),
                    remedy="leave one of them out",
                )
            with_rates |= set(difference.ends)
    for difference in repetitions.differences:
        for measure in difference.measures:
            run_ids = repetitions.connected(difference.of, measure)
            if repetitions.sums(run_ids, measure) is None:
                raise CpmonError(
                    f"no samples print {measure} of {', '.join(run_ids)} and of their differences",
                    code="scenario-figures-contradict",
                    place=difference.place(measure),
                    expected="means and deviations that whole numbers can have together",
                    found=getattr(difference, measure),
                    remedy="correct the figures, or leave out the difference",
                )


def _check_least(printed: Statistic, least: int) -> None:
    if printed.mean < least:
        raise CpmonError(
            f"samples cannot have a mean of {printed.mean}",
            place=printed.place,
            expected=f"a mean of at least {least}",
            found=f"{printed.mean}",
        )


def _check_duration(run: Samples) -> None:
    """Check that a sample has a length, and that its processor time fits in it."""
    seconds = float(run.duration_s or 0)
    if run.duration_s is None:
        rates = {m: float(run.statistic(m).mean) for m in RATES if run.has(m)}
        seconds = sum(run.kb(measure) / rate for measure, rate in rates.items())
    if not seconds:
        raise CpmonError(
            f"the samples of run {run.run_id} have no length",
            code="scenario-duration-missing",
            place=run.place(""),
            expected="duration_s, write_kb_per_s or read_kb_per_s",
            remedy="add duration_s = ... there",
        )
    used = sum(run.statistic(m).mean for m in ("virtual_cpu_cs", "cp_cpu_cs"))
    room = (seconds * 100 + CLOCK_CS) * run.virtual_processors
    if used > room:
        raise CpmonError(
            f"run {run.run_id}: a sample uses more processor time than it lasts",
            code="scenario-cpu-time-exceeded",
            place=run.place("virtual_cpu_cs"),
            expected=f"at most {room:,.1f} together with cp_cpu_cs, in {seconds:,.1f} s",
            found=f"{used:,.1f}",
            remedy="lower it, or give the guest more virtual_processors",
        )


def _check_runs(difference: Difference, runs: Mapping[str, Samples], names: set[str]) -> None:
    """Check that the runs of a difference exist, and that its name is free."""
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
    """Check that the mean is the difference of the means, and the deviation within its bounds."""
    of, less = (runs[run_id] for run_id in difference.ends)
    for measure in difference.measures:
        for run in (of, less):
            if not run.has(measure):
                raise CpmonError(
                    f"difference {difference.name} needs {measure} of run {run.run_id}",
                    code="scenario-measure-missing",
                    place=difference.place(measure),
                    remedy=f"add {measure} to [run.{run.run_id}.samples]",
                )
        printed = difference.statistic(measure, of.count)
        if measure in RATES:
            _check_least(printed, 1)
            continue
        minuend, subtrahend = of.statistic(measure), less.statistic(measure)
        mean = minuend.mean - subtrahend.mean
        # Unless means of so many samples are exact, each of the three is off by up to half a digit.
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
