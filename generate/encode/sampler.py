"""Encodes samples of the model, and events between them, as blocks of records with time stamps.

Events are those of sessions, transactions, MONITOR commands, and what is varied on and off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...schemas import Kind, layout
from ...schemas.unplaced import with_places
from ..activity.usage import ending_times
from ..model.measurement import TOD_PER_S
from ..model.system import Model, Sample
from ..numeric import F64, I64, U64, Bool, floor_int
from ..records.table import Counts, Record, Values, named_rows, own_names, records
from .container import Block
from .encoder import Encoder, EventBatch, encode_events, filled

_CONFIGURATION = (
    *("mtrsys", "mtrprp", "mtrdev", "mtrmem", "mtrpag"),
    *("mtrspr", "mtrusr", "mtrsch", "mtrxsg"),
)
"""Records of the configuration in CP's order; MTRSCM follows."""

_RECORD_TIME = 1_400
"""TOD units between records that are written at once."""

_SESSIONS = ("useact", "useint", "aplsdt")
"""Sample records whose fields are repeated in records at the end of sessions and transactions."""


@dataclass(frozen=True, slots=True)
class _SessionProgress:
    """Rows of a sample record in the course of an interval, for the records at a session's end.

    `rows` are their indices, ascending, `counts` the entries of each group, `begun` the values at
    the beginning of the interval by field, `deltas` those of the interval by counter.
    """

    rows: I64
    counts: Counts
    begun: Mapping[str, npt.NDArray[Any]]
    deltas: Mapping[str, npt.NDArray[Any]]

    def at(self, places: I64, share: F64, target: str) -> dict[str, npt.NDArray[Any]]:
        """Values of the fields that a target layout shares, at some moments of the interval.

        Args:
            places: (events,) indices into the rows.
            share: (events,) share of the deltas that has happened; levels do not change.
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
        """The events of some rows, (events,)."""
        totals = self.at(np.searchsorted(self.rows, rows), share, name)
        session = records()[name].values(sample, rows=rows)
        return EventBatch(name, tods, {**totals, **session})


_Progress = Mapping[str, Sequence[_SessionProgress]]
"""Session record -> progress of each of its types."""


def _interval_events(sample: Sample, progress: _Progress) -> list[EventBatch]:
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


def _consecutive_tods(first: int, count: int) -> U64:
    """(count,) TOD of records that are written at once."""
    return np.arange(first, first + count * _RECORD_TIME, _RECORD_TIME, dtype=np.uint64)


def _early_events(sample: Sample, name: str, count: int, **given: I64) -> EventBatch:
    """Simultaneous events, early in the interval; `given`: names in the record's expressions."""
    tods = _consecutive_tods(sample.model.change_tod(sample.interval), count)
    return EventBatch(name, tods, records()[name].values(sample, **given))


def _varied(sample: Sample, off: str, on: str, before: Bool, now: Bool) -> list[EventBatch]:
    """Events of processors, cores or devices that were varied off and on in the interval."""
    changes = ((off, np.flatnonzero(before & ~now)), (on, np.flatnonzero(now & ~before)))
    return [_early_events(sample, name, len(at), chosen=at) for name, at in changes]


def _logoffs(sample: Sample, progress: _Progress) -> list[EventBatch]:
    """The events of users who logged off in the interval before a sample.

    They are the last application data (APLEDT); then, for each virtual processor, the activity and
    the states of its last transaction (USEATE, USEITE); and the totals of the session (USELOF).
    """
    if not sample.leaving.any():
        return []
    tod = sample.model.change_tod(sample.interval)
    rows = np.flatnonzero(sample.leaving[sample.model.users.owner])
    tods, whole = _consecutive_tods(tod, len(rows)), np.ones(len(rows))
    batches = list[EventBatch]()
    for ended in progress.get("aplsdt", ()):
        count = len(ended.rows)
        values = ended.at(np.arange(count), np.zeros(count), "apledt")
        last = _consecutive_tods(tod - count * _RECORD_TIME, count)
        batches.append(EventBatch("apledt", last, values, ended.counts))
    return batches + [
        each.batch(name, tods, rows, whole, sample)
        for name, source in (("useate", "useact"), ("useite", "useint"), ("uselof", "useact"))
        for each in progress.get(source, ())
    ]


