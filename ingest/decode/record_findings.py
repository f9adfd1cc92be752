"""Findings about records: each kind is counted over a dump, and its first record located."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow.compute as pc

from ...schemas.field import HEADER_LENGTH
from ...schemas.layout import Layout
from ...schemas.registry import record_names
from ...schemas.release import parse_release
from ..codec import I64
from ..container.record_index import FRAME
from ..container.windows import ByteWindow
from ..findings import Code, Findings, Tally
from .columns import Decoded

OF_RECORDS = (
    *(Code.RECORD_WITHDRAWN, Code.RECORD_LONGER),
    *(Code.GROUP_CUT, Code.BLOCK_TORN, Code.VALUE_IMPOSSIBLE),
)


@dataclass
class RecordFindings:
    """Counts what is wrong with records and frames; reports it once a dump."""

    _tally: Tally = field(default_factory=Tally)
    _frames: int = 0
    _empty: list[tuple[int, int]] = field(default_factory=list)
    """Number and offset of every frame of zeros."""

    def note_unknown(self, kind: tuple[int, int], offsets: I64) -> None:
        """Count records without a layout. `offsets`: (records,) where they start in the dump."""
        name = record_names().get(kind, "unknown").upper()
        self._tally.note(Code.LAYOUT_UNKNOWN, kind, offsets, f"record {kind[0]}.{kind[1]} ({name})")

    def note(self, decoded: Decoded, offsets: I64, level: str) -> None:
        """Count records longer than their layout or withdrawn, and those with impossible values.

        `offsets`: (records,) where they start in the dump. `level`: of CP, empty if not known.
        """
        until = decoded.layout.until
        if until and level and parse_release(level).is_behind(parse_release(until)):
            detail = f"records of {decoded.layout.name}: none after {until} by the layout"
            self._tally.note(Code.RECORD_WITHDRAWN, decoded.layout.name, offsets, detail)
        if decoded.tail.null_count < len(decoded.tail):
            longer = decoded.tail.is_valid().to_numpy(zero_copy_only=False)
            layout, spare = decoded.layout, pc.max(pc.binary_length(decoded.tail)).as_py()
            detail = (
                f"records of {layout.name}: {layout.length + spare} bytes, {layout.length} known"
            )
            self._tally.note(Code.RECORD_LONGER, layout.name, offsets[longer], detail)
        self._note_values(decoded, offsets)

    def note_cut(self, layout: Layout, offsets: I64) -> None:
        """Count records with more entries of a group than they have room for."""
        self._count_records(Code.GROUP_CUT, layout, offsets)

    def note_entries(self, decoded: Decoded, offsets: I64) -> None:
        """Count blocks of application data that a guest was writing, and impossible values.

        `offsets`: (entries,) where the record of each starts in the dump.
        """
        self._count_records(Code.BLOCK_TORN, decoded.layout, offsets[_torn_blocks(decoded)])
        self._note_values(decoded, offsets)

    def note_frames(self, window: ByteWindow, findings: Findings) -> None:
        """Report each broken frame of a window, and count its frames of zeros."""
        frames = window.frames
        for frame in window.broken_frames.tolist():
            _report_broken(window, frame, findings)
        is_empty = frames.broken & (frames.stop == frames.start)
        is_empty &= frames.limit - frames.start == FRAME
        is_empty[window.broken_frames] = False
        offsets = (frames.start[is_empty] + window.base).tolist()
        numbers = (np.flatnonzero(is_empty) + self._frames).tolist()
        self._empty += zip(numbers, offsets, strict=True)
        self._frames += len(frames)

    def finish(self, findings: Findings) -> None:
        """Report what was counted."""
        self._report_empty(findings)
        self._tally.report(findings, Code.LAYOUT_UNKNOWN, effect="kept raw")
        self._tally.report(findings, *OF_RECORDS)

    def _count_records(self, code: Code, layout: Layout, offsets: I64) -> None:
        self._tally.note(code, layout.name, offsets, f"records of {layout.name}")

    def _note_values(self, decoded: Decoded, offsets: I64) -> None:
        """Count values that no system can have, and texts and parts that are cut.

        The first impossible value of each field is described.
        """
        self._count_records(Code.GROUP_CUT, decoded.layout, offsets[decoded.cut])
        for impossible in decoded.impossible:
            limit, first = impossible.field.limit, impossible.first
            name = f"{decoded.layout.name}.{impossible.field.name}"
            detail = f"{name}: expected at most {limit}, found {first} (X'{first:016X}')"
            self._tally.note(Code.VALUE_IMPOSSIBLE, name, offsets[impossible.record], detail)

    def _report_empty(self, findings: Findings) -> None:
        """Report frames of zeros, those in a row together."""
        numbers = np.array([number for number, _ in self._empty], np.int64)
        for run in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers) != 1) + 1):
            if len(run):
                offset = self._empty[int(run[0])][1]
                detail = "expected a record at its first byte, found zeros only"
                effect = "its records are not in the dump"
                findings.add(Code.FRAME_EMPTY, offset, detail, effect, count=len(run))


def _torn_blocks(block: Decoded) -> I64:
    """Rows whose two synchronisation counts differ: the guest was writing when CP sampled."""
    if not block.layout.syncs:
        return np.empty(0, np.int64)
    counts = [block.columns[field.name] for field in block.layout.syncs]
    return np.flatnonzero(pc.fill_null(pc.not_equal(*counts), False))


def _report_broken(window: ByteWindow, frame: int, findings: Findings) -> None:
    """Report the bytes in place of a record's header, and what is skipped because of them."""
    start, behind = int(window.frames.stop[frame]), int(window.frames.limit[frame])
    head = window.data[start : start + 8].tobytes()
    length, room = int.from_bytes(head[:2], "big"), behind - start
    if length < HEADER_LENGTH:
        code = Code.RECORD_SHORT
    elif length > room:
        code = Code.RECORD_LONG
    else:
        code = Code.HEADER_BAD
    first, behind_last = np.searchsorted(window.index.frame, [frame, frame + 1])
    expected = f"length {HEADER_LENGTH} to {room}"
    if code is Code.HEADER_BAD:
        expected += ", then zeros, and a time stamp that is not zero"
    detail = (
        f"record {behind_last - first} of its frame: expected {expected}, "
        f"found {length} ({head.hex(' ')})"
    )
    effect = f"{room} bytes up to the end of the frame kept in quarantine; landing continues"
    findings.add(code, window.base + start, detail, effect)
