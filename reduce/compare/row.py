"""Rows of a comparison table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from ..render.printing import Format

SOURCES = {
    "t": "load generator",
    "h": "hardware instrumentation",
    "v": "reduction of monitor data",
    "m": "monitor field taken directly",
    "qt": "CP QUERY TIME",
    "i": "CP INDICATE USER",
    "tool": "output of the workload program",
    "cfg": "set-up of the run",
    "calc": "calculated",
}
NOT_MEASURED = frozenset({"run_id", "system", "since", "until", "base_run_id", "cp_level"})
"""Columns of run_summary that are texts and times: they can stand in the header, not in a row."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row; of `measure`, `samples`, `total`, `attribute` and `terms` one is not empty.

    Attributes:
        measure: column of `run_summary`.
        samples: measure of `run_samples`, printed as N, mean and standard deviation.
        total: measure of `run_samples`, summed over the run.
        attribute: attribute of the run, printed as it is.
        terms: (sign, label) of rows above that are added as they were printed.
        scale: what a value is multiplied by before it is printed.
        whole: mean and deviation of samples are printed as integers.
        quotient: of a rate, the measures that it divides: amount and time. Rates of two runs
            cannot be subtracted; their amounts and times can.
        texts: run -> text that stands there instead of a value.
        notes: run -> note that stands behind the value.
    """

    label: str
    source: str
    form: Format
    measure: str = ""
    samples: str = ""
    total: str = ""
    attribute: str = ""
    terms: tuple[tuple[int, str], ...] = ()
    scale: int | Decimal = 1
    whole: bool = False
    quotient: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def sampled(self) -> tuple[str, ...]:
        """Every measure of `run_samples` that the row needs."""
        return tuple(name for name in (self.samples, self.total, *self.quotient) if name)
