"""What killed processes left in a store: half-written dumps, and small files not yet renamed."""

from __future__ import annotations

import fcntl
import shutil
import time
from pathlib import Path

LOCK = ".lock"
"""Ends the name of the file that the owner of a half-written dump keeps locked."""
AGE_S = 86_400
"""What has no lock is left alone for so long: its owner may still be at work."""
_UNNAMED = (
    "tmp*",
    ".store.json.*",
    ".catalog.*",
    ".classes.txt.*",
    ".gathered.*",
    "runs/.*.json.*",
)


def sweep(root: Path) -> None:
    """Remove what nobody is working on any more.

    Half-written dumps whose lock is free, and what was to be renamed a day ago; a clock that jumps
    may leave it there for another while.
    """
    for file in (root / "staging").glob(f"*{LOCK}"):
        try:
            with file.open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(file.with_suffix(""), ignore_errors=True)
                file.unlink(missing_ok=True)
        except (BlockingIOError, FileNotFoundError):
            continue
    for pattern in _UNNAMED:
        for left in root.glob(pattern):
            _remove_old(left)
    for left in (root / "staging").glob("*"):
        if left.suffix != LOCK and not left.with_name(left.name + LOCK).exists():
            _remove_old(left)


def _remove_old(left: Path) -> None:
    try:
        if abs(time.time() - left.lstat().st_mtime) < AGE_S:
            return
    except FileNotFoundError:
        return
    if left.is_dir() and not left.is_symlink():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)
