"""Encodes samples of the model, and events between them, as blocks of records with time stamps.

Events are those of sessions, transactions, MONITOR commands, and what is varied on and off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...schemas import Kind, layout
from ...schemas.unplaced import with_places
from ..activity.usage import ending_times
from ..model.measurement import TOD_PER_S, moment
from ..model.population import matching
from ..model.presence import Ending, Stay
from ..model.system import Model, Sample
from ..numeric import F64, I64, U64, Bool, floor_int
from ..records.table import Counts, Record, RecordScope, Values, named_rows, own_names, records
from ..scenario.scenario import Event
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

    `rows` are their indices, ascending, `users` the indices of their users, `counts` the entries of
    each group, `sizes` the bytes of parts without a length of their own, `begun` the values at the
    beginning of the interval by field, `deltas` those of the interval by counter.
    """

    rows: I64
    users: I64
    counts: Counts
    sizes: Counts
    begun: Mapping[str, npt.NDArray[Any]]
    deltas: Mapping[str, npt.NDArray[Any]]

    def at(
        self, places: I64, share: F64, target: str, fresh: Bool | None = None
    ) -> dict[str, npt.NDArray[Any]]:
        """Values of the fields that a target layout shares, at some moments of the interval.

        Args:
            places: (events,) indices into the rows.
            share: (events,) share of the deltas that has happened; levels do not change.
            fresh: (events,) which began in the interval, so that their counts began at zero.
        """
        # A field over the bytes of another one has no value of its own.
        fields = {name for name, row in named_rows(layout(target)) if not getattr(row, "of", "")}
        values = {}
        for name in self.begun.keys() & fields:
            values[name] = self.begun[name][places]
            if name in self.deltas:
                delta = self.deltas[name][places]
                aligned = (-1, *[1] * (delta.ndim - 1))
                if fresh is not None:
                    values[name] = np.where(fresh.reshape(aligned), 0, values[name])
                values[name] = values[name] + floor_int(delta * share.reshape(aligned))
        return values


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
        batches += _sessions(sample, progress)
    for name in own_names(Kind.EVENT):
        count = records()[name].rows(records()[name].scope(sample))
        at = int(sample.model.timeline.edges[sample.interval]) + TOD_PER_S
        batches.append(_events(sample, name, at, count, rows=np.arange(count)))
    if "processor" in events:
        batches += _varied(sample, "prcvof", "prcvon", sample.processors)
        batches += _varied(
            sample, "prcpup", "prcpup", sample.unparked, sample.model.measurement.machine.threads
        )
    if "io" in events:
        batches += _varied(sample, "iodvof", "iodvon", sample.devices)
        batches += _varied(sample, "iodmof", "iodmon", _besides(sample.measured, sample.devices))
    if "storage" in events:
        batches += _varied(sample, "stoasd", "stoasc", sample.disks)
    if "network" in events:
        batches += _varied(sample, "vndlsd", "vndlsu", sample.adapters)
    return _suspended(sample, [*batches, *_told(sample, events)])


def _suspended(sample: Sample, batches: Sequence[EventBatch]) -> list[EventBatch]:
    """The events of an interval that are recorded, and the records of a suspension of that."""
    model, left, lost = sample.model, list[EventBatch](), 0
    begin, end = (int(edge) for edge in model.timeline.edges[sample.interval :][:2])
    told = [each for each in model.measurement.events if each.kind == "suspend"]
    spans = [(moment(each.at_s), moment(each.at_s + each.lasts_s)) for each in told]
    if not spans:
        return [*batches]
    for batch in batches:
        after = (batch.tods - np.uint64(model.clock.origin)).astype(np.int64)
        kept = ~np.any([(after >= since) & (after < until) for since, until in spans], axis=0)
        lost += int(len(kept) - kept.sum())
        values = {
            name: np.asarray(value)[kept] if np.shape(value)[:1] == kept.shape else value
            for name, value in batch.values.items()
        }
        left.append(replace(batch, tods=batch.tods[kept], values=values))
    for place, name in enumerate(("mtrsos", "mtrsus")):
        for at in (span[place] for span in spans if begin < span[place] <= end):
            count = {"lostrcct": lost} if place else {}
            left.append(EventBatch(name, _consecutive_tods(model.clock.origin + at, 1), count))
    return left


