"""The event records of an interval: who watches what, and what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .configuration import event_profile
from .event_data import EventBatch
from .hardware_events import device_events, processor_events
from .model import Model, Sample
from .monitor_events import Command, in_events
from .noise import I64
from .progress import Progress
from .timeline import Bool
from .user_events import logoffs, logons, transaction_ends

SESSIONS = ("useact", "useint", "aplsdt")
"""Sample records that records at the end of sessions and transactions repeat."""


def watches_sessions(model: Model) -> bool:
    """Whether records at the end of sessions or transactions are written."""
    return not {"user", "transaction"}.isdisjoint(model.measurement.scenario.monitor.events)


def watched_rows(sample: Sample, name: str, before: Bool, now: Bool) -> I64:
    """Rows of a session record whose progress in the interval before a sample is needed.

    Args:
        before, now: (rows,) which have a record in the sample before, and in this one.
    """
    model, k = sample.model, sample.interval
    events = model.measurement.scenario.monitor.events
    busy = name != "aplsdt" and "transaction" in events and model.transactions.count[k] > 0
    if before is now and not busy:  # everybody, then and now
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(before if busy else before & ~now)


def happened(sample: Sample, progress: Mapping[str, Sequence[Progress]]) -> list[EventBatch]:
    """What happened in the interval before a sample.

    Args:
        progress: of the session records, by name.
    """
    events = sample.model.measurement.scenario.monitor.events
    if sample.model.timeline.starts(sample.number):
        return []
    found: list[EventBatch] = []
    activity, interaction = (next(iter(progress.get(n, ())), None) for n in SESSIONS[:2])
    if "transaction" in events and activity is not None:
        found += transaction_ends(sample, activity, interaction)
    if "user" in events:
        found += logons(sample)
        if activity is not None:
            found += logoffs(sample, activity, interaction, progress.get("aplsdt", ()))
    if "processor" in events:
        found += processor_events(sample)
    if "io" in events:
        found += device_events(sample)
    return found


def started(model: Model, tod: int, given: list[Command]) -> list[EventBatch]:
    """What is recorded where monitoring starts: the commands and the event profile (MTREPR)."""
    profile = EventBatch("mtrepr", np.array([tod], dtype=np.uint64), event_profile(model))
    recorded = "monitor" in model.measurement.scenario.monitor.events
    return [*(in_events(given) if recorded else []), profile]
