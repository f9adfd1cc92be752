"""Events of an interval: sessions, transactions, MONITOR commands, what is varied on and off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...schemas import Kind, layout
from ..activity.transactions import ending_times
from ..model.measurement import TOD_PER_S
from ..model.system import Model, Sample
from ..numeric import F64, I64, U64, Bool, floor_int
from .table import Counts, Values, named_rows, own_names, records

CONFIGURATION = (
    *("mtrsys", "mtrprp", "mtrdev", "mtrmem", "mtrpag"),
    *("mtrspr", "mtrusr", "mtrsch", "mtrxsg"),
)
"""Records of the configuration in CP's order; MTRSCM follows."""

RECORD_TIME = 1_400
"""TOD units between records that are written at once."""

SESSIONS = ("useact", "useint", "aplsdt")
"""Sample records whose fields are repeated in records at the end of sessions and transactions."""


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Event records of one type.

    Attributes:
        name: of the layout.
        tods: (records,) time stamps, in any order.
        values: one or (records,) each, as written: counters are totals.
        entries: number of entries of each group.
        sizes: bytes of parts without a length of their own.
    """

    name: str
    tods: U64
    values: Values = field(default_factory=dict)
    entries: Counts = field(default_factory=dict)
    sizes: Counts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionProgress:
    """Rows of a sample record in the course of an interval, for the records at a session's end.

    Attributes:
        rows: (rows,) indices, ascending.
        counts: number of entries of each group of the records.
        begun: (rows,) or (rows, entries) by field: values at the beginning of the interval.
        deltas: (rows,) or (rows, entries) by counter: deltas of the interval.
    """

    rows: I64
    counts: Counts
    begun: Mapping[str, npt.NDArray[Any]]
    deltas: Mapping[str, npt.NDArray[Any]]

    def at(self, places: I64, share: F64, target: str) -> dict[str, npt.NDArray[Any]]:
        """Values of the fields that another record type shares, at some moments of the interval.

        Levels are those at the beginning of the interval.

        Args:
            places: (events,) indices into the rows.
            share: (events,) share of the deltas that has happened.
            target: layout of the other record type.
        """
        # A field over the bytes of another one has no value of its own.
        fields = {name for name, row in named_rows(layout(target)) if not getattr(row, "of", "")}
        values = {}
        for name in self.begun.keys() & fields:
            values[name] = self.begun[name][places]
            if name in self.deltas:
                delta = self.deltas[name][places]
                part = share.reshape(-1, *[1] * (delta.ndim - 1))
                values[name] = values[name] + floor_int(delta * part)
        return values

    def batch(self, name: str, tods: U64, rows: I64, share: F64, sample: Sample) -> EventBatch:
        """The events of some rows.

        Args:
            rows: (events,) row of each.
        """
        totals = self.at(np.searchsorted(self.rows, rows), share, name)
        session = records()[name].values(sample, rows=rows)
        return EventBatch(name, tods, {**totals, **session})


Progress = Mapping[str, Sequence[SessionProgress]]
"""Session record -> progress of each of its types."""


def records_sessions(model: Model) -> bool:
    """Whether records at the end of sessions or transactions are written."""
    return not {"user", "transaction"}.isdisjoint(model.measurement.scenario.monitor.events)


def rows_in_progress(sample: Sample, name: str, before: Bool, now: Bool) -> I64:
    """Rows of a session record for which the interval before a sample needs progress.

    Args:
        before, now: (rows,) whether they have a record in the previous sample, and in this one.
    """
    model, events = sample.model, sample.model.measurement.scenario.monitor.events
    ending = model.transactions.count[sample.interval] > 0 and "transaction" in events
    if ending and name != "aplsdt":
        return np.flatnonzero(before)
    return np.flatnonzero(before & ~now)


def interval_events(sample: Sample, progress: Progress) -> list[EventBatch]:
    """The events of the interval before a sample."""
    events = sample.model.measurement.scenario.monitor.events
    if sample.model.timeline.starts(sample.number):
        return []
    batches: list[EventBatch] = []
    if "transaction" in events and "useact" in progress:
        batches += _transaction_ends(sample, progress)
    if "user" in events:
        rows = np.flatnonzero(sample.arriving[sample.model.users.owner])
        batches.append(_early_events(sample, "uselon", len(rows), rows=rows))
        if "useact" in progress:
            batches += _logoffs(sample, progress)
    for name in own_names(Kind.EVENT):
        count = records()[name].rows(records()[name].scope(sample))
        batches.append(_early_events(sample, name, count, rows=np.arange(count)))
    if sample.varied and "processor" in events:
        before, now = Sample(sample.model, sample.number - 1).times, sample.times
        batches += _varied(sample, "prcvof", "prcvon", before.online, now.online)
        cores = slice(None, None, sample.model.measurement.machine.threads)
        batches += _varied(sample, "prcpup", "prcpup", ~before.parked[cores], ~now.parked[cores])
    if sample.varied and "io" in events:
        batches += _varied(sample, "iodvof", "iodvon", sample.volumes_before, sample.volumes_online)
    return batches


def consecutive_tods(first: int, count: int) -> U64:
    """(count,) TOD of records that are written at once."""
    tods: U64 = np.uint64(first) + np.arange(count, dtype=np.uint64) * np.uint64(RECORD_TIME)
    return tods


def _early_events(sample: Sample, name: str, count: int, **given: I64) -> EventBatch:
    """Simultaneous events, early in the interval before a sample.

    Args:
        given: values of names in the record's expressions.
    """
    tods = consecutive_tods(sample.model.change_tod(sample.interval), count)
    return EventBatch(name, tods, records()[name].values(sample, **given))


def _varied(sample: Sample, off: str, on: str, before: Bool, now: Bool) -> list[EventBatch]:
    """Events of processors, cores or devices that were varied off and on in the interval."""
    changes = ((off, np.flatnonzero(before & ~now)), (on, np.flatnonzero(now & ~before)))
    return [_early_events(sample, name, len(at), chosen=at) for name, at in changes]


def _logoffs(sample: Sample, progress: Progress) -> list[EventBatch]:
    """The events of users who logged off in the interval before a sample.

    They are the last application data (APLEDT); then, for each virtual processor, the activity and
    the states of its last transaction (USEATE, USEITE); and the totals of the session (USELOF).
    """
    leaving = sample.leaving
    if not leaving.any():
        return []
    tod = sample.model.change_tod(sample.interval)
    rows = np.flatnonzero(leaving[sample.model.users.owner])
    tods, whole = consecutive_tods(tod, len(rows)), np.ones(len(rows))
    batches = []
    for ended in progress.get("aplsdt", ()):
        count = len(ended.rows)
        values = ended.at(np.arange(count), np.zeros(count), "apledt")
        last = consecutive_tods(tod - count * RECORD_TIME, count)
        batches.append(EventBatch("apledt", last, values, ended.counts))
    for name, source in (("useate", "useact"), ("useite", "useint"), ("uselof", "useact")):
        batches += [
            each.batch(name, tods, rows, whole, sample) for each in progress.get(source, ())
        ]
    return batches


def _transaction_ends(sample: Sample, progress: Progress) -> list[EventBatch]:
    """USETRE, USEATE and USEITE of every transaction that ended in the interval."""
    ends = ending_times(sample)
    if not len(ends.user):
        return []
    rows = sample.model.users.base[ends.user]
    times = records()["usetre"].values(sample, rows=rows, ends=ends)
    batches = [EventBatch("usetre", ends.tod, times)]
    for name, source in (("useate", "useact"), ("useite", "useint")):
        for each in progress.get(source, ()):
            batches.append(each.batch(name, ends.tod, rows, ends.share, sample))
    return batches


Command = tuple[int, str]
"""TOD and text of a MONITOR command; without EVENT or SAMPLE it applies to both."""


def monitor_commands(model: Model, number: int, started: int) -> list[Command]:
    """The commands before a sample at which monitoring begins, by time.

    Args:
        started: TOD at which monitoring started.
    """
    if model.timeline.starts(number):
        return [(started, "MONITOR START")]
    interval = model.timeline.interval_of(number)
    commands = list[Command]()
    for disturbance in model.measurement.disturbances:
        if disturbance.interval != interval:
            continue
        if disturbance.kind == "interval" and disturbance.interval_s is not None:
            text = f"MONITOR SAMPLE INTERVAL {disturbance.interval_s} SEC"
            commands.append((model.change_tod(interval), text))
        elif disturbance.kind == "restart":
            commands += [(started - TOD_PER_S, "MONITOR STOP"), (started, "MONITOR START")]
    return sorted(commands)


def configuration(sample: Sample, started: int) -> list[tuple[str, int, Values, Counts]]:
    """Layout name, rows, values and sizes of each configuration record, in CP's order.

    Args:
        started: TOD at which monitoring started.
    """
    parts = list[tuple[str, int, Values, Counts]]()
    for name in (*CONFIGURATION, *own_names(Kind.CONFIG)):
        record = records()[name]
        rows = record.rows(record.scope(sample))
        if rows:
            parts.append((name, rows, record.values(sample), {}))
    for tod, text in monitor_commands(sample.model, sample.number, started):
        parts.append(("mtrscm", 1, {"caltod": tod, **_command(text)}, {"calcmd": len(text)}))
    return parts


def start_events(sample: Sample, tod: int, commands: Iterable[Command]) -> list[EventBatch]:
    """The events at the start of monitoring: commands (MTRECM) and the event profile (MTREPR)."""
    recorded = [
        EventBatch("mtrecm", consecutive_tods(at, 1), _command(text), sizes={"calcmd": len(text)})
        for at, text in commands
        if not text.startswith("MONITOR SAMPLE")
    ]
    if "monitor" not in sample.model.measurement.scenario.monitor.events:
        recorded = []
    profile = records()["mtrepr"].values(sample)
    return [*recorded, EventBatch("mtrepr", consecutive_tods(tod, 1), profile)]


def _command(text: str) -> Values:
    """The fields that MTRECM and MTRSCM share; the text ends the record."""
    return {"calbyct": len(text), "calcmd": text}
