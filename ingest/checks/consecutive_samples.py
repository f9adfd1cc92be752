"""Pairs of rows of one owner (a processor, a user, a device) in consecutive samples.

They serve checks of the stored values: whether a counter fell, and whether parts exceed their
whole. They are no deltas: these have one definition, in `store/sql/deltas.sql`.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ...schemas.arrow import owner_keys
from ...schemas.field import Field, Role
from ...schemas.layout import Kind, Layout
from ...schemas.registry import record_of
from ...schemas.registry import tables as layout_tables
from ..codec import I64, U64, Mask
from ..decode.configuration import IPL


@dataclass(frozen=True)
class Pairs:
    """An owner's rows in two samples without one between them, and without a restart of CP.

    `earlier`, `later`: (pairs,) rows of `rows`. What is read of a field is (pairs,) each.
    """

    layout: Layout
    rows: pa.Table
    earlier: I64
    later: I64

    def __len__(self) -> int:
        return len(self.earlier)

    @property
    def offset(self) -> I64:
        """Where the later record starts in the dump."""
        return _numbers(self.rows, "record_offset")[self.later]

    @property
    def elapsed_us(self) -> I64:
        """Microseconds between the two records."""
        tod = _numbers(self.rows, "tod_us")
        return tod[self.later] - tod[self.earlier]

    def values(self, number: Field) -> tuple[U64, U64, Mask]:
        """Earlier and later value of a number as unsigned 64 bits, and whether both are there."""
        column = self.rows[number.name]
        valid = column.is_valid().to_numpy()
        words = column.fill_null(0).to_numpy().astype(np.uint64)
        if number.length < 8:
            words &= np.uint64((1 << 8 * number.length) - 1)
        return words[self.earlier], words[self.later], valid[self.earlier] & valid[self.later]

    def ascending(self, counter: Field) -> tuple[U64, U64, Mask]:
        """The values of a counter in the order in which it counts up, and whether both are there.

        A countdown has the later value first.
        """
        before, now, both = self.values(counter)
        return (now, before, both) if counter.role is Role.COUNTDOWN else (before, now, both)

    def owner(self, pair: int) -> str:
        """Which owner a pair is of: its keys with their values."""
        row = int(self.later[pair])
        keys = owner_keys(self.layout)
        return ", ".join(f"{name}={self.rows[name][row].as_py()}" for name in keys)


@dataclass
class ConsecutiveSamples:
    """Keeps the last row of every owner, so that pairs reach across windows.

    Owners that are gone from the latest interval are forgotten: memory stays bounded.
    """

    _last: dict[str, pa.Table] = field(default_factory=dict)
    _restarts: list[int] = field(default_factory=list)
    _ipl: int | None = None

    def restarts(self, config: pa.Table) -> None:
        """Note where the system configuration records say that CP was loaded again."""
        for tod, ipl in zip(config["tod_us"].to_pylist(), config[IPL[1]].to_pylist(), strict=True):
            if ipl is not None and self._ipl is not None and ipl != self._ipl:
                insort(self._restarts, tod)
            self._ipl = self._ipl if ipl is None else ipl

    def pairs(self, table: str, fresh: pa.Table) -> Pairs | None:
        """The pairs that end in fresh rows of a table; None where rows have no successors."""
        layout = layout_tables().get(table)
        if layout is None or record_of(layout).kind is not Kind.SAMPLE or not len(fresh):
            return None
        held = self._last.get(table, fresh.slice(0, 0))
        rows = pa.concat_tables([held, fresh]).unify_dictionaries().combine_chunks()
        codes = [_codes(rows[name]) for name in owner_keys(layout)]
        order = np.lexsort([np.arange(len(rows)), *codes])
        same = np.ones(max(len(order) - 1, 0), np.bool_)
        for code in codes:
            same &= code[order][1:] == code[order][:-1]
        sample = _samples(rows)
        final = order[np.append(~same, True)]
        latest = np.sort(final[sample[final] == sample.max()])
        self._last[table] = rows.take(pa.array(latest))
        same &= _next_sample(sample[order], same)
        earlier, later = order[:-1][same], order[1:][same]
        steady = self._steady(_numbers(rows, "tod_us"), earlier, later)
        return Pairs(layout, rows, earlier[steady], later[steady])

    def _steady(self, tod: I64, earlier: I64, later: I64) -> Mask:
        restarts = np.array(self._restarts, np.int64)
        before, after = (restarts.searchsorted(tod[rows], "right") for rows in (earlier, later))
        return np.asarray(before == after)


def _samples(rows: pa.Table) -> I64:
    """The number of the sample that each row is of, in the order of time; open ones are last."""
    ends = rows["interval_end"].cast(pa.int64()).fill_null(np.iinfo(np.int64).max).to_numpy()
    return np.asarray(np.unique(ends, return_inverse=True)[1], np.int64)


def _next_sample(sample: I64, same: Mask) -> Mask:
    """Whether the later of two rows is of the sample behind that of the earlier one.

    Not where an owner has two rows in one sample: then nothing tells which belong together.
    """
    step = np.diff(sample)
    twice = np.concatenate([[False], same & (step == 0), [False]])
    return np.asarray((step == 1) & ~twice[:-2] & ~twice[2:])


def _numbers(rows: pa.Table, name: str) -> I64:
    return np.asarray(rows[name].to_numpy(), np.int64)


def _codes(column: pa.ChunkedArray) -> I64:
    """A number for each distinct value."""
    whole = column.combine_chunks()
    if not pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_encode()
    return np.asarray(whole.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
