"""Cleanup of what killed processes left in a store: unfinished files, and removals half done.

Whoever has to remove several files writes down first which ones: the intent. It is carried out by
the same process, or, if that was killed, by the next one that writes to the store.
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
"""Ends the name of a file in `staging` that says what is to be removed."""
ASIDE = "aside"
"""Folder of what is left of dumps that were dropped; below it their folders have their names."""
MERGING = ".merging"
"""Ends the name of a file in `months` that names folders, while those of dumps become one."""
FOLDERS = (*("records", "months", "manifest", "runs", "reduced", "batch", "staging", "aside"),)
"""What a store is made of; none of them may be a link, for then its files were another's."""
AGE_S = 86_400
"""What has no lock is left alone for so long: its owner may still be at work."""
_UNLOCKED = re.compile(
    r"\.(store\.json|catalog|classes\.txt|gathered)\.([a-z0-9_]{8}|[0-9a-f]{12})"
)
"""Unfinished files of earlier versions, which held no locks.

Scratch folders of such versions, tmp and eight letters, stay: they hold empty files, and a folder
of the user may have such a name.
"""


def clean(files: LocalFiles) -> None:
    """Finish what killed processes had begun to remove, and remove what they had not finished.

    Raises:
        StoreError: a folder of the store is a link, or an intent names files outside of the store.
        OSError: the disk refuses it.
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
    """Write some small files and remove others: all of it, though this process be killed.

    Args:
        texts: files in folders that exist -> what they are to hold. names: what is removed after.

    Raises:
        StoreError: the disk refuses it, or one of the files is outside of the store.
    """
    made = json.dumps({"replace": dict(texts), "remove": [*names]}).encode()
    if isinstance(files, LocalFiles):
        make_private(files.root / STAGING)
    intent = f"{STAGING}/{hashlib.blake2b(made, digest_size=8).hexdigest()}{INTENT}"
    files.replace(intent, made)
    carry_out(files, intent)


def remove(files: Files, names: Iterable[str]) -> None:
    """Remove files of a store, those that are left of them.

    Raises:
        StoreError: one of them is outside of the store, behind a link.
        OSError: the disk refuses it.
    """
    removed = list(names)
    _check_folders(files, removed)
    files.delete(removed)


def put_aside(files: Files, folder: str) -> None:
    """Move what is left of dumps to where nobody reads it; in object storage nobody does so anyway.

    Raises:
        StoreError: the disk refuses it, or a folder is a link.
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
    """Remove the folders that a marker names and the manifest does not, then the marker.

    Before its commit the manifest lacks what a killed process had begun to write; behind it, what
    that replaced.

    Args:
        marker: a file with {"folders": [...]}; those of "aside" are not removed but put there.
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
    # Files of the manifest that the month replaced may be left as well.
    for folder in named.intersection(folders):
        if folder.startswith(f"{MONTHS}/"):
            manifest.put(manifest.abouts(folder))
    files.delete([marker])


def carry_out(files: Files, intent: str) -> None:
    """Do what an intent says; others may be doing the same."""
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
    """What a marker says."""

    folders: list[str]
    aside: list[str] = []


class _Intent(msgspec.Struct):
    """What an intent says: texts of files by their names, and what is removed behind them."""

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
    """Refuse to change files outside of a store on a disk."""
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
