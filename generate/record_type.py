"""How a record type is filled: levels as they are, flows as growth in the interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..schemas import layout
from .counters import Values
from .hardware import ProcessorType
from .model import Model, Sample
from .noise import F64, I64
from .timeline import Bool

PROCESSOR_TYPES: dict[ProcessorType, int] = {"CP": 0, "ZAAP": 2, "IFL": 3, "ICF": 4, "ZIIP": 5}
"""Codes of z/Architecture for the types of processors."""


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
        filled: what a sample holds.
        timed: the same where it depends on (rows,) TOD units since the sample before; instead
            of `filled`.
        ages: intervals during which counters have grown before the first sample after an IPL.
        present: (rows,) which rows a sample has; None where it has all.
        restarted: (rows,) whose counters begin anew in a sample's interval; None for nobody's.
        entries: number of entries of each group that the records have.
        wrapping: 4-byte counters of which some records pass 2**32 in every dump.
    """

    name: str
    rows: Callable[[Model], int]
    fixed: Callable[[Model], Values]
    filled: Callable[[Sample], Filled] = lambda sample: Filled()
    timed: Callable[[Sample, I64], Filled] | None = None
    ages: Callable[[Model, int], float | F64] = lambda model, sample: model.ages(sample)
    present: Callable[[Sample], Bool | None] = lambda sample: None
    restarted: Callable[[Sample], Bool | None] = lambda sample: None
    entries: Callable[[Model], Mapping[str, int]] = lambda model: {}
    wrapping: frozenset[str] = frozenset()

    @property
    def domain(self) -> int:
        """Number of the domain that it belongs to."""
        return layout(self.name).domain


def processors(model: Model) -> int:
    """One record for each processor."""
    return model.measurement.processors


def online(sample: Sample) -> Bool | None:
    """(processors,) which have records: those that are online."""
    return None if sample.all_online else sample.times.online


def one(model: Model) -> int:
    """One record for the system."""
    return 1


def cpu_addresses(model: Model) -> Values:
    """The key of the records of processors."""
    return {"pfxcpuad": np.arange(model.measurement.processors)}


def typed_processors(model: Model) -> Values:
    """The same, with the code of their type, which later releases have."""
    kind = model.measurement.machine.processor_type
    return {**cpu_addresses(model), "pfxcputy": PROCESSOR_TYPES[kind]}


def nothing(model: Model) -> Values:
    """No fixed values."""
    return {}
