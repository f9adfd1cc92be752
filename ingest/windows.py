"""A dump in bounded windows: each ends where an interval does, so that no sample waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .codec import U8
from .findings import Code, Finding, Findings
from .frames import INTERVAL_END, Frames
from .index import RecordIndex, index_records
from .monreader import SetFramer
from .monwrite import Framed, Framer
from .recognise import container
from .sources import Container, Source

CHUNK = 16 * 1024 * 1024
"""Bytes read at a time."""
HEADROOM = 4 * 1024 * 1024
"""Bytes kept free in front of them, for samples whose interval goes on; most intervals fit."""
LIMIT = 128 * 1024 * 1024
"""A window that has grown to this is taken as it is, interval or not: memory stays bounded."""


@dataclass(frozen=True)
class Window:
    """Consecutive bytes of the dump with all their records.

    `base` is the offset of `data[0]` in the dump. `lost`: (first, behind) positions of bytes that
    nothing explains.
    """

    data: U8
    base: int
    frames: Frames
    index: RecordIndex
    lost: list[tuple[int, int]]


def windows(source: Source, framer: Framer) -> Iterator[Window]:
    """The dump, window by window: read, decompressed, hashed, split into frames and records.

    What is wrong with the frames goes to the framer's findings.

    Raises:
        DumpError: the first bytes are no monitor data.
    """
    held, frames, base, framed = np.empty(0, np.uint8), Frames.joined([]), 0, 0
    index = index_records(held, frames)
    splits: Splits | None = None
    for chunk, final in _chunks(source):
        data = chunk.behind(held)
        splits = splits or _splits(data, source, framer)
        found = splits.frames(data, base, framed, final)
        fresh = Frames.joined(found.frames)
        index = index.followed_by(index_records(data, fresh))
        frames = Frames.joined([frames, fresh])
        taken, records, behind = _whole_intervals(frames, index, found.used)
        if final or len(data) >= LIMIT:
            _note_open(frames, index, records, base, framer.findings)
            taken, records, behind = len(frames), len(index), found.used
        whole, index = index.split(records, taken, behind)
        yield Window(data, base, frames[:taken], whole, found.lost)
        held, frames = data[behind:], frames[taken:].moved(behind)
        base, framed = base + behind, found.used - behind
    _note_troubles(source, framer.findings)


@dataclass(frozen=True)
class Stretch:
    """Consecutive bytes of the dump, split into frames but not yet into records.

    `base` is the offset of `data[0]` in the dump. Intervals may reach over several stretches.
    """

    data: U8
    base: int
    frames: Frames


def stretches(source: Source, framer: Framer) -> Iterator[Stretch]:
    """The dump as it is read, for those who need no whole intervals.

    What is wrong with the frames goes to the framer's findings.

    Raises:
        DumpError: the first bytes are no monitor data.
    """
    held, base = np.empty(0, np.uint8), 0
    splits: Splits | None = None
    for chunk, final in _chunks(source):
        data = chunk.behind(held)
        splits = splits or _splits(data, source, framer)
        found = splits.frames(data, base, 0, final)
        yield Stretch(data, base, Frames.joined(found.frames))
        held, base = data[found.used :], base + found.used
    _note_troubles(source, framer.findings)


def _note_troubles(source: Source, findings: Findings) -> None:
    for offset, said in source.device.troubles if source.device else []:
        findings.add(Finding(Code.SETS_MISSED, offset, said))
    if source.damage:
        said = f"{source.compression}: {source.damage}"
        findings.add(Finding(Code.COMPRESSED_CUT, source.size, said))


class Splits(Protocol):
    """Splits a dump into frames, window by window."""

    def frames(self, window: U8, base: int, first: int, final: bool) -> Framed:
        """Explain `window[first:]`, as far as it goes without the bytes that follow."""
        ...


def _splits(head: U8, source: Source, framer: Framer) -> Splits:
    """What splits a dump that begins like this; the books are the framer's in any case."""
    wrapped = source.container
    if wrapped is Container.AUTO or not len(head):
        wrapped = container(head, source.name)
    return SetFramer(framer) if wrapped is Container.MONREADER else framer


def _whole_intervals(frames: Frames, index: RecordIndex, used: int) -> tuple[int, int, int]:
    """Frames and records up to the last interval end, and the position behind them.

    Where no sample waits for its interval to end, everything is taken.
    """
    sample = frames.sample[index.frame]
    last = np.flatnonzero(sample)
    ends = index.where(*INTERVAL_END)
    ends = ends[sample[ends]]
    closed = int(ends[-1]) + 1 if len(ends) else 0
    if not len(last) or last[-1] < closed:
        return len(frames), len(index), used
    taken = int(index.frame[closed - 1]) + 1 if closed else 0
    records = int(np.searchsorted(index.frame, taken))
    if taken == len(frames):
        return taken, records, used
    return taken, records, int(frames.start[taken])


def _note_open(
    frames: Frames, index: RecordIndex, closed: int, base: int, findings: Findings
) -> None:
    waiting = np.flatnonzero(frames.sample[index.frame[closed:]])
    if len(waiting):
        note_open(len(waiting), base + int(index.start[closed + waiting[0]]), findings)


def note_open(samples: int, offset: int, findings: Findings) -> None:
    """Tell of samples, the first at `offset`, that no interval end follows."""
    if samples:
        detail = "expected an interval-end record (1.11) behind these samples"
        findings.add(Finding(Code.INTERVAL_OPEN, offset, detail, count=samples))


@dataclass(frozen=True)
class _Chunk:
    """Bytes read at once, with room in front of them for what the window before left over."""

    room: U8
    size: int

    def behind(self, held: U8) -> U8:
        """The bytes that were held, then these; these are not copied unless the room is short."""
        data = self.room[HEADROOM : HEADROOM + self.size]
        if len(held) > HEADROOM:
            return np.concatenate([held, data])
        self.room[HEADROOM - len(held) : HEADROOM] = held
        return self.room[HEADROOM - len(held) : HEADROOM + self.size]


def _chunks(source: Source) -> Iterator[tuple[_Chunk, bool]]:
    """The bytes of a source, and whether they are the last."""
    final = False
    while not final:
        room = np.empty(HEADROOM + CHUNK, np.uint8)
        got = source.readinto(room[HEADROOM:].data)
        final = source.ended
        yield _Chunk(room, got), final
