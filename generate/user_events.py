"""Sessions of users: logons, logoffs with what was used, ends of transactions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..schemas import layout
from .counters import Values, ebcdic
from .event_data import EventBatch
from .hardware_events import RECORD_TIME, stamps
from .model import Sample
from .noise import I64
from .progress import Progress
from .transaction_ends import TransactionEnds
from .user_records import MODES

SERVICE_MACHINE = 0x80
"""USELON_CALSTAT of a service machine."""

_BASE = 0x80
"""USETRE_CALFLAG1 of a guest's base virtual processor."""


def logons(sample: Sample) -> list[EventBatch]:
    """USELON of every virtual processor of those who logged on in the interval before a sample."""
    model = sample.model
    arriving = sample.arriving
    if not arriving.any():
        return []
    rows = np.flatnonzero(arriving[model.users.owner])
    tods = stamps(model.change_tod(sample.interval), len(rows))
    return [EventBatch("uselon", tods, _known("uselon", _directory(sample, rows)))]


def logoffs(
    sample: Sample, activity: Progress, interaction: Progress | None, ended: Sequence[Progress]
) -> list[EventBatch]:
    """What is written of those who logged off in the interval before a sample.

    Their last application data (APLEDT); then for each virtual processor the activity and the
    interaction of its last transaction (USEATE, USEITE), and the totals of the session (USELOF).

    Args:
        activity, interaction: of USEACT and USEINT, with the rows of those users.
        ended: of APLSDT: the blocks that are not written any more.
    """
    model = sample.model
    leaving = sample.leaving
    if not leaving.any():
        return []
    tod = model.change_tod(sample.interval)
    rows = np.flatnonzero(leaving[model.users.owner])
    tods, directory = stamps(tod, len(rows)), _directory(sample, rows)
    found = [
        EventBatch(
            "apledt",
            stamps(tod - len(one.rows) * RECORD_TIME, len(one.rows)),
            one.at(np.arange(len(one.rows)), 0.0, "apledt"),
            one.counts,
        )
        for one in ended
    ]
    for name, progress in (("useate", activity), ("useite", interaction), ("uselof", activity)):
        if progress is not None:
            totals = progress.at(np.searchsorted(progress.rows, rows), 1.0, name)
            found.append(EventBatch(name, tods, {**totals, **_known(name, directory)}))
    return found


def transaction_ends(
    sample: Sample, activity: Progress, interaction: Progress | None
) -> list[EventBatch]:
    """USETRE, USEATE and USEITE of every transaction that ended in the interval before a sample."""
    users = sample.model.users
    ends = TransactionEnds.of(sample)
    if not len(ends.user):
        return []
    rows = users.base[ends.user]
    times: Values = {
        "vmduser": ebcdic(users.names, 8)[ends.user],
        "vmdcpuad": users.address[rows],
        "caltriv": ebcdic(["NO", "YE"], 2)[ends.trivial.astype(np.int64)],
        "vmddqtod": ends.tod,
        "vmdsusck": ends.suspended,
        "vmdmttod": ends.begun,
        "calflag1": _BASE,
    }
    found = [EventBatch("usetre", ends.tod, times)]
    directory = _directory(sample, rows)
    for name, progress in (("useate", activity), ("useite", interaction)):
        if progress is not None:
            totals = progress.at(np.searchsorted(progress.rows, rows), ends.share, name)
            found.append(EventBatch(name, ends.tod, {**totals, **_known(name, directory)}))
    return found


def _directory(sample: Sample, rows: I64) -> Values:
    """What the directory says of the users of some virtual processors, and when they logged on."""
    users, groups = sample.model.users, sample.model.measurement.groups
    owner = users.owner[rows]

    def each(of_groups: list[int]) -> I64:
        return users.each(of_groups)[owner]

    size = each([g.storage_mib << 20 for g in groups])
    return {
        "vmduser": ebcdic(users.names, 8)[owner],
        "vmdcpuad": users.address[rows],
        "calstat": each([SERVICE_MACHINE * (g.guest == "server") for g in groups]),
        "calmode": each([MODES[g.architecture] for g in groups]),
        "vmdrelsh": each([g.share for g in groups]),
        "vmdssize": size,
        "ascdefsz": size - 1,
        "caltodon": sample.model.logon_tod(sample.number)[owner],
    }


def _known(name: str, values: Values) -> Values:
    """Those values that a record has a field for."""
    fields = {field.name for field in layout(name).columns}
    return {field: value for field, value in values.items() if field in fields}
