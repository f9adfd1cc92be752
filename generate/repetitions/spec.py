"""What a scenario says of repeated samples: `[run.NAME.samples]` and `[[differences]]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_args

from ..tables import Limits, ScenarioError, read_table, unknown_key
from .statistic import Statistic

SERIES = (
    "virtual_cpu_cs",
    "cp_cpu_cs",
    "write_kb_per_s",
    "read_kb_per_s",
    "virtual_ios",
    "page_reads",
    "page_writes",
)
"""Measures of a sample; all of them are whole numbers."""

SCORES = ("thrasher", "burner")
"""Tools that count in periods of their own; their figures are printed without decimals."""

CLOCK_CS = 99
"""What a sample may last longer than the difference of its stamps, whole seconds, 0.01 s."""

RATES = ("write_kb_per_s", "read_kb_per_s")

Count = Limits(least=1, most=100)
Positive = Limits(least=0)


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one run. Figures are "mean/deviation", or one number for every sample.

    Attributes:
        virtual_cpu_cs, cp_cpu_cs: processor time of the guest in a sample, 0.01 s.
        duration_s: length of a sample; without it, it follows from the exerciser's rates.
        file_kb: what the exerciser writes once and reads `read_passes` times.
        virtual_ios, page_reads, page_writes: what CP INDICATE USER counts in a sample.
        thrasher, burner: what these tools count in each of `periods` of `period_s`.
    """

    run_id: str
    virtual_cpu_cs: str
    cp_cpu_cs: str
    count: Annotated[int, Count] = 10
    duration_s: Annotated[int, Limits(least=1, most=86400)] | None = None
    file_kb: Annotated[int, Limits(least=1, most=10**9)] = 524288
    write_kb_per_s: str | None = None
    read_kb_per_s: str | None = None
    read_passes: Annotated[int, Limits(least=1, most=1000)] = 1
    virtual_ios: str | None = None
    page_reads: str = "0"
    page_writes: str = "0"
    resident_pages: Annotated[int, Positive] = 0
    working_set_pages: Annotated[int, Positive] = 0
    storage_mib: Annotated[int, Limits(least=1, most=2047)] = 128
    virtual_processors: Annotated[int, Limits(least=1, most=64)] = 1
    thrasher: str | None = None
    burner: str | None = None
    periods: Annotated[int, Count] = 10
    period_s: Annotated[int, Limits(least=1, most=3600)] = 60

    def has(self, measure: str) -> bool:
        """Whether the run has figures of a measure."""
        return getattr(self, measure) is not None

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that the run has figures of."""
        return tuple(measure for measure in (*SERIES, *SCORES) if self.has(measure))

    def statistic(self, measure: str, file: str) -> Statistic:
        """What is printed of a measure that the run has."""
        is_score = measure in SCORES
        count = self.periods if is_score else self.count
        key = f"{file}: run.{self.run_id}.samples.{measure}"
        return Statistic.parse(getattr(self, measure), count, key, 0 if is_score else 1)

    def kb(self, measure: str) -> int:
        """KB that the exerciser moves in a sample: writing, or reading in all passes."""
        return self.file_kb * (self.read_passes if measure == "read_kb_per_s" else 1)


@dataclass(frozen=True, slots=True)
class Difference:
    """A run made of two others, sample by sample: `of` less `less`.

    Processor times and I/Os subtract. `read_kb_per_s` is what was read more over the time that it
    took more.
    """

    name: str
    of: str
    less: str
    virtual_cpu_cs: str | None = None
    cp_cpu_cs: str | None = None
    virtual_ios: str | None = None
    read_kb_per_s: str | None = None

    def has(self, measure: str) -> bool:
        """Whether the difference has figures of a measure."""
        return getattr(self, measure, None) is not None

    def key(self, measure: str, file: str) -> str:
        """Where a figure stands, for messages."""
        return f"{file}: differences.{self.name}.{measure}"

    def statistic(self, measure: str, count: int, file: str) -> Statistic:
        """What is printed of a measure that the difference has."""
        return Statistic.parse(getattr(self, measure), count, self.key(measure, file))


def read_samples(run_id: str, values: Any, file: str) -> Samples:
    """The table `[run.NAME.samples]`.

    Raises:
        ScenarioError: an unknown key, or a value that cannot be.
    """
    place = f"run.{run_id}.samples"
    numbers = _as_text(_table(values, file, place), (*SERIES, *SCORES))
    if "run_id" in numbers:
        keys = [each.name for each in fields(Samples) if each.name != "run_id"]
        raise unknown_key("run_id", keys, file, place)
    return read_table(Samples, {**numbers, "run_id": run_id}, file, place)


def read_differences(rows: Any, file: str) -> tuple[Difference, ...]:
    """The tables `[[differences]]`.

    Raises:
        ScenarioError: an unknown key, or a value that cannot be.
    """
    if not isinstance(rows, list):
        raise ScenarioError(
            "differences is a list of tables",
            place=f"{file}: differences",
            expected="[[differences]]",
            found=repr(rows),
        )
    places = [f"differences[{number}]" for number in range(1, len(rows) + 1)]
    return tuple(
        read_table(Difference, _as_text(_table(row, file, place), SERIES), file, place)
        for row, place in zip(rows, places, strict=True)
    )


def _table(value: Any, file: str, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ScenarioError(
            f"{place} is a table", place=f"{file}: {place}", expected="a table", found=repr(value)
        )
    return value


def _as_text(values: Mapping[str, Any], figures: tuple[str, ...]) -> dict[str, Any]:
    """The table with plain numbers where figures stand as the texts that they print as."""
    plain = {
        key: str(value)
        for key, value in values.items()
        if key in figures and type(value) in get_args(int | float)
    }
    return {**values, **plain}
