"""The catalogue of sample records, and the events of an interval."""

from __future__ import annotations

import numpy as np

from ..activity.sample import Sample
from ..model.system import Model
from ..numeric import I64, Bool
from . import d00_scheduler, d00_system, d03_storage, d04_user, d05_processor, d06_io, d10_appldata
from .definition import EventBatch, SampleRecord

_MODULES = (
    d00_system,
    d00_scheduler,
    d03_storage,
    d04_user,
    d05_processor,
    d06_io,
    d10_appldata,
)


SAMPLE_RECORDS: tuple[SampleRecord, ...] = tuple(
    sorted((r for module in _MODULES for r in module.RECORDS), key=lambda record: record.key)
)
"""The sample records of a system in the order in which CP writes them: by domain and number."""

SESSIONS = ("useact", "useint", "aplsdt")
"""Sample records that records at the end of sessions and transactions repeat."""


def records_sessions(model: Model) -> bool:
    """Whether records at the end of sessions or transactions are written."""
    return not {"user", "transaction"}.isdisjoint(model.measurement.scenario.monitor.events)


def rows_in_progress(sample: Sample, name: str, before: Bool, now: Bool) -> I64:
    """Rows of a session record whose progress in the interval before a sample is needed.

    Args:
        before, now: (rows,) which have a record in the previous sample, and in this one.
    """
    model, events = sample.model, sample.model.measurement.scenario.monitor.events
    ending = model.transactions.count[sample.interval] > 0 and "transaction" in events
    if ending and name != "aplsdt":
        return np.flatnonzero(before)
    if before is now:  # the mask of all rows, both times
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(before & ~now)


def interval_events(sample: Sample, progress: d04_user.Progress) -> list[EventBatch]:
    """What happened in the interval before a sample.

    Args:
        progress: of the session records.
    """
    events = sample.model.measurement.scenario.monitor.events
    if sample.model.timeline.starts(sample.number):
        return []
    batches: list[EventBatch] = []
    if "transaction" in events and "useact" in progress:
        batches += d04_user.transaction_ends(sample, progress)
    if "user" in events:
        batches += d04_user.logons(sample)
        if "useact" in progress:
            batches += d04_user.logoffs(sample, progress)
    if "processor" in events:
        batches += d05_processor.processor_events(sample)
    if "io" in events:
        batches += d06_io.device_events(sample)
    return batches
