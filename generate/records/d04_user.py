"""Domain 4: activity and states of users, their sessions and transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...schemas import layout
from ..activity.sample import Sample
from ..activity.states import processor_states
from ..activity.transactions import ending_times
from ..activity.usage import holdings, usage, user_traffic, virtual_ios
from ..model.scheduler import allocate_shares
from ..model.system import Model
from ..numeric import F64, I64, Bool, floor_int
from .definition import (
    RECORD_TIME,
    Counts,
    EventBatch,
    Values,
    consecutive_tods,
    sample_record,
)

MODES = {"ESA": 0x40, "XA": 0x20, "XC": 0x08, "Z": 0x44}
"""CALMODE: architecture of the virtual machine; Z is an ESA one that has entered z/Architecture."""

SERVICE_MACHINE = 0x80
"""USELON_CALSTAT of a service machine."""

_BASE = 0x80
"""USETRE_CALFLAG1 of a guest's base virtual processor."""

_DISPATCHED, _ELIGIBLE, _DORMANT = 0x37, 0x21, 0x0B

_STATES = {
    "hfcpurn": "running",
    "hfcpuwt": "cpu_wait",
    "hfiowt": "io_wait",
    "hfwtpag": "page_wait",
    "hfsimwt": "simulation_wait",
    "hfcfwt": "console_wait",
    "hftidl": "idle",
    "hfdorm": "dormant",
}
"""Counters of USEINT. The states exclude each other: a high-frequency sample counts one of them."""

_SHORT, _LONG = np.array([0.6, 0.3, 0.1]), np.array([0.0, 0.0, 1.0])
"""Classes in the dispatch list: of users who come and go, of those who stay most of the time."""


def _processors(model: Model) -> int:
    """One record for each virtual processor of every user."""
    return len(model.users.owner)


def _present(sample: Sample) -> Bool | None:
    """(virtual processors,) those of users who are logged on."""
    return None if sample.everybody else sample.present[sample.model.users.owner]


def _restarted(sample: Sample) -> Bool | None:
    """(virtual processors,) those whose users have logged on in the interval."""
    arriving = sample.arriving
    return arriving[sample.model.users.owner] if arriving.any() else None


def session_ages(model: Model, sample: int) -> F64:
    """(virtual processors,) intervals since logon, at the first sample after an IPL."""
    span = int(model.timeline.tod[model.timeline.interval_of(sample)])
    since = (np.uint64(model.clock.end(sample)) - model.logon_tod(sample)).astype(np.int64)
    ages: F64 = np.maximum(since / span, 0.0)
    return ages[model.users.owner]


def _keys(model: Model) -> Values:
    users = model.users
    return {"vmduser": users.names[users.owner], "vmdcpuad": users.address}


def _useact_fixed(model: Model) -> Values:
    users = model.users
    modes = users.each([MODES[g.architecture] for g in users.groups])
    return {**_keys(model), "calmode": modes[users.owner]}


def _useact(sample: Sample) -> Values:
    users, used, held = sample.model.users, usage(sample), holdings(sample)
    ios, traffic = virtual_ios(sample), user_traffic(sample)
    of_users = {
        "vmdctpvr": held.resident_below,
        "vmdwsspr": held.working_set,
        "vmdctxbk": held.expanded,
        "calctpgs": held.slots,
        "calcppgr": used.dasd_reads,
        "calcppgw": used.dasd_writes,
        "vmdvdsct": used.disk_ios,
        "calcppst": used.stolen,
        "calcpmig": used.migrated,
        "calcpxwt": used.page_outs,
        "calcpxrd": used.page_ins,
        "vmdvcsct": ios.console,
        "vmdvusct": ios.unit_record,
        "vmdvosct": ios.network,
        "vmdctspr": traffic.spool_reads,
        "vmdctspw": traffic.spool_writes,
        "vmdisevm": traffic.iucv,
        "vmdistvm": traffic.iucv,
        "vmdvsevm": traffic.vmcf,
        "vmdvstvm": traffic.vmcf,
    }
    not_dispatched = np.where(held.eligible, _ELIGIBLE, _DORMANT)
    return {
        "vmdslist": np.where(held.dispatched, _DISPATCHED, not_dispatched),
        "vmdttime": used.virtual + used.cp,
        "vmdvtime": used.virtual,
        **{name: users.on_base(value) for name, value in of_users.items()},
    }


def _useint(sample: Sample) -> Values:
    model, count, states = sample.model, sample.high_frequency_samples, processor_states(sample)
    rng = model.measurement.rng(f"states in interval {sample.interval}")
    counts = states.counts(rng, count)
    eligible = counts["eligible"]
    dispatched = count - eligible - counts["dormant"]
    shares: F64 = np.where(states.dormant < 0.5, _LONG[:, None], _SHORT[:, None])
    first, second, third = allocate_shares(rng, shares, dispatched)
    return {
        "hfquct": dispatched + eligible,
        "hfdisp1": first,
        "hfdisp2": second,
        "hfdisp3": third,
        "hfelig3": eligible,
        "hfstct": count - eligible,
        **{name: counts[state] for name, state in _STATES.items()},
    }


