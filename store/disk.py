"""What a disk refuses, told so that its owner can do something about it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..schemas.errors import StoreError

_AGAIN = "then do the same again; what was half-written is removed by the next ingest"
_KNOWN = {
    errno.ENOSPC: ("the disk of the store is full", f"make room (cpmon store prune), {_AGAIN}"),
    errno.EDQUOT: ("the quota of the store's disk is used up", f"have it raised, {_AGAIN}"),
    errno.EFBIG: (
        "a file of the store would be larger than this process may write",
        f"raise the limit (ulimit -f), {_AGAIN}",
    ),
    errno.EROFS: (
        "the disk of the store is read-only",
        "mount it for writing, or name another store with --store; it can be read as it is",
    ),
    errno.EACCES: (
        "the store may not be written",
        "let its owner ingest, or have the rights to its folders changed",
    ),
    errno.EPERM: (
        "the store may not be written",
        "let its owner ingest, or have the rights to its folders changed",
    ),
    errno.EIO: (
        "the disk of the store fails",
        "look into the system's log; have the disk repaired, then do the same again",
    ),
}


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
        problem, remedy = _KNOWN[error.errno]
        raise StoreError(
            problem,
            place=str(error.filename or root),
            found=error.strerror,
            effect="nothing was changed; what had landed before is as it was",
            remedy=remedy,
        ) from error
