"""Files that are no dumps: moved out of the inbox, with the reason beside them."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ..schemas.errors import CpmonError, StoreError
from ..store.store import replace_durably
from .plain import plain_path

SUFFIX = ".reason.txt"


def quarantine(path: Path, folder: Path, reason: str) -> Path:
    """Move a file; returns where it is now. One of the same name that is there already stays.

    The reason is written first, so that no file lies there without one, killed or not.

    Raises:
        CpmonError: it cannot be moved; it stays where it was.
    """
    told = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        target = _free(folder, path.name)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        said = f"{reason}\n\nfrom {plain_path(path)}\nat {now}\n"
        told = target.with_name(target.name + SUFFIX)
        replace_durably(told, said)
        _move(path, target)
    except (OSError, StoreError) as error:
        if told is not None:
            with suppress(OSError):
                told.unlink(missing_ok=True)
        raise CpmonError(
            "a file cannot be put into quarantine",
            place=str(path),
            found=error.found if isinstance(error, StoreError) else error.strerror or str(error),
            effect="it stays in the inbox; the next run tries again",
            remedy=f"let this user write to {folder} and to {path.parent}",
        ) from None
    return target


def held(folder: Path | None) -> list[tuple[Path, str]]:
    """The files of a quarantine, with the first line of the reason of each."""
    found = []
    for reason in sorted(folder.glob(f"*{SUFFIX}")) if folder else ():
        file = reason.with_name(reason.name.removesuffix(SUFFIX))
        if file.exists():
            lines = reason.read_text(encoding="utf-8", errors="replace").splitlines()
            found.append((file, lines[0] if lines else ""))
    return found


def _free(folder: Path, name: str) -> Path:
    """A name in the folder that nothing has."""
    target, number = folder / name, 1
    while os.path.lexists(target):
        target, number = folder / f"{name}.{number}", number + 1
    return target


def _move(path: Path, target: Path) -> None:
    """By a rename, or through a copy where the folder is on another disk."""
    try:
        path.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = target.with_name(f".{target.name}.part")
        shutil.copy2(path, beside)
        beside.rename(target)
        try:
            path.unlink()
        except OSError:
            target.unlink()
            raise