_TOLD = {
    "quickdsp": ("sclsqd", "user"),
    "attach": ("iodatd", "io"),
    "detach": ("ioddtd", "io"),
}
"""Record and domain of events that change no sample."""


def _told(sample: Sample, events: Collection[str]) -> list[EventBatch]:
    """The records of events that change no sample of an object, and of storage that is added."""
    model, batches = sample.model, list[EventBatch]()
    begin, end = (int(edge) for edge in model.timeline.edges[sample.interval :][:2])
    for each in (e for e in model.measurement.events if begin < moment(e.at_s) <= end):
        at = moment(each.at_s)
        name, domain = _TOLD.get(each.kind, ("", ""))
        if domain in events:
            chosen = model.volumes.devices == int(each.device or "0", 16)
            if domain == "user":
                logged_on = model.population.users.states(at)
                chosen = matching(model.users.names, each.users) & logged_on
            rows = np.flatnonzero(chosen)
            batches.append(_events(sample, name, at, len(rows), chosen=rows))
        elif each.kind == "area-add" and "storage" in events:
            rows = np.flatnonzero(model.volumes.devices == int(each.device, 16))
            batches.append(_events(sample, "stoatc", at, len(rows), chosen=rows))
        elif each.kind == "storage-add" and "storage" in events:
            batches.append(_events(sample, "storst", at, 1))
            later = at + TOD_PER_S // 2
            batches.append(_events(sample, "stoadd", later, 1, added_mib=each.storage_mib))
    return batches


def _besides(stay: Stay, others: Stay) -> Stay:
    """What begins and ends of objects by themselves, without what of others does it with them."""
    come, gone = dict(others.begins), {each.moment: each.objects for each in others.ends}
    begins = ((at, objects & ~come[at] if at in come else objects) for at, objects in stay.begins)
    ends = (
        each._replace(objects=each.objects & ~gone[each.moment]) if each.moment in gone else each
        for each in stay.ends
    )
    return stay._replace(begins=(*begins,), ends=(*ends,))


def _consecutive_tods(first: int, count: int) -> U64:
    """(count,) TOD of records that are written at once."""
    return np.arange(first, first + count * _RECORD_TIME, _RECORD_TIME, dtype=np.uint64)


def _events(sample: Sample, name: str, moment: int, count: int, **given: Any) -> EventBatch:
    """Simultaneous events at a moment; `given`: names in the record's expressions."""
    tods = _consecutive_tods(sample.model.clock.origin + moment, count)
    return EventBatch(name, tods, records()[name].values(sample, moment=moment, **given))


def _varied(sample: Sample, off: str, on: str, stay: Stay, each: int = 1) -> list[EventBatch]:
    """Events of processors, cores of some threads each, or devices that ended and began."""
    changes = [(off, ending.moment, ending.objects) for ending in stay.ends]
    changes += [(on, moment, objects) for moment, objects in stay.begins]
    chosen = ((name, at, np.flatnonzero(objects[::each])) for name, at, objects in changes)
    return [_events(sample, name, at, len(rows), chosen=rows) for name, at, rows in chosen]


def _sessions(sample: Sample, progress: _Progress) -> list[EventBatch]:
    """The events of users in the interval before a sample: of sessions, processors, settings."""
    model, batches, owner = sample.model, list[EventBatch](), sample.model.users.owner
    alone = _besides(
        sample.rows,
        sample.users._replace(
            begins=tuple((at, users[owner]) for at, users in sample.users.begins),
            ends=tuple(e._replace(objects=e.objects[owner]) for e in sample.users.ends),
        ),
    )
    for at, users in sample.users.begins:
        rows = np.flatnonzero(users[owner] & model.population.processors.states(at))
        batches.append(_events(sample, "uselon", at, len(rows), rows=rows))
    for ending in sample.users.ends:
        batches += _logoffs(sample, ending, progress)
    changes = [("usedfc", at, rows) for at, rows in alone.begins]
    changes += [("usedtc", ending.moment, ending.objects) for ending in alone.ends]
    for name, at, objects in changes:
        rows = np.flatnonzero(objects)
        batches.append(_events(sample, name, at, len(rows), rows=rows))
    begin, end = (int(edge) for edge in model.timeline.edges[sample.interval :][:2])
    for at, users, _ in (each for each in model.population.shares if begin < each[0] <= end):
        chosen = np.flatnonzero(users)
        batches.append(_events(sample, "sclshr", at, len(chosen), chosen=chosen))
    return batches


