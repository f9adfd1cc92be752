"""Definitions of records: values by field, sample record types, batches of event records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...schemas import layout
from ..activity.sample import Sample
from ..model.system import Model
from ..numeric import F64, I64, U64, Bool
from ..scenario.hardware import ProcessorType

Values = Mapping[str, Any]
"""Values by field: one or (rows,) each; of a field in entries, `group.field`, (rows, entries).

A field that the layout calls a counter is given its growth in the interval, any other its level. A
text is a `str` or an array of them. Fields that the release does not have are left out.
"""

Counts = Mapping[str, int]
"""Entries or bytes by group or field."""

PROCESSOR_TYPES: dict[ProcessorType, int] = {"CP": 0, "ZAAP": 2, "IFL": 3, "ICF": 4, "ZIIP": 5}
"""Codes of z/Architecture for the types of processors."""

RECORD_TIME = 1_400
"""TOD units from one of several records that are written at once to the next."""


def one(_model: Model) -> int:
    """One record for the system."""
    return 1


def processors(model: Model) -> int:
    """One record for each processor."""
    return model.measurement.processors


def online(sample: Sample) -> Bool | None:
    """(processors,) which have records: those that are online."""
    return None if sample.all_online else sample.times.online


def cpu_addresses(model: Model) -> Values:
    """The key of the records of processors."""
    return {"pfxcpuad": np.arange(model.measurement.processors)}


def typed_processors(model: Model) -> Values:
    """The same, with the code of their type, which later releases have."""
    kind = model.measurement.machine.processor_type
    return {**cpu_addresses(model), "pfxcputy": PROCESSOR_TYPES[kind]}


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """A type of sample record.

    Attributes:
        name: of the layout.
        values: of a sample, given (rows,) TOD units since each row's previous sample.
        rows: records in a sample; 0 where the system has none.
        fixed: values that stay during the run.
        timed: whether `values` depends on the time since the previous sample.
        ages: intervals during which counters have grown before the first sample after an IPL.
        present: (rows,) which rows a sample has; None where it has all.
        restarted: (rows,) whose counters begin anew in a sample's interval; None for nobody's.
        entries: number of entries of each group that the records have.
        wrapping: 4-byte counter of which some records pass 2**32 in every dump.
    """

    name: str
    values: Callable[[Sample, I64], Values]
    rows: Callable[[Model], int] = one
    fixed: Callable[[Model], Values] = lambda model: {}
    timed: bool = False
    ages: Callable[[Model, int], float | F64] = lambda model, sample: model.ages(sample)
    present: Callable[[Sample], Bool | None] = lambda sample: None
    restarted: Callable[[Sample], Bool | None] = lambda sample: None
    entries: Callable[[Model], Counts] = lambda model: {}
    wrapping: str = ""

    @property
    def key(self) -> tuple[int, int]:
        """Domain and record number."""
        table = layout(self.name)
        return table.domain, table.record


def sample_record(name: str, values: Callable[[Sample], Values], **more: Any) -> SampleRecord:
    """A type whose values do not depend on the time since the previous sample."""
    return SampleRecord(name, lambda sample, elapsed: values(sample), **more)


def processor_record(name: str, values: Callable[[Sample], Values], **more: Any) -> SampleRecord:
    """A type with one record for each processor that is online."""
    options = {"rows": processors, "fixed": typed_processors, "present": online, **more}
    return sample_record(name, values, **options)


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Event records of one type.

    Attributes:
        name: of the layout.
        tods: (records,) time stamps, in any order.
        values: one or (records,) each, as they are written: totals of counters too.
        entries: number of entries of each group.
        sizes: bytes of what has no length of its own.
    """

    name: str
    tods: U64
    values: Values = field(default_factory=dict)
    entries: Counts = field(default_factory=dict)
    sizes: Counts = field(default_factory=dict)


def consecutive_tods(first: int, count: int) -> U64:
    """(count,) TOD of records that are written at once."""
    tods: U64 = np.uint64(first) + np.arange(count, dtype=np.uint64) * np.uint64(RECORD_TIME)
    return tods
