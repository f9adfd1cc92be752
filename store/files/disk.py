"""Durable writes, and errors of a disk with their remedies."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from ...core.atomic import replacing
from ...core.errors import StoreError

_AGAIN = "then do the same again; what was half-written is removed by the next ingest"


@dataclass(frozen=True)
class _Refusal:
    """What is wrong when a disk refuses something, and what helps."""

    problem: str
    _: KW_ONLY
    code: str
    remedy: str

    def error(self, found: str | None, place: str | None = None) -> StoreError:
        return StoreError(
            self.problem,
            code=self.code,
            place=place,
            found=found,
            effect="nothing was changed; what had landed before is as it was",
            remedy=self.remedy,
        )


_KNOWN = {
    errno.ENOSPC: _Refusal(
        "the disk of the store is full",
        code="disk-full",
        remedy=f"make room on it, or let the store have a larger one, {_AGAIN}",
    ),
    errno.EDQUOT: _Refusal(
        "the quota of the store's disk is used up",
        code="disk-quota-exceeded",
        remedy=f"have it raised, {_AGAIN}",
    ),
    errno.EFBIG: _Refusal(
        "a file of the store would be larger than this process may write",
        code="file-size-limit-exceeded",
        remedy=f"raise the limit (ulimit -f), {_AGAIN}",
    ),
    errno.EROFS: _Refusal(
        "the disk of the store is read-only",
        code="disk-read-only",
        remedy="mount it for writing, or name another store with --store; it can be read as it is",
    ),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM),
        _Refusal(
            "the store may not be written",
            code="store-write-denied",
            remedy="let its owner ingest, or have the rights to its folders changed",
        ),
    ),
    errno.EIO: _Refusal(
        "the disk of the store fails",
        code="disk-failing",
        remedy="look into the system's log; have the disk repaired, then do the same again",
    ),
    **dict.fromkeys(
        (errno.EMFILE, errno.ENFILE),
        _Refusal(
            "too many files are open at once",
            code="open-files-limit-exceeded",
            remedy="raise the limit of open files (ulimit -n 4096), then do the same again",
        ),
    ),
}
_OF_READERS = (errno.EIO, errno.EMFILE, errno.ENFILE)
"""What keeps a file from being read that may be good."""


def read_error(error: Exception) -> StoreError | None:
    """What keeps a file from being read that may be good; None for any other error."""
    found = error if isinstance(error, OSError) and error.errno else disk_error(error)
    if found.errno not in _OF_READERS:
        return None
    return _KNOWN[found.errno].error(str(error).partition("\n")[0])


def disk_error(error: Exception) -> OSError:
    """What DuckDB reports of a disk, as the error that Python itself would have raised."""
    message = str(error)
    number = next((number for number in _KNOWN if os.strerror(number) in message), None)
    return OSError(message) if number is None else OSError(number, message)


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """Turn what a disk refuses into a StoreError; other errors pass.

    Raises:
        StoreError: the disk is full, read-only, failing, or not ours.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _KNOWN:
            raise
        place = str(error.filename or root)
        raise _KNOWN[error.errno].error(error.strerror, place) from error


def replace_durably(path: Path, content: str | bytes) -> None:
    """Write a small file so that a reader sees the old or the new one, after a crash as well.

    Raises:
        StoreError: the disk refuses it.
    """
    with writing(path.parent):
        with replacing(path) as part:
            write_durably(part, content)
        sync_folder(path.parent)


def make_private(folder: Path) -> None:
    """Make a folder, unless it exists, that only those may read who may write to it.

    Raises:
        OSError: the disk refuses it.
    """
    try:
        folder.mkdir()
    except FileExistsError:
        return
    mode = folder.stat().st_mode
    for others in (0o070, 0o007):
        if not mode & others & 0o022:
            mode &= ~others
    folder.chmod(mode & 0o7777)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(path: Path, content: str | bytes) -> None:
    """Write a small file; it is on the disk when this returns."""
    with path.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
