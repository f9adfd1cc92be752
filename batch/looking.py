"""What lies in the inboxes, and which of it is complete: a file that still grows is left alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from ..ingest.monwrite import AREA, FRAME, read_control
from .plan import Inbox

Look = tuple[int, int, float]
"""Size, time of change (ns) and when it was looked at (s since 1970)."""


class Ripe(StrEnum):
    """Whether a file is complete, and how that is known."""

    SETTLED = "unchanged for long enough"
    ENDED = "ends with an end-of-data record"
    YOUNG = "changed a moment ago"
    GROWING = "has changed since the last look"

    @property
    def is_complete(self) -> bool:
        """It may be read."""
        return self in (Ripe.SETTLED, Ripe.ENDED)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file of an inbox as it was when the folder was listed."""

    path: Path
    inbox: Inbox
    size: int
    mtime_ns: int

    @property
    def unchanged(self) -> bool:
        """Whether it is still as it was."""
        try:
            now = self.path.stat()
        except OSError:
            return False
        return (now.st_size, now.st_mtime_ns) == (self.size, self.mtime_ns)


def candidates(
    inbox: Inbox, skipped: tuple[Path, ...], unreadable: dict[Path, str]
) -> Iterator[Candidate]:
    """The files of an inbox, in no order.

    Args:
        skipped: folders that are not looked into.
        unreadable: gets the folders and files that cannot be read, with the reason.
    """

    def failed(error: OSError) -> None:
        unreadable[Path(error.filename or inbox.folder)] = error.strerror or str(error)

    for place, folders, names in os.walk(inbox.folder, onerror=failed):
        here = Path(place)
        if inbox.recursive:
            hidden = (name for name in folders if name.startswith("."))
            inside = {path.name for path in skipped if path.parent == here}
            folders[:] = sorted(set(folders) - set(hidden) - inside)
        else:
            folders.clear()
        for name in names:
            if name.startswith(".") or not any(fnmatchcase(name, p) for p in inbox.patterns):
                continue
            try:
                found = (here / name).stat()
            except OSError as error:
                unreadable[here / name] = error.strerror or str(error)
                continue
            if stat.S_ISREG(found.st_mode):
                yield Candidate(here / name, inbox, found.st_size, found.st_mtime_ns)


def ripeness(found: Candidate, before: Look | None, now: float) -> Ripe:
    """Whether a file is complete.

    A clock that jumps, here or where the file was written, must not keep a file waiting for ever:
    where the time of change is in the future, it counts how long the file has been seen as it is.

    Args:
        before: the last look at it, if there was one.
        now: seconds since 1970.
    """
    same = before is not None and before[:2] == (found.size, found.mtime_ns)
    if before is not None and not same:
        return Ripe.GROWING
    age = now - found.mtime_ns / 1e9
    seen = abs(now - before[2]) if before is not None else 0.0
    if age >= found.inbox.settle or (seen >= found.inbox.settle and same):
        return Ripe.SETTLED
    return Ripe.ENDED if _has_ended(found.path) else Ripe.YOUNG


def look_of(found: Candidate, before: Look | None, now: float) -> Look:
    """What is remembered of a file that waits: since when it has been seen as it is."""
    if before is not None and before[:2] == (found.size, found.mtime_ns):
        return before
    return found.size, found.mtime_ns, now


def _has_ended(path: Path) -> bool:
    """Whether a plain MONWRITE file ends with an end-of-data record.

    A frame of zeros is none: a file that is copied may have its full size from the start.
    """
    try:
        with path.open("rb") as file:
            whole = file.seek(0, os.SEEK_END)
            file.seek(max(0, whole - FRAME))
            last = file.read(FRAME)
    except OSError:
        return False
    frame = np.frombuffer(last, np.uint8)
    if whole % FRAME or len(frame) != FRAME or not frame[:AREA].any() or frame[AREA:].any():
        return False
    return read_control(frame) == []


def by_age(found: Mapping[Path, Candidate]) -> list[Candidate]:
    """Oldest first, so that intervals arrive in their order."""
    return sorted(found.values(), key=lambda one: (one.mtime_ns, one.path))
