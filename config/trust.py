"""Whether commands may be taken from a file of settings: not from a store that is not trusted.

A store may come from elsewhere, and whoever can write to it can write its `cpmon.toml`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

MARKER = "store.json"
"""What makes a folder a store."""


def exposure(store: Path, *files: Path) -> str:
    """Why others than this user and root can write to a store or files of it; empty if not."""
    for path in (store, *files):
        try:
            status = path.stat()
        except OSError:
            continue
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"{path} can be written by others (mode {stat.S_IMODE(status.st_mode):04o})"
        if status.st_uid not in (0, os.geteuid()):
            return f"{path} belongs to another user (number {status.st_uid})"
    return ""


def distrust(file: Path, trusted: Sequence[Path], *, named: bool) -> str:
    """Why no command is taken from a file of settings; empty if commands are.

    Args:
        trusted: stores that the user's own file names. named: the user named this file.
    """
    store = next((each for each in file.resolve().parents if (each / MARKER).exists()), None)
    if store is None:
        return ""
    if not named and store not in (path.resolve() for path in trusted):
        return f"{file} lies in a store that is not trusted"
    return exposure(store, file)
