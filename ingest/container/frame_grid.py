"""The places of a MONWRITE file where frames should begin, and what interrupts their sequence."""

from __future__ import annotations

import numpy as np

from ...schemas.field import HEADER_LENGTH
from ..codec import I64, U8, Mask
from .control_records import are_controls, find_control
from .frames import FRAME, are_headers, end_frames

LOOKAHEAD = 4 * FRAME
"""Bytes behind a frame's first that decide about it: whether the next one begins in its place, and
if not, whether a control record begins inside of this one, with a record behind it."""


class FrameGrid:
    """The places of a window where frames should begin: every 4096 bytes from one of them on."""

    def __init__(self, window: U8, first: int, final: bool) -> None:
        self.window, self.first, self.final = window, first, final
        self._places = np.arange(first, len(window), FRAME, dtype=np.int64)
        control = are_controls(window, self._places)
        self._controls = self._places[control]
        self._good = control | _begin_frames(window, self._places)

    def ready_from(self, at: int) -> int:
        """Position behind the last frame, of those from `at` on, that can be decided about."""
        if self.final:
            return len(self.window)
        return at + (len(self.window) - LOOKAHEAD + FRAME - at) // FRAME * FRAME

    def is_control(self, at: int) -> bool:
        """Whether a control record beyond doubt stands at a place."""
        return self.next_control(at, at + 1) == at

    def next_control(self, at: int, behind: int) -> int:
        """Position of the first control record beyond doubt from a place on, `behind` at most."""
        number = int(np.searchsorted(self._controls, at))
        first: list[int] = self._controls[number : number + 1].tolist()
        return min([behind, *first])

    def is_sound(self, at: int) -> bool:
        """Whether a frame or a control record, or nothing but zeros, begins at a place."""
        number = (at - self.first) // FRAME
        return number >= len(self._good) or bool(self._good[number]) or _blank(self.window, at)

    def interruption(self, at: int, behind: int) -> int | None:
        """Where the first control record begins that interrupts a frame of `window[at:behind]`.

        Looked for where no frame begins behind it.
        """
        rows = slice((at - self.first) // FRAME + 1, -(-(behind - self.first) // FRAME) + 1)
        for place in self._places[rows][~self._good[rows]].tolist():
            if not _blank(self.window, place):
                other = find_control(self.window, place - FRAME + 1, place)
                if other is not None:
                    return other
        return None


def _begin_frames(window: U8, at: I64) -> Mask:
    """Whether two records begin each frame, or one that leaves no room or ends it."""
    good = are_headers(window, at)
    rows = np.flatnonzero(good)
    first = at[rows]
    second = first + (window[first].astype(np.int64) << 8 | window[first + 1])
    limit = np.minimum(first + FRAME, len(window))
    follows = are_headers(window, second) & (second + HEADER_LENGTH <= limit)
    good[rows] = follows | (second + HEADER_LENGTH > limit) | end_frames(window, first)
    return good


def _blank(window: U8, at: int) -> bool:
    """Whether a frame holds zeros only, or these behind a single record."""
    frame = window[at : at + FRAME]
    if are_headers(window, np.array([at], np.int64))[0]:
        frame = frame[int(frame[0]) << 8 | int(frame[1]) :]
    return not frame.any()
