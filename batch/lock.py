"""One batch at a time for a store: a lock that the system releases when its holder ends."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from ..schemas.errors import BusyError
from ..store.disk import writing

FILE = ".lock"


@contextmanager
def only_one(folder: Path, run: str) -> Iterator[None]:
    """Hold the lock of a batch.

    Raises:
        BusyError: another process holds it.
        StoreError: the disk refuses it.
    """
    with writing(folder.parent):
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / FILE).open("a+", encoding="utf-8")
    with opened as lock:
        if not _taken(lock):
            raise BusyError(
                "another batch is at work on this store",
                place=str(folder.parent),
                found=_said(folder) or "a process that holds the lock",
                effect="nothing was done",
                remedy="let it finish; `cpmon batch status` tells how far it is",
            )
        lock.truncate(0)
        with suppress(OSError):  # on a full disk it is held all the same, without saying by whom
            os.write(lock.fileno(), json.dumps({"pid": os.getpid(), "run": run}).encode())
        try:
            yield
        finally:
            lock.truncate(0)


def _taken(lock: TextIO) -> bool:
    """Try for a moment: `status` holds the lock for less than that, to see whether it is free."""
    for wait in (0.05, 0.1, 0.0):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(wait)
        else:
            return True
    return False


def holder(folder: Path) -> str:
    """Who holds the lock, in words; empty if nobody does."""
    try:
        with (folder / FILE).open("r", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _said(folder) or "another process"
    except OSError:
        return ""
    return ""


def _said(folder: Path) -> str:
    try:
        said = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return f"process {int(said['pid'])}, run {said['run']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
