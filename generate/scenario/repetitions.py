"""Repeated samples in a scenario: `[run.NAME.samples]` and `[[differences]]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from ...config import Place, Table
from ...config.positions import dotted
from .statistic import Figures, Statistic
from .values import NonNegativeInt, ProcessorCount

RATES = ("write_kb_per_s", "read_kb_per_s")

SERIES = ("virtual_cpu_cs", "cp_cpu_cs", *RATES, "virtual_ios", "page_reads", "page_writes")
"""Measures of a sample; all of them are whole numbers."""

SCORES = ("thrasher", "burner")
"""Tools that count in periods of their own; their figures are printed without decimals."""

CLOCK_CS = 99
"""What a sample may last longer than the difference of its stamps, whole seconds, 0.01 s."""

Count = Annotated[int, Meta(ge=1, le=100)]


def run_key(run_id: str) -> str:
    """The key of a run's table in a scenario."""
    return dotted("run", run_id)


class Measured(Table, frozen=True, kw_only=True):
    """A table with figures of measures."""

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that it has figures of."""
        return tuple(measure for measure in (*SERIES, *SCORES) if self.has(measure))

    def has(self, measure: str) -> bool:
        """Whether it has figures of a measure."""
        return getattr(self, measure, None) is not None


class SampleKeys(Measured, frozen=True, kw_only=True):
    """Keys of the samples of a run. Figures are "mean/deviation", or one number for every sample.

    Attributes:
        virtual_cpu_cs, cp_cpu_cs: processor time of the guest in a sample, 0.01 s.
        duration_s: length of a sample; without it, it follows from the exerciser's rates.
        file_kb: what the exerciser writes once and reads `read_passes` times.
        virtual_ios, page_reads, page_writes: what CP INDICATE USER counts in a sample.
        thrasher, burner: what these tools count in each of `periods` of `period_s`.
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
    resident_pages: NonNegativeInt = 0
    working_set_pages: NonNegativeInt = 0
    storage_mib: Annotated[int, Meta(ge=1, le=2047)] = 128
    virtual_processors: ProcessorCount = 1
    thrasher: Figures | None = None
    burner: Figures | None = None
    periods: Count = 10
    period_s: Annotated[int, Meta(ge=1, le=3600)] = 60


class Samples(SampleKeys, frozen=True, kw_only=True):
    """The samples of one run; `place` is where a key of their table stands."""

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

    Processor times and I/Os subtract. `read_kb_per_s` is what was read more over the time that it
    took more.
    """

    name: str
    of: str
    less: str
    virtual_cpu_cs: Figures | None = None
    cp_cpu_cs: Figures | None = None
    virtual_ios: Figures | None = None
    read_kb_per_s: Figures | None = None


class Difference(DifferenceKeys, frozen=True, kw_only=True):
    """A difference of two runs; `place` is where a key of its table stands."""

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
        """Sums of the samples of runs that print as they do, differences included.

        Ten samples have one sum that prints a mean with one decimal; more samples have several, and
        not each of them goes with the others. Rates do not subtract, so no difference connects
        their sums.

        Returns:
            None if no sums go together.
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
    """A sum for each run's samples of one measure, those chosen already included."""
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