@dataclass(frozen=True, slots=True)
class SessionProgress:
    """Rows of a sample record in the course of an interval, for the records at a session's end.

    Attributes:
        rows: (rows,) which they are, ascending.
        counts: number of entries of each group that the records have.
        begun: (rows,) or (rows, entries) by field: the values at the interval's beginning.
        growth: the same of counters: what they grow by during the interval.
    """

    rows: I64
    counts: Counts
    begun: Mapping[str, npt.NDArray[Any]]
    growth: Mapping[str, npt.NDArray[Any]]

    def at(self, places: I64, share: float | F64, target: str) -> dict[str, npt.NDArray[Any]]:
        """The fields that another record type has too, at some moments of the interval.

        Levels are those of its beginning.

        Args:
            places: (events,) indices into the rows.
            share: one or (events,): how much of the growth has happened.
            target: layout of the other record type.
        """
        table = layout(target)
        names = {field.name for field in table.columns if not field.of}
        names |= {group.name for group in table.groups}
        values = {}
        for name, begun in self.begun.items():
            if name.partition(".")[0] not in names:
                continue
            values[name] = begun[places]
            if name in self.growth:
                if isinstance(share, np.ndarray) and begun.ndim > 1:
                    part = self.growth[name][places] * share[:, None]
                else:
                    part = self.growth[name][places] * share
                values[name] = values[name] + floor_int(part)
        return values

    def batch(
        self, name: str, tods: Any, rows: I64, share: float | F64, more: Values
    ) -> EventBatch:
        """Events of some of the rows, completed by those of `more` that the record has.

        Args:
            rows: (events,) row of each.
        """
        totals = self.at(np.searchsorted(self.rows, rows), share, name)
        return EventBatch(name, tods, {**totals, **_fields_of(name, more)})


Progress = Mapping[str, Sequence[SessionProgress]]
"""Of the session records, by name; types that share a name one after the other."""


def logons(sample: Sample) -> list[EventBatch]:
    """USELON of every virtual processor of those who logged on in the interval before a sample."""
    users, arriving = sample.model.users, sample.arriving
    if not arriving.any():
        return []
    rows = np.flatnonzero(arriving[users.owner])
    tods = consecutive_tods(sample.model.change_tod(sample.interval), len(rows))
    return [EventBatch("uselon", tods, _fields_of("uselon", _session(sample, rows)))]


def logoffs(sample: Sample, progress: Progress) -> list[EventBatch]:
    """What is written of those who logged off in the interval before a sample.

    Their last application data (APLEDT); then for each virtual processor the activity and the
    states of its last transaction (USEATE, USEITE), and the totals of the session (USELOF).
    """
    leaving = sample.leaving
    if not leaving.any():
        return []
    tod = sample.model.change_tod(sample.interval)
    rows = np.flatnonzero(leaving[sample.model.users.owner])
    tods, session = consecutive_tods(tod, len(rows)), _session(sample, rows)
    batches = []
    for ended in progress.get("aplsdt", ()):
        count = len(ended.rows)
        values = ended.at(np.arange(count), 0.0, "apledt")
        last = consecutive_tods(tod - count * RECORD_TIME, count)
        batches.append(EventBatch("apledt", last, values, ended.counts))
    for name, source in (("useate", "useact"), ("useite", "useint"), ("uselof", "useact")):
        batches += [each.batch(name, tods, rows, 1.0, session) for each in progress.get(source, ())]
    return batches


def transaction_ends(sample: Sample, progress: Progress) -> list[EventBatch]:
    """USETRE, USEATE and USEITE of every transaction that ended in the interval before a sample."""
    ends = ending_times(sample)
    if not len(ends.user):
        return []
    rows = sample.model.users.base[ends.user]
    session = _session(sample, rows)
    times = {
        "vmduser": session["vmduser"],
        "vmdcpuad": session["vmdcpuad"],
        "caltriv": np.where(ends.trivial, "YE", "NO"),
        "vmddqtod": ends.tod,
        "vmdsusck": ends.suspended,
        "vmdmttod": ends.begun,
        "calflag1": _BASE,
    }
    batches = [EventBatch("usetre", ends.tod, times)]
    for name, source in (("useate", "useact"), ("useite", "useint")):
        for each in progress.get(source, ()):
            batches.append(each.batch(name, ends.tod, rows, ends.share, session))
    return batches


def _session(sample: Sample, rows: I64) -> Values:
    """Fields of the sessions that some virtual processors belong to."""
    users = sample.model.users
    return {**directory(sample, users.owner[rows]), "vmdcpuad": users.address[rows]}


def directory(sample: Sample, chosen: I64) -> Values:
    """What the directory says of some users, and when they logged on.

    Args:
        chosen: (chosen,) indices of users.
    """
    users, groups = sample.model.users, sample.model.users.groups

    def each(of_groups: list[int]) -> I64:
        return users.each(of_groups)[chosen]

    size = each([g.storage_mib << 20 for g in groups])
    return {
        "vmduser": users.names[chosen],
        "calstat": each([SERVICE_MACHINE * (g.guest == "server") for g in groups]),
        "calmode": each([MODES[g.architecture] for g in groups]),
        "vmdrelsh": users.share[chosen],
        "vmdssize": size,
        "ascdefsz": size - 1,
        "caltodon": sample.model.logon_tod(sample.number)[chosen],
    }


def _fields_of(name: str, values: Values) -> Values:
    """Those values that a record has a field for."""
    fields = {field.name for field in layout(name).columns}
    return {field: value for field, value in values.items() if field in fields}


_OF_SESSIONS = {
    "rows": _processors,
    "ages": session_ages,
    "present": _present,
    "restarted": _restarted,
}

RECORDS = (
    sample_record("useact", _useact, fixed=_useact_fixed, wrapping="calcpxrd", **_OF_SESSIONS),
    sample_record("useint", _useint, fixed=_keys, **_OF_SESSIONS),
)
