"""Durable writes, and the mapping of disk errors to StoreError with a remedy."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from ...core.atomic import replacing
from ...core.errors import StoreError

_RETRY = "then run the command again; the next ingest removes unfinished files"


@dataclass(frozen=True)
class _DiskProblem:
    """Problem and remedy of a kind of disk error."""

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
            effect="nothing was changed; landed dumps are intact",
            remedy=self.remedy,
        )


_PROBLEMS = {
    errno.ENOSPC: _DiskProblem(
        "the disk of the store is full",
        code="disk-full",
        remedy=f"free some space, or move the store to a larger disk, {_RETRY}",
    ),
    errno.EDQUOT: _DiskProblem(
        "the disk quota of the store is exhausted",
        code="disk-quota-exceeded",
        remedy=f"ask for a higher quota, {_RETRY}",
    ),
    errno.EFBIG: _DiskProblem(
        "a file of the store would be larger than this process may write",
        code="file-size-limit-exceeded",
        remedy=f"raise the limit (ulimit -f), {_RETRY}",
    ),
    errno.EROFS: _DiskProblem(
        "the disk of the store is read-only",
        code="disk-read-only",
        remedy="remount it read-write, or name another store with --store; queries still work",
    ),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM),
        _DiskProblem(
            "the store may not be written",
            code="store-write-denied",
            remedy="run the command as the owner of the store, or change the rights to its folders",
        ),
    ),
    errno.EIO: _DiskProblem(
        "the disk of the store reports an I/O error",
        code="disk-failing",
        remedy="check the system log and repair the disk, then run the command again",
    ),
    **dict.fromkeys(
        (errno.EMFILE, errno.ENFILE),
        _DiskProblem(
            "too many files are open at once",
            code="open-files-limit-exceeded",
            remedy="raise the limit of open files (ulimit -n 4096), then run the command again",
        ),
    ),
}
_OF_READERS = (errno.EIO, errno.EMFILE, errno.ENFILE)
"""Errors of reads that say nothing about the file itself."""


def read_error(error: Exception) -> StoreError | None:
    """StoreError for a read error that says nothing about the file itself; None for others."""
    os_error = error if isinstance(error, OSError) and error.errno else disk_error(error)
    if os_error.errno not in _OF_READERS:
        return None
    return _PROBLEMS[os_error.errno].error(str(error).partition("\n")[0])


def disk_error(error: Exception) -> OSError:
    """Converts a disk error reported by DuckDB into the OSError that Python would raise."""
    message = str(error)
    number = next((number for number in _PROBLEMS if os.strerror(number) in message), None)
    return OSError(message) if number is None else OSError(number, message)


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """Maps OSError to StoreError with a remedy; other errors pass unchanged.

    Args:
        root: named in the message if the error names no file.

    Raises:
        StoreError: the disk is full, read-only, failing, or not writable by this user.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _PROBLEMS:
            raise
        place = str(error.filename or root)
        raise _PROBLEMS[error.errno].error(error.strerror, place) from error


def replace_durably(path: Path, content: str | bytes) -> None:
    """Replaces a small file atomically and durably."""
    with writing(path.parent):
        with replacing(path) as part:
            write_durably(part, content)
        sync_folder(path.parent)


def make_private(folder: Path) -> None:
    """Creates a folder that is readable only for those who may write to it, unless it exists."""
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
    """Makes the directory entries of a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(path: Path, content: str | bytes) -> None:
    """Writes a small file and syncs it to disk."""
    with path.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
