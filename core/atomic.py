"""Atomic files and folders, which get their name when they are complete.

A writer locks its unfinished files; the system releases the lock when the process ends. A file with
the name of an unfinished one and without a lock belongs to a killed process.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PART = ".part"
"""Suffix of a file that is not complete."""
LOCK = ".lock"
"""Suffix of the file that the owner of a scratch folder locks."""


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """A new file beside `path` to write to; it becomes `path` at the end, or is removed.

    Unfinished files of killed processes for the same path are removed first.

    Args:
        mode: permissions of the new file, less the umask.
    """
    with unfinished(path, mode) as part:
        yield part
        part.replace(path)


@contextmanager
def unfinished(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """As `replacing`, but the new file is removed at the end, unless it was renamed."""
    remove_abandoned_parts(path.parent, f".{path.name}.")
    with _locked(path.parent, f".{path.name}.", PART, mode) as part:
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A new folder for unfinished work; it is removed at the end, unless it was renamed."""
    with _locked(parent, "", LOCK, 0o600) as lock:
        folder = lock.with_suffix("")
        try:
            folder.mkdir()
            yield folder
        finally:
            _remove_scratch(lock)


def remove_abandoned_parts(folder: Path, begin: str = ".") -> None:
    """Remove unfinished files of killed processes whose names have a prefix."""
    for part in _names(folder, begin, PART):
        if re.fullmatch("[0-9a-f]{12}", part.stem.rpartition(".")[2]):  # else not of cpmon
            _if_abandoned(part, part.unlink)


def remove_abandoned_scratch(parent: Path) -> None:
    """Remove the scratch folders of killed processes."""
    for lock in _names(parent, "", LOCK):
        _if_abandoned(lock, functools.partial(_remove_scratch, lock))


def _remove_scratch(lock: Path) -> None:
    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
    lock.unlink(missing_ok=True)


@contextmanager
def _locked(folder: Path, begin: str, end: str, mode: int) -> Iterator[Path]:
    """A new, empty, locked file with a random name, so that nobody can create it before."""
    while True:
        path = folder / f"{begin}{secrets.token_hex(6)}{end}"
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        with suppress(OSError):  # some network disks have no locks: nothing is abandoned then
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            break
        os.close(handle)  # another process removed it before it was locked
    try:
        yield path
    finally:
        os.close(handle)


def _names(folder: Path, begin: str, end: str) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [e.path for e in entries if e.name.startswith(begin) and e.name.endswith(end)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [Path(name) for name in names]


def _if_abandoned(path: Path, remove: Callable[[], None]) -> None:
    """Remove a file unless a process has locked it, or it belongs to another user."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        return
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link or a device, not of cpmon
            return
        raise
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(FileNotFoundError):
            remove()
    except BlockingIOError:
        return
    finally:
        os.close(handle)
