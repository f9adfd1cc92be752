"""Cleanup of what killed processes left in a store: unfinished files, and removals half done.

Whoever has to remove several files writes down first which ones: the intent. It is carried out by
the same process, or, if that was killed, by the next one that writes to the store.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...schemas.atomic import LOCK, remove_abandoned_parts, remove_abandoned_scratch
from ...schemas.errors import StoreError
from .disk import make_private, replace_durably
from .folders import touch

INTENT = ".intent"
"""Ends the name of a file in `staging` that says what is to be removed."""
FOLDERS = (
    *("records", "runs", "reduced", "batch", "snapshot"),
    *("sizes", "layouts", "staging"),
)
"""What a store is made of; none of them may be a link, for then its files were another's."""
AGE_S = 86_400
"""What has no lock is left alone for so long: its owner may still be at work."""
_UNLOCKED = ("tmp*", ".store.json.*", ".catalog.*", ".classes.txt.*", ".gathered.*")
"""Unfinished files of earlier versions, which held no locks."""


def clean(root: Path) -> None:
    """Finish what killed processes had begun to remove, and remove what they had not finished.

    Raises:
        StoreError: a folder of the store is a link, or an intent names files outside of the store.
        OSError: the disk refuses it.
    """
    for name in FOLDERS:
        _check_inside(root, root / name)
    staging = root / "staging"
    for intent in sorted(staging.glob(f"*{INTENT}")):
        _carry_out(root, intent)
    remove_abandoned_scratch(staging)
    reduced = root / "reduced"
    of_results = [folder for folder in reduced.glob("*") if not folder.is_symlink()]
    for folder in (root, root / "runs", root / "batch", staging, reduced, *of_results):
        remove_abandoned_parts(folder)
    for pattern in _UNLOCKED:
        for old in root.glob(pattern):
            _remove_old(old)
    for old in staging.glob("*"):
        if old.suffix not in (LOCK, INTENT) and not old.with_name(old.name + LOCK).exists():
            _remove_old(old)


def replace_and_remove(root: Path, texts: Mapping[Path, str], files: Iterable[Path]) -> None:
    """Write some small files and remove others: all of it, though this process be killed.

    Args:
        texts: files in folders of dumps -> what they are to hold. files: what is removed after.

    Raises:
        StoreError: the disk refuses it, or one of the files is outside of the store.
    """
    document = {
        "replace": {str(path.relative_to(root)): text for path, text in texts.items()},
        "remove": [str(path.relative_to(root)) for path in files],
    }
    made = json.dumps(document)
    staging = root / "staging"
    make_private(staging)
    intent = staging / f"{hashlib.blake2b(made.encode(), digest_size=8).hexdigest()}{INTENT}"
    replace_durably(intent, made)
    _carry_out(root, intent)


def remove(root: Path, files: Iterable[Path]) -> None:
    """Remove files of a store, those that are left of them.

    Raises:
        StoreError: one of them is outside of the store, behind a link.
        OSError: the disk refuses it.
    """
    checked: set[Path] = set()
    for file in files:
        if file.parent not in checked:
            _check_inside(root, file.parent)
            checked.add(file.parent)
        file.unlink(missing_ok=True)


def _carry_out(root: Path, intent: Path) -> None:
    """Do what an intent says; others may be doing the same."""
    try:
        document = json.loads(intent.read_text(encoding="utf-8"))
        texts = {Path(f"{root}/{name}"): str(text) for name, text in document["replace"].items()}
        files = [Path(f"{root}/{name}") for name in document["remove"]]
    except FileNotFoundError:
        return  # another process has just finished it
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            "what a killed process had begun to remove cannot be read",
            place=str(intent),
            found=str(error),
            effect="nothing was changed",
            remedy="remove that file",
        ) from None
    for folder in {path.parent for path in texts}:
        _check_inside(root, folder)
    for path, text in texts.items():
        if path.parent.is_dir():
            touch(path.parent)  # now and at the end: a kill between must not hide what was done
            replace_durably(path, text)
    remove(root, files)
    for path in texts:
        if path.parent.is_dir():
            touch(path.parent)
    intent.unlink(missing_ok=True)


def _check_inside(root: Path, folder: Path) -> None:
    """Refuse to change what only seems to be in the store."""
    place = root.resolve()
    if folder.resolve() != place / folder.relative_to(root):
        raise StoreError(
            "a folder of the store is a link, or leads out of it",
            place=str(folder),
            expected=f"a folder of {root} itself",
            found=str(folder.resolve()),
            effect="nothing was removed or written",
            remedy="replace it by a folder; a store on another disk is mounted or named as a whole",
        )


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
