"""Bytes of a changed dump that something else announces as its own: what stands there may be lost.

A reader cannot know that such bytes have been good elsewhere. This shares no code with cpmon.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from tests.generate.plain_reader import FRAME

from .fuzz_mutations import U8
from .fuzz_seeds import ENTRY, I64, header

KINDS = (0xE2, 0xC5)
AREA = 40


def claimed(claims: I64, at: int) -> bool:
    """Whether what begins there is inside of what is claimed."""
    return bool(((claims[:, 0] < at) & (at < claims[:, 1])).any())


def set_claims(stream: U8) -> I64:
    """(sets, 2) Bytes of a capture that an element claims as its set, from the first to behind it.

    Only where another element, or the end, follows: a set that was put inside is not seen.
    """
    words = np.lib.stride_tricks.sliding_window_view(np.append(stream, np.zeros(11, np.uint8)), 12)
    known = (words[:, 0] == 0xE2) | (words[:, 0] == 0xC5)
    at = np.flatnonzero(known & ((words[:, 1] != 0) | (words[:, 2] != 0)))
    start, end = (words[at, k : k + 4].copy().view(">u4")[:, 0].astype(np.int64) for k in (4, 8))
    behind = at + 12 + end - start + 1
    good = end > start
    follows = np.isin(behind, at[good]) | (behind == len(stream))
    found: I64 = np.stack([at, behind], axis=1)[good & follows]
    return found


def end_claims(data: bytes) -> I64:
    """(frames, 2) Bytes of a file behind the record that ends an announced frame of event data.

    CP leaves there what stood in the segment before: old records are not read. Such a frame does
    not begin where one of the file does, so that one of these may have come to stand inside. Only
    where all frames of the data begin with a record: else the announcement is known to lie.
    """
    controls = {at: _entries(data, at) for at in range(0, len(data) - FRAME + 1, FRAME)}
    found = []
    for control, entries in controls.items():
        at = control + FRAME
        for kind, start, end in entries:
            lead, size = start % FRAME, end - start + 1
            behind = at + -(-size // FRAME) * FRAME
            if behind > len(data) or any(controls[k] for k in range(at, behind, FRAME)):
                break
            if kind == 0xC5 and lead and header(data, at):
                ends = [_end(data, *limits) for limits in _parts(at, size, lead)]
                if None not in ends:
                    found += [said for said in ends if said and said[0] < said[1]]
            at = behind
    return np.array(found, np.int64).reshape(-1, 2)


def shifted_claims(data: bytes) -> I64:
    """(controls, 2) Bytes of a file that a control record announces which stands off every frame.

    It is that of another dump behind one that was cut. A frame of the file that has come to stand
    among its data is none of the dump that is read from there on. Nor is one among the frames
    behind these that begin with a record, though nothing announces them.
    """
    found = []
    for at in range(max(len(data) - FRAME + 1, 0)):
        if data[at + AREA] in KINDS and at % FRAME:
            first, last = struct.unpack_from(">II", data, at + 12)
            entries = _entries(data, at)
            if entries and last - first + 1 == len(entries) * ENTRY.size:
                sizes = (-(-(end - start + 1) // FRAME) for _, start, end in entries)
                behind = at + FRAME + sum(sizes) * FRAME
                while header(data, behind):
                    behind += FRAME
                found.append((at, behind))
    return np.array(found, np.int64).reshape(-1, 2)


def _parts(at: int, size: int, lead: int) -> Iterator[tuple[int, int]]:
    """First byte and limit of each frame of the segment, in data that does not begin with one."""
    first, limit = at, at + FRAME - lead
    while first < at + size:
        yield first, min(limit, at + size)
        first, limit = limit, limit + FRAME


def _end(data: bytes, at: int, limit: int) -> tuple[int, int] | None:
    """Where a frame has ended, and its limit; the limit twice if nothing ends it before.

    None if it does not begin with a record.
    """
    first = at
    while found := header(data, at, limit):
        length, kind = found
        at += length
        if kind in ((1, 11), (1, 13)):
            return at, limit
    return (limit, limit) if at > first else None


def _entries(data: bytes, control: int) -> list[tuple[int, int, int]]:
    """Kind, first and last address of what a control record announces; none if it is none."""
    found: list[tuple[int, int, int]] = []
    for at in range(control + AREA, control + FRAME - ENTRY.size + 1, ENTRY.size):
        kind, mask_a, mask_b, start, end = ENTRY.unpack_from(data, at)
        if kind not in KINDS or not (mask_a or mask_b) or end <= start:
            break
        found.append((kind, start, end))
    return found if not header(data, control) else []