def _logoffs(sample: Sample, ending: Ending, progress: _Progress) -> list[EventBatch]:
    """The events of users who log off at a moment of the interval before a sample.

    They are the last application data (APLEDT); then, for each virtual processor, the activity and
    the states of its last transaction (USEATE, USEITE); and the totals of the session (USELOF).
    """
    model = sample.model
    owner, tod = model.users.owner, model.clock.origin + ending.moment
    defined = model.population.processors.states(ending.moment - 1)
    rows = np.flatnonzero(ending.objects[owner] & defined)
    tods = _consecutive_tods(tod, len(rows))
    batches = list[EventBatch]()
    for each in progress.get("aplsdt", ()):
        places = np.flatnonzero((ending.objects & ~ending.fresh)[each.users])
        values = each.at(places, np.zeros(len(places)), "apledt")
        last = _consecutive_tods(tod - len(places) * _RECORD_TIME, len(places))
        batches.append(EventBatch("apledt", last, values, each.counts, each.sizes))
    (own,) = (e for e in sample.rows.ends if e.moment == ending.moment)
    for name, source in (("useate", "useact"), ("useite", "useint"), ("uselof", "useact")):
        for each in progress.get(source, ()):
            places = np.searchsorted(each.rows, rows)
            totals = each.at(places, own.share[rows], name, own.fresh[rows])
            session = records()[name].values(sample, rows=rows, moment=ending.moment - 1)
            batches.append(EventBatch(name, tods, {**totals, **session}))
    return batches


def _transaction_ends(sample: Sample, progress: _Progress) -> list[EventBatch]:
    """USETRE, USEATE and USEITE of every transaction that ended in the interval."""
    ends = ending_times(sample)
    if not len(ends.user):
        return []
    rows = sample.model.users.base[ends.user]
    times = records()["usetre"].values(sample, rows=rows, ends=ends)
    moment, batches = int(sample.model.timeline.edges[sample.interval]) + 1, list[EventBatch]()
    for name, source in (("useate", "useact"), ("useite", "useint")):
        for each in progress.get(source, ()):
            totals = each.at(np.searchsorted(each.rows, rows), ends.share, name)
            session = records()[name].values(sample, rows=rows, moment=moment)
            batches.append(EventBatch(name, ends.tod, {**totals, **session}))
    return [EventBatch("usetre", ends.tod, times), *batches]


def _monitor_commands(model: Model, number: int, started: int) -> list[tuple[int, str]]:
    """TOD and text of the commands before a sample at which monitoring begins, at a TOD, by time.

    A command without EVENT or SAMPLE applies to both.
    """
    if model.timeline.starts(number):
        return [(started, "MONITOR START")]
    begin, end = (int(edge) for edge in model.timeline.edges[number - 1 : number + 1])
    commands = list[tuple[int, str]]()
    for each in (e for e in model.measurement.events if begin < moment(e.at_s) <= end):
        if each.kind == "restart":
            commands += [(started - TOD_PER_S, "MONITOR STOP"), (started, "MONITOR START")]
        elif text := _command(each, model.measurement.scenario.monitor.high_frequency_s):
            commands.append((model.clock.origin + moment(each.at_s), text))
    return sorted(commands)