def _transaction_ends(sample: Sample, progress: _Progress) -> list[EventBatch]:
    """USETRE, USEATE and USEITE of every transaction that ended in the interval."""
    ends = ending_times(sample)
    if not len(ends.user):
        return []
    rows = sample.model.users.base[ends.user]
    times = records()["usetre"].values(sample, rows=rows, ends=ends)
    return [EventBatch("usetre", ends.tod, times)] + [
        each.batch(name, ends.tod, rows, ends.share, sample)
        for name, source in (("useate", "useact"), ("useite", "useint"))
        for each in progress.get(source, ())
    ]


def _monitor_commands(model: Model, number: int, started: int) -> list[tuple[int, str]]:
    """TOD and text of the commands before a sample at which monitoring begins, at a TOD, by time.

    A command without EVENT or SAMPLE applies to both.
    """
    if model.timeline.starts(number):
        return [(started, "MONITOR START")]
    interval = model.timeline.interval_of(number)
    commands = list[tuple[int, str]]()
    for each in (each for each in model.measurement.disturbances if each.interval == interval):
        if each.kind == "interval" and each.interval_s is not None:
            text = f"MONITOR SAMPLE INTERVAL {each.interval_s} SEC"
            commands.append((model.change_tod(interval), text))
        elif each.kind == "restart":
            commands += [(started - TOD_PER_S, "MONITOR STOP"), (started, "MONITOR START")]
    return sorted(commands)


class _Writer:
    """One record type, its encoder, and its last sample.

    `given` distinguishes the type from others of the record; `sample` is the first one after an
    IPL. Records that are not sampled are encoded for the events only.
    """

    def __init__(
        self, record: Record, given: dict[str, Any], sample: Sample, wrapping: bool, sampled: bool
    ) -> None:
        self.record, self.given, self.sampled = record, given, sampled
        scope, model = record.scope(sample, **given), sample.model
        self.entries = record.counts("entries", scope)
        self.encoder = Encoder(
            with_places(record.layout, model.measurement.scenario.places),
            record.rows(scope),
            model.measurement.run.cp_level,
            record.fixed(scope),
            record.ages.value(scope),
            record.wrapping if wrapping else "",
            entries=self.entries,
            sizes=record.counts("sizes", scope),
        )
        span = int(model.timeline.tod[sample.interval])
        # TOD of each row in the last sample, where the type depends on it.
        self.stamps = np.full(self.encoder.rows, np.uint64(model.clock.end(sample.number) - span))
        self.all_rows = np.ones(self.encoder.rows, dtype=np.bool_)
        self.present = ~self.all_rows

    def rows(self, sample: Sample) -> tuple[Bool, int]:
        """The rows that have a record in a sample, as a mask, and their number."""
        present = self.record.mask("present", self.record.scope(sample, **self.given))
        if present is None:
            return self.all_rows, self.encoder.rows
        return present, int(present.sum())

    def block(
        self, sample: Sample, tods: Any, present: Bool
    ) -> tuple[Block, _SessionProgress | None]:
        """The records of a sample, and the progress since the last one, for events."""
        record, encoder = self.record, self.encoder
        scope = record.scope(sample, **self.given)
        restarted = record.mask("restarted", scope)
        if restarted is not None and restarted.any():
            encoder.restart(restarted)
        if record.timed:
            scope["elapsed"] = self._elapsed(sample, tods, present)
        values = record.sampled(scope)
        if record.unmodelled:
            end = sample.model.clock.end(sample.number)
            more = filled(encoder.encoding, record.unmodelled, encoder.rows, sample.number, end)
            values = {**values, **more}
        progress = self._progress(sample, values, present)
        records = encoder.encode(tods, values, None if len(tods) == encoder.rows else present)
        self.present = present
        return Block(encoder.layout.domain, records, tods), progress

    def _progress(self, sample: Sample, values: Values, now: Bool) -> _SessionProgress | None:
        """Rows that have events in the interval, before its deltas are added; None without any."""
        model, name = sample.model, self.record.layout.name
        if name not in _SESSIONS or model.timeline.starts(sample.number):
            return None
        ending = "transaction" in model.measurement.scenario.monitor.events and name != "aplsdt"
        every = ending and model.transactions.count[sample.interval] > 0
        rows = np.flatnonzero(self.present if every else self.present & ~now)
        if not len(rows):
            return None
        begun, delta = self.encoder.current(rows), {}
        for field in values.keys() & begun.keys():
            if self.encoder.encoding.places[field].field.is_cumulative:
                shape = (self.encoder.rows, *begun[field].shape[1:])
                delta[field] = np.broadcast_to(np.asarray(values[field]), shape)[rows]
        return _SessionProgress(rows, self.entries, begun, delta)

    def _elapsed(self, sample: Sample, tods: Any, present: Bool) -> I64:
        """(rows,) TOD units since the row's last sample; the nominal length at its first one."""
        model = sample.model
        stamps = np.full(self.encoder.rows, model.clock.end(sample.number), dtype=np.uint64)
        stamps[present] = tods
        before, self.stamps = self.stamps, stamps
        if model.timeline.starts(sample.number):
            return np.full(len(stamps), int(model.timeline.tod[sample.interval]))
        return (stamps - before).view(np.int64)


