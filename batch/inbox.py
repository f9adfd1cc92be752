"""Files of the inboxes: discovery, completeness check, and quarantine."""

from __future__ import annotations

import errno
import filecmp
import math
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from ..config.settings import InboxSettings
from ..core.atomic import replacing
from ..core.errors import CpmonError, StoreError
from ..ingest.container.compression import LONGEST_MAGIC, compression_of
from ..ingest.container.control_records import AREA, read_control
from ..ingest.container.record_index import FRAME
from ..ingest.container.source import open_source
from ..store.files.disk import replace_durably
from .log import ascii_path

Observation = tuple[int, int, float]
"""Size and mtime (ns) of a file, and when they were first observed (s since 1970)."""

REASON_SUFFIX = ".reason.txt"


GROWING = "has changed since the last look"
"""Reason why a file is considered incomplete."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file of an inbox, as listed."""

    path: Path
    inbox: InboxSettings
    size: int
    mtime_ns: int

    @property
    def is_unchanged(self) -> bool:
        """Whether size and mtime are unchanged."""
        try:
            status = self.path.stat()
        except OSError:
            return False
        return (status.st_size, status.st_mtime_ns) == (self.size, self.mtime_ns)


def candidates(
    inbox: InboxSettings, skipped: tuple[Path, ...], unreadable: dict[Path, str]
) -> Iterator[Candidate]:
    """The files of an inbox, unordered.

    Args:
        skipped: folders that are not searched.
        unreadable: collects folders and files that cannot be read, with the reason.
    """

    def failed(error: OSError) -> None:
        unreadable[Path(error.filename or inbox.folder)] = error.strerror or str(error)

    for name, folders, files in os.walk(inbox.folder, onerror=failed):
        parent = Path(name)
        if inbox.recursive:
            hidden = {folder for folder in folders if folder.startswith(".")}
            inside = {path.name for path in skipped if path.parent == parent}
            folders[:] = sorted(set(folders) - hidden - inside)
        else:
            folders.clear()
        for file in files:
            if file.startswith(".") or not any(fnmatchcase(file, p) for p in inbox.patterns):
                continue
            path = parent / file
            try:
                status = path.stat()
            except OSError as error:
                unreadable[path] = error.strerror or str(error)
                continue
            if stat.S_ISREG(status.st_mode):
                yield Candidate(path, inbox, status.st_size, status.st_mtime_ns)


def incomplete(file: Candidate, previous: Observation | None, now: float) -> str:
    """The reason why a file may be incomplete; empty if it can be read.

    If its mtime is in the future, the time since the first observation counts instead, so that a
    clock that jumps, here or on the sender, does not defer the file for ever.

    Args:
        previous: an earlier observation of the file, if any.
        now: seconds since 1970.
    """
    if previous is not None and previous[:2] != (file.size, file.mtime_ns):
        return GROWING
    age = now - file.mtime_ns / 1e9
    observed = abs(now - previous[2]) if previous is not None else None
    settle_s = file.inbox.settle.seconds if file.inbox.settle else 0.0
    is_settled = age >= settle_s or (observed is not None and observed >= settle_s)
    if is_settled or _has_end_of_data(file.path):
        return ""
    since = now - age if age >= 0 else previous[2] if previous is not None else now
    until = datetime.fromtimestamp(math.ceil(since + settle_s), UTC)
    return (
        "has no end-of-data record: complete when it has not changed until"
        f" {until:%Y-%m-%d %H:%M:%S} UTC (settle = {file.inbox.settle})"
    )


def observe(file: Candidate, previous: Observation | None, now: float) -> Observation:
    """The observation of an incomplete file: the previous one, unless the file has changed."""
    if previous is not None and previous[:2] == (file.size, file.mtime_ns):
        return previous
    return file.size, file.mtime_ns, now


def _has_end_of_data(path: Path) -> bool:
    """Whether a dump, also a compressed one, ends with an end-of-data record of MONWRITE.

    A frame of zeros is one, unless another is in front of it: a file may have its full size while
    it is still being copied.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            if compression_of(file.read(LONGEST_MAGIC)) == "none":
                file.seek(max(0, size - 2 * FRAME))
                last = file.read(2 * FRAME)
            else:
                size, last = _decompressed(path)
    except (OSError, CpmonError):
        return False
    if size % FRAME or len(last) != 2 * FRAME:
        return False
    before, frame = np.frombuffer(last, np.uint8).reshape(2, FRAME)
    return bool(before.any()) and not frame[AREA:].any() and read_control(frame) == []


def _decompressed(path: Path) -> tuple[int, bytes]:
    """Size of a dump without its compression, and its last two frames; 0 if it is damaged."""
    window, last = memoryview(bytearray(1024 * 1024)), b""
    with open_source(path) as source:
        source.hashing = False
        while count := source.readinto(window):
            last = (last + bytes(window[:count]))[-2 * FRAME :]
        return (0, b"") if source.damage else (source.size, last)


def quarantine(path: Path, folder: Path, reason: str) -> Path:
    """Move a file that is not a dump into a folder under an unused name; returns the new path.

    The reason is written first, so that a killed process leaves no file without one.

    Raises:
        CpmonError: the file cannot be moved; it stays in the inbox.
    """
    note = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        target = _free_path(folder, path)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        note = target.with_name(target.name + REASON_SUFFIX)
        replace_durably(note, f"{reason}\n\nfrom {ascii_path(path)}\nat {now}\n")
        _move(path, target)
    except (OSError, StoreError) as error:
        if note is not None:
            with suppress(OSError):
                note.unlink(missing_ok=True)
        raise CpmonError(
            "a file cannot be put into quarantine",
            code="quarantine-failed",
            place=str(path),
            found=error.found if isinstance(error, StoreError) else error.strerror or str(error),
            effect="it stays in the inbox; the next run tries again",
            remedy=f"let this user write to {folder} and to {path.parent}",
        ) from None
    return target


def quarantined(folder: Path | None) -> list[tuple[Path, str]]:
    """The files of a quarantine folder, each with the first line of its reason."""
    files = []
    for note in sorted(folder.glob(f"*{REASON_SUFFIX}")) if folder else ():
        file = note.with_name(note.name.removesuffix(REASON_SUFFIX))
        if file.exists():
            lines = note.read_text(encoding="utf-8", errors="replace").splitlines()
            files.append((file, lines[0] if lines else ""))
    return files


def _free_path(folder: Path, path: Path) -> Path:
    """An unused path in the folder, or that of a copy left by an interrupted move.

    A copy has the same content and mtime.
    """
    target, number = folder / path.name, 1
    while os.path.lexists(target):
        if target.is_file() and not target.is_symlink():
            is_same_time = path.stat().st_mtime_ns == target.stat().st_mtime_ns
            if is_same_time and filecmp.cmp(path, target, shallow=False):
                break
        target, number = folder / f"{path.name}.{number}", number + 1
    return target


def _move(path: Path, target: Path) -> None:
    """Rename a file, or copy it if the target is on another file system."""
    try:
        path.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with replacing(target) as part:
            shutil.copy2(path, part)
        try:
            path.unlink()
        except OSError:
            target.unlink()
            raise
