"""How a record type is filled: levels as they are, flows as growth in the interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .counters import Values
from .model import Model, Sample
from .noise import F64, I64


@dataclass(frozen=True, slots=True)
class Filled:
    """Levels and flows of one record type in one sample, one number or (rows,) each."""

    levels: Values = field(default_factory=dict)
    flows: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """How one record type is filled.

    Attributes:
        name: of the layout.
        rows: records in a sample; 0 where the system has none.
        fixed: values that stay during the run.
        filled: what a sample holds. `elapsed` is (rows,) TOD units since the sample before.
        ages: intervals during which counters have grown before the first sample.
        wrapping: 4-byte counters of which some records pass 2**32 in every dump.
    """

    name: str
    rows: Callable[[Model], int]
    fixed: Callable[[Model], Values]
    filled: Callable[[Sample, I64], Filled]
    ages: Callable[[Model], float | F64] = lambda model: model.intervals_since_ipl
    wrapping: frozenset[str] = frozenset()


def processors(model: Model) -> int:
    """One record for each processor."""
    return model.measurement.processors


def one(model: Model) -> int:
    """One record for the system."""
    return 1


def cpu_addresses(model: Model) -> Values:
    """The key of the records of processors."""
    return {"pfxcpuad": np.arange(model.measurement.processors)}


def nothing(model: Model) -> Values:
    """No fixed values."""
    return {}


def still(sample: Sample, elapsed: I64) -> Filled:
    """Nothing happens in this part of the system: all zeros."""
    return Filled()