class Sampler:
    """Encodes samples of the model as blocks of records, with an encoder for each record type."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._release = model.measurement.run.cp_level
        self._writers: list[_Writer] = []
        self._epoch = -1

    def blocks(self, number: int) -> tuple[list[Block], list[Block]]:
        """All records of a sample, configuration first, and the events of the interval before it.

        Call it for every sample in order, also for those that are not in the dump, so that
        counters accumulate.
        """
        sample = Sample(self.model, number)
        if self._epoch != self.model.timeline.epoch[number]:
            # Counters restart; at the first sample they hold the sum of deltas since the IPL.
            self._epoch = int(self.model.timeline.epoch[number])
            self._writers = self._new_writers(sample)
        pairs = [(writer, *writer.rows(sample)) for writer in self._writers]
        left = sum(count for writer, _, count in pairs if writer.sampled)
        tods, end = self.model.clock.records(number, left, left), self.model.clock.end(number)
        blocks, starting = list[Block](), list[EventBatch]()
        if self.model.timeline.begins[number]:
            blocks, starting = self._configuration(sample, left)
        progress: dict[str, list[_SessionProgress]] = {}
        for writer, present, count in pairs:
            # Records that are not sampled take no time; they are encoded for the events.
            stamps = tods[:count] if writer.sampled else np.full(count, np.uint64(end))
            block, passed = writer.block(sample, stamps, present)
            if passed is not None:
                progress.setdefault(writer.record.layout.name, []).append(passed)
            if writer.sampled:
                blocks.append(block)
                tods = tods[count:]
        batches = [*_interval_events(sample, progress), *starting]
        return blocks, encode_events(batches, self._release)

    def _new_writers(self, sample: Sample) -> list[_Writer]:
        """Writers of the records that the system has, after an IPL."""
        writers, measurement = list[_Writer](), self.model.measurement
        sessions = not {"user", "transaction"}.isdisjoint(measurement.scenario.monitor.events)
        for record in records().values():
            for_events = sessions and record.layout.name in _SESSIONS
            sampled = record.is_own or record.layout.domain in measurement.sampled
            if record.layout.kind is Kind.SAMPLE and (sampled or for_events):
                writers += [
                    _Writer(record, given, sample, self._epoch == 0, sampled)
                    for given in record.variants(sample)
                    if record.rows(record.scope(sample, **given))
                ]
        return writers

    def _configuration(self, sample: Sample, sampled: int) -> tuple[list[Block], list[EventBatch]]:
        """The configuration records before `sampled` records, and the events at the start."""
        model, number = self.model, sample.number
        names = (*_CONFIGURATION, *own_names(Kind.CONFIG))
        parts = {name: records()[name].rows(records()[name].scope(sample)) for name in names}
        left = sampled + sum(parts.values()) + len(_monitor_commands(model, number, 0))
        # Monitoring starts the time of 50 records before the first configuration record.
        tod = int(model.clock.records(number, left + 50, 1)[0])
        commands, batches = _monitor_commands(model, number, tod), list[EventBatch]()
        for name, rows in parts.items():
            if rows:
                tods = model.clock.records(number, left, rows)
                batches.append(EventBatch(name, tods, records()[name].values(sample)))
                left -= rows
        starting, events = list[EventBatch](), model.measurement.scenario.monitor.events
        for at, text in commands:
            # The text ends the record.
            values, sizes = {"calbyct": len(text), "calcmd": text}, {"calcmd": len(text)}
            tods = model.clock.records(number, left, 1)
            batches.append(EventBatch("mtrscm", tods, {"caltod": at, **values}, sizes=sizes))
            left -= 1
            if "monitor" in events and not text.startswith("MONITOR SAMPLE"):
                starting.append(EventBatch("mtrecm", _consecutive_tods(at, 1), values, sizes=sizes))
        profile = records()["mtrepr"].values(sample)
        starting.append(EventBatch("mtrepr", _consecutive_tods(tod, 1), profile))
        return encode_events(batches, self._release), starting
