"""Findings about records: each kind is counted over a dump, and its first record located."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...schemas.field import HEADER_LENGTH
from ...schemas.layout import Layout
from ...schemas.registry import record_names
from ..codec import I64
from ..container.frames import FRAME
from ..container.windows import Window
from ..findings import Code, Finding, Findings
from .decoded import Decoded

Tally = dict[Any, tuple[int, int]]
"""Offset of the first record and number of records, by what they have in common."""

SYNC_COUNTS = ("sync_count_1", "sync_count_2")
"""Linux raises the first before it writes a block of application data, and the second behind it."""


@dataclass
class RecordFindings:
    """Counts what is wrong with records and frames; reports it once a dump."""

    _unknown: Tally = field(default_factory=dict)
    _longer: Tally = field(default_factory=dict)
    _cut: Tally = field(default_factory=dict)
    _torn: Tally = field(default_factory=dict)
    _impossible: Tally = field(default_factory=dict)
    _first_impossible: dict[str, str] = field(default_factory=dict)
    _frames: int = 0
    _empty: list[tuple[int, int]] = field(default_factory=list)
    """Number and offset of every frame of zeros."""

    def note_unknown(self, kind: tuple[int, int], offsets: I64) -> None:
        """Count records without a layout. `offsets`: (records,) where they start in the dump."""
        _count(self._unknown, kind, offsets)

    def note(self, decoded: Decoded, offsets: I64) -> None:
        """Count records longer than their layout, and those with impossible values.

        `offsets`: (records,) where they start in the dump.
        """
        if decoded.tail.null_count < len(decoded.tail):
            longer = decoded.tail.is_valid().to_numpy(zero_copy_only=False)
            _count(self._longer, decoded.layout.name, offsets[longer])
        self._note_impossible(decoded, offsets)

    def note_cut(self, layout: Layout, offsets: I64) -> None:
        """Count records with more entries of a group than they have room for."""
        _count(self._cut, layout.name, offsets)

    def note_entries(self, decoded: Decoded, offsets: I64) -> None:
        """Count blocks of application data that a guest was writing, and impossible values.

        `offsets`: (entries,) where the record of each starts in the dump.
        """
        _count(self._torn, decoded.layout.name, offsets[_torn_blocks(decoded)])
        self._note_impossible(decoded, offsets)

    def broken_frames(self, window: Window, findings: Findings) -> Iterator[int]:
        """Numbers of the frames of a window that go on with something that is no record.

        Each is reported; frames of zeros are counted.
        """
        frames, index = window.frames, window.index
        for frame in np.flatnonzero(index.broken).tolist():
            start, behind = int(index.stop[frame]), int(frames.limit[frame])
            if window.data[start:behind].any():
                findings.add(_broken(window, frame, start, behind))
                yield frame
            elif start == frames.start[frame] and behind - start == FRAME:
                self._empty.append((self._frames + frame, window.base + start))
        self._frames += len(frames)

    def finish(self, findings: Findings) -> None:
        """Report what was counted."""
        self._report_empty(findings)
        names = record_names()
        for (domain, record), (offset, count) in sorted(self._unknown.items()):
            name = names.get((domain, record), "unknown").upper()
            detail = f"record {domain}.{record} ({name})"
            findings.add(Finding(Code.LAYOUT_UNKNOWN, offset, detail, "kept raw", count))
        for code, tally in (
            (Code.RECORD_LONGER, self._longer),
            (Code.GROUP_CUT, self._cut),
            (Code.BLOCK_TORN, self._torn),
        ):
            for name, (offset, count) in sorted(tally.items()):
                findings.add(Finding(code, offset, f"records of {name}", count=count))
        for name, (offset, count) in sorted(self._impossible.items()):
            detail = f"{name}: {self._first_impossible[name]}"
            findings.add(Finding(Code.VALUE_IMPOSSIBLE, offset, detail, count=count))

    def _note_impossible(self, decoded: Decoded, offsets: I64) -> None:
        """Count values that no system can have; the first of each field is described."""
        for impossible in decoded.impossible:
            limit, first = impossible.field.limit, impossible.first
            name = f"{decoded.layout.name}.{impossible.field.name}"
            detail = f"expected at most {limit}, found {first} (X'{first:016X}')"
            self._first_impossible.setdefault(name, detail)
            _count(self._impossible, name, offsets[impossible.record])

    def _report_empty(self, findings: Findings) -> None:
        """Report frames of zeros, those in a row together."""
        numbers = np.array([number for number, _ in self._empty], np.int64)
        for run in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers) != 1) + 1):
            if len(run):
                offset = self._empty[int(run[0])][1]
                detail = "expected a record at its first byte, found zeros only"
                effect = "what stood there is not in the dump"
                findings.add(Finding(Code.FRAME_EMPTY, offset, detail, effect, len(run)))


def _count(tally: Tally, key: Any, offsets: I64) -> None:
    """Count records under a key; the offset of the first is kept."""
    if len(offsets):
        offset, count = tally.get(key, (int(offsets[0]), 0))
        tally[key] = offset, count + len(offsets)


def _torn_blocks(block: Decoded) -> I64:
    """Rows whose two synchronisation counts differ: the guest was writing when CP sampled."""
    if not all(name in block.columns for name in SYNC_COUNTS):
        return np.empty(0, np.int64)
    first, second = (block.columns[name].to_numpy(zero_copy_only=False) for name in SYNC_COUNTS)
    valid = block.columns[SYNC_COUNTS[1]].is_valid().to_numpy(zero_copy_only=False)
    return np.flatnonzero(valid & (first != second))


def _broken(window: Window, frame: int, start: int, behind: int) -> Finding:
    """What stands where a record should start, and what is skipped because of it."""
    head = window.data[start : start + 8].tobytes()
    length, room = int.from_bytes(head[:2], "big"), behind - start
    if length < HEADER_LENGTH:
        code = Code.RECORD_SHORT
    elif length > room:
        code = Code.RECORD_LONG
    else:
        code = Code.HEADER_BAD
    number = int(np.searchsorted(window.index.frame, frame, side="right"))
    first = int(np.searchsorted(window.index.frame, frame))
    expected = f"length {HEADER_LENGTH} to {room}"
    if code is Code.HEADER_BAD:
        expected += ", then zeros, and a time stamp that is not zero"
    detail = (
        f"record {number - first} of its frame: expected {expected}, "
        f"found {length} ({head.hex(' ')})"
    )
    effect = f"{room} bytes up to the end of the frame kept in quarantine; landing continues"
    return Finding(code, window.base + start, detail, effect)
