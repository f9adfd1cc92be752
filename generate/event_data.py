"""Event data: the records of what happens in an interval, in order of time, packed into frames."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..schemas import Layout, layout
from .clock import U64
from .counters import Values
from .form import TIME, Counts, Form
from .monwrite import FRAME, LARGEST_RECORD, MONITOR_DOMAIN, U8, ends_of_frames
from .noise import I64


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Event records of one type.

    Attributes:
        name: of the layout.
        tods: (records,) time stamps, in any order.
        values: one or (records,) each, as they are written: counters too.
        entries, sizes: see `Form`.
    """

    name: str
    tods: U64
    values: Values = field(default_factory=dict)
    entries: Counts = field(default_factory=dict)
    sizes: Counts = field(default_factory=dict)

    def encoded(self, release: str) -> U8:
        """The records as a release writes them, (records, length).

        Raises:
            LayoutError: see `Form`.
        """
        entries, sizes = (tuple(sorted(counts.items())) for counts in (self.entries, self.sizes))
        form = _form(layout(self.name), release, entries, sizes)
        records = np.tile(form.blank, (len(self.tods), 1))
        TIME.of(records)[...] = self.tods
        for name, value in self.values.items():
            place = form.place(name)
            if place is not None:
                place.of(records)[...] = value
        form.check_conditions(records)
        return records


@functools.lru_cache(maxsize=256)
def _form(
    table: Layout,
    release: str,
    entries: tuple[tuple[str, int], ...],
    sizes: tuple[tuple[str, int], ...],
) -> Form:
    return Form(table, release, dict(entries), dict(sizes))


def event_domains(batches: Sequence[EventBatch]) -> frozenset[int]:
    """The domains that an entry for these events names; MTREOF adds that of the monitor."""
    return frozenset({MONITOR_DOMAIN, *(layout(b.name).domain for b in batches if len(b.tods))})


def event_frames(batches: Sequence[EventBatch], release: str) -> U8:
    """The events of an interval, in order of their time stamps, packed into frames.

    A frame that is followed by another ends with MTREOF. The last one ends with its last record:
    the end address of the entry says where.

    Args:
        batches: the records, of any types; those of one time stay in the order given.

    Returns:
        (bytes,) from the first byte of the first frame to the last byte of the last record; none
        where nothing happened.

    Raises:
        LayoutError: see `Form`.
    """
    kept = [(batch, batch.encoded(release)) for batch in batches if len(batch.tods)]
    if not kept:
        return np.zeros(0, dtype=np.uint8)
    tods = np.concatenate([np.asarray(batch.tods, dtype=np.uint64) for batch, _ in kept])
    lengths = np.concatenate([np.full(len(rows), rows.shape[1]) for _, rows in kept])
    order = np.argsort(tods, kind="stable")
    placed, last = _packed(lengths[order])
    out = np.zeros(int(placed[-1] + lengths[order[-1]]), dtype=np.uint8)
    offsets = np.empty_like(placed)
    offsets[order] = placed
    first = 0
    for _, rows in kept:
        _scatter(out, offsets[first : first + len(rows)], rows)
        first += len(rows)
    closing = order[last]
    _scatter(out, offsets[closing] + lengths[closing], ends_of_frames(tods[closing]))
    return out


def _packed(lengths: I64) -> tuple[I64, I64]:
    """Where records of these lengths go, (records,), and the last record of each frame but one."""
    behind, last = np.cumsum(lengths), list[int]()
    offsets = behind - lengths
    start = frame = 0
    while True:
        base = int(behind[start] - lengths[start])
        stop = int(np.searchsorted(behind, base + LARGEST_RECORD, side="right"))
        offsets[start:stop] += frame * FRAME - base
        if stop == len(lengths):
            return offsets, np.array(last, dtype=np.int64)
        last.append(stop - 1)
        start, frame = stop, frame + 1


def _scatter(out: U8, offsets: I64, records: U8) -> None:
    """Put records of one length where they belong."""
    length = records.shape[1]
    target = np.ndarray((len(out) - length + 1,), f"V{length}", out, 0, (1,))
    target[offsets] = records.view(f"V{length}")[:, 0]
