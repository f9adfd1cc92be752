"""Cleanup after killed processes: unfinished files and half-done removals.

A process that removes several files first writes their names to an intent file. It then carries
out the intent; if it was killed, the next process that writes to the store does.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from ...core.atomic import LOCK, remove_abandoned_parts, remove_abandoned_scratch
from ...core.errors import StoreError
from ..files.disk import make_private, sync_folder, writing
from ..files.files import Files
from ..files.local import STAGING, LocalFiles, check_inside, make_folder
from .landed_dump import ABOUT, MONTHS
from .manifest import LANDING, Manifest, folder_of

INTENT = ".intent"
"""Suffix of intent files in `staging`, which list files to remove."""
ASIDE = "aside"
"""Folder for the remains of dropped dumps; their folders keep their names below it."""
MERGING = ".merging"
"""Suffix of marker files in `months` that list the folders of a merge in progress."""
FOLDERS = (*("records", "months", "manifest", "runs", "reduced", "batch", "staging", "aside"),)
"""Top-level folders of a store. None may be a symlink: its files would be another store's."""
AGE_S = 86_400
"""Minimum age for removal of files without a lock: their owner may still be working."""
_UNLOCKED = re.compile(
    r"\.(store\.json|catalog|classes\.txt|gathered)\.([a-z0-9_]{8}|[0-9a-f]{12})"
)
"""Unfinished files of earlier versions, which held no locks.

Their scratch folders (tmp and eight letters) are left: they hold empty files, and a user's folder
may have such a name.
"""


def clean(files: LocalFiles) -> None:
    """Finishes the removals of killed processes and removes their unfinished files.

    Raises:
        StoreError: a folder of the store is a symlink, or an intent names files outside the store.
    """
    root, staging = files.root, files.root / STAGING
    for name in FOLDERS:
        check_inside(root, root / name)
    for intent in sorted(staging.glob(f"*{INTENT}")):
        carry_out(files, f"{STAGING}/{intent.name}")
    remove_abandoned_scratch(staging)
    reduced = root / "reduced"
    of_results = [reduced, *(folder for folder in reduced.glob("*") if not folder.is_symlink())]
    for folder in (root, root / "runs", root / "batch", root / MONTHS, staging, *of_results):
        remove_abandoned_parts(folder)
    for old in root.glob(".*"):
        if _UNLOCKED.fullmatch(old.name):
            _remove_old(old)
    for old in staging.glob("*"):
        if (
            old.suffix not in (LOCK, INTENT, LANDING)
            and not old.with_name(old.name + LOCK).exists()
        ):
            _remove_old(old)


def replace_and_remove(files: Files, texts: Mapping[str, str], names: Iterable[str]) -> None:
    """Writes some small files, then removes others; a killed call is completed by a later process.

    Args:
        texts: file name -> new content; the folders exist.
        names: files to remove afterwards.

    Raises:
        StoreError: a file is outside the store.
    """
    made = json.dumps({"replace": dict(texts), "remove": [*names]}).encode()
    if isinstance(files, LocalFiles):
        make_private(files.root / STAGING)
    intent = f"{STAGING}/{hashlib.blake2b(made, digest_size=8).hexdigest()}{INTENT}"
    files.replace(intent, made)
    carry_out(files, intent)


def remove(files: Files, names: Iterable[str]) -> None:
    """Deletes files of a store; missing ones are ignored.

    Raises:
        StoreError: a file is outside the store, behind a symlink.
    """
    removed = list(names)
    _check_folders(files, removed)
    files.delete(removed)


def put_aside(files: Files, folder: str) -> None:
    """Moves a folder of dumps to `aside`, which nobody reads; does nothing in object storage.

    Raises:
        StoreError: a folder is a symlink.
    """
    if not isinstance(files, LocalFiles) or not (source := files.root / folder).is_dir():
        return
    target, number = files.root / ASIDE / folder, 1
    while target.exists():
        number += 1
        target = files.root / ASIDE / f"{folder}.{number}"
    check_inside(files.root, source)
    with writing(files.root):
        make_folder(files.root, target.parent)
        source.rename(target)
        sync_folder(target.parent)
        sync_folder(source.parent)


def settle(files: Files, manifest: Manifest, marker: str) -> None:
    """Deletes the folders that a marker names and the manifest does not, then the marker.

    Before the commit these are the folders that a killed process had begun to write; after it, the
    folders that were replaced.

    Args:
        marker: a file with {"folders": [...], "aside": [...]}; folders in "aside" are moved to
            `aside` instead of deleted.
    """
    try:
        said = msgspec.json.decode(files.read(marker), type=_Marker)
    except FileNotFoundError:
        return  # another process has just done it
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _damaged(files, marker, error) from None
    folders, aside = said.folders, said.aside
    named = manifest.folders()
    going = [folder for folder in folders if folder not in named]
    _check_folders(files, (f"{folder}/{ABOUT}" for folder in going))
    files.delete_folders(folder for folder in going if folder not in aside)
    for folder in aside:
        if folder in going:
            put_aside(files, folder)
    # Manifest files of the folders that the month replaced may be left as well.
    for folder in named.intersection(folders):
        if folder.startswith(f"{MONTHS}/"):
            manifest.put(manifest.abouts(folder))
    files.delete([marker])


def carry_out(files: Files, intent: str) -> None:
    """Carries out an intent; other processes may be doing the same."""
    try:
        said = msgspec.json.decode(files.read(intent), type=_Intent)
    except FileNotFoundError:
        return  # another process has just finished it
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _damaged(files, intent, error) from None
    _check_folders(files, said.replace)
    for name, text in said.replace.items():
        if next(files.names(folder_of(name)), None) is not None:
            files.replace(name, text.encode())
    remove(files, said.remove)
    files.delete([intent])


class _Marker(msgspec.Struct):
    """Content of a marker file."""

    folders: list[str]
    aside: list[str] = []


class _Intent(msgspec.Struct):
    """Content of an intent file: texts to write by file name, then files to remove."""

    replace: dict[str, str]
    remove: list[str]


def _damaged(files: Files, name: str, error: Exception) -> StoreError:
    return StoreError(
        "what a killed process had begun to remove cannot be read",
        code="removal-intent-damaged",
        place=files.uri(name),
        found=str(error),
        effect="nothing was changed",
        remedy="move that file out of the store",
    )


def _check_folders(files: Files, names: Iterable[str]) -> None:
    """Checks that all files are inside a local store."""
    if isinstance(files, LocalFiles):
        for folder in {folder_of(name) for name in names}:
            check_inside(files.root, Path(f"{files.root}/{folder}"))


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