def _command(event: Event, high_frequency_s: float) -> str:
    """Text of the MONITOR command of an event that changes what is sampled; "" for others."""
    match event.kind:
        case "interval":
            return f"MONITOR SAMPLE INTERVAL {event.interval_s} SEC"
        case "sample-disable" | "sample-enable" if event.domain == "io":
            which = f"DEVICE {event.device}" if event.device else "ALL"
            return f"MONITOR SAMPLE {event.kind[7:].upper()} I/O {which}"
        case "sample-disable" | "sample-enable":
            which = f"USERID {event.users}" if event.users else "ALL"
            return f"MONITOR SAMPLE {event.kind[7:].upper()} USER {which}"
        case "rate-stop":
            return "MONITOR SAMPLE RATE STOP"
        case "rate-start":
            return f"MONITOR SAMPLE RATE {high_frequency_s:.2f} SEC"
    return ""


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
        self.sizes = record.counts("sizes", scope)
        self.encoder = Encoder(
            with_places(record.layout, model.measurement.scenario.places),
            record.rows(scope),
            model.measurement.run.cp_level,
            record.fixed(scope),
            record.ages.value(scope),
            record.wrapping if wrapping else "",
            entries=self.entries,
            sizes=self.sizes,
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
        if record.timed:
            scope["elapsed"] = self._elapsed(sample, tods, present)
        values = record.sampled(scope)
        if record.unmodelled:
            end = sample.model.clock.end(sample.number)
            more = filled(encoder.encoding, record.unmodelled, encoder.rows, sample.number, end)
            values = {**values, **more}
        progress = self._progress(sample, scope, values)
        if restarted is not None and restarted.any():
            encoder.restart(restarted)
            values = self._after(restarted, values, record.lasting(scope))
        counting = record.mask("counting", scope)
        shown = None if counting is None and len(tods) == encoder.rows else present
        records = encoder.encode(tods, values, shown, counting)
        self.present = present
        return Block(encoder.layout.domain, records, tods), progress

    def _after(self, restarted: Bool, values: Values, lasting: F64) -> Values:
        """The values, with those deltas of restarted rows that come after the restart."""
        after, places = dict(values), self.encoder.encoding.places
        for name in values.keys() & places.keys():
            place = places[name]
            if place.field.is_cumulative:
                delta = np.broadcast_to(np.asarray(values[name]), place.shape(self.encoder.rows))
                part = lasting.reshape(-1, *[1] * (delta.ndim - 1))
                kept = ~restarted.reshape(part.shape)
                after[name] = np.where(kept, delta, np.floor(delta * part)).astype(np.int64)
        return after

    def _progress(
        self, sample: Sample, scope: RecordScope, values: Values
    ) -> _SessionProgress | None:
        """Rows that have events in the interval, before its deltas are added; None without any."""
        model, name = sample.model, self.record.layout.name
        if name not in _SESSIONS or model.timeline.starts(sample.number):
            return None
        ending = "transaction" in model.measurement.scenario.monitor.events and name != "aplsdt"
        every = ending and model.transactions.count[sample.interval] > 0
        users = scope["reported"].owner if "reported" in scope else None
        if users is None:
            users = scope["owner"] if name == "aplsdt" else model.users.owner
        chosen = sample.users.ended[users] | every
        if "reported" in scope or "block" in scope:
            # What a daemon last wrote, and the form that a block last had.
            chosen = chosen & self.present
        rows = np.flatnonzero(chosen)
        if not len(rows):
            return None
        begun, delta = self.encoder.current(rows), {}
        for field in values.keys() & begun.keys():
            if self.encoder.encoding.places[field].field.is_cumulative:
                shape = (self.encoder.rows, *begun[field].shape[1:])
                delta[field] = np.broadcast_to(np.asarray(values[field]), shape)[rows]
        return _SessionProgress(rows, users[rows], self.entries, self.sizes, begun, delta)

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
        elif commands := _monitor_commands(self.model, number, 0):
            batches = self._commands(commands, number, left + len(commands))
            blocks = encode_events(batches, self._release)
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
        batches += self._commands(commands, number, left)
        for at, text in commands:
            if "monitor" in events and not text.startswith("MONITOR SAMPLE"):
                values, sizes = {"calbyct": len(text), "calcmd": text}, {"calcmd": len(text)}
                starting.append(EventBatch("mtrecm", _consecutive_tods(at, 1), values, sizes=sizes))
        profile = records()["mtrepr"].values(sample)
        starting.append(EventBatch("mtrepr", _consecutive_tods(tod, 1), profile))
        return encode_events(batches, self._release), starting

    def _commands(
        self, commands: Sequence[tuple[int, str]], number: int, left: int
    ) -> list[EventBatch]:
        """MTRSCM of some commands; the first is `left` records before the last of the sample."""
        batches = list[EventBatch]()
        for place, (at, text) in enumerate(commands):
            # The text ends the record.
            values, sizes = {"calbyct": len(text), "calcmd": text}, {"calcmd": len(text)}
            tods = self.model.clock.records(number, left - place, 1)
            batches.append(EventBatch("mtrscm", tods, {"caltod": at, **values}, sizes=sizes))
        return batches
