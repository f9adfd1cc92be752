"""A store in object storage: how a dump lands there, and what killed writers leave.

    staging/<token>.upload      where a dump, or a month, is being sent to, and since when
    records/system=VMSYS1/date=2001-12-18/dump=3f1c9a.../<token>/sytrsp.parquet ... dump.json
    manifest/system=VMSYS1/2001-12/3f1c9a....json       written last: then the dump has landed

Each writer sends to a folder of its own, so that two of the same dump do not mix. The file of the
manifest is put on the condition that there is none: of two writers one lands the dump.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ...schemas.derived import cache_folder
from ...schemas.errors import BusyError
from ..files.files import Files
from ..files.local import STAGING
from .cleanup import AGE_S, INTENT, carry_out, settle
from .landed_dump import ABOUT, dump_folder, line
from .manifest import Manifest, entry_name
from .staging import Staging

LOCKED = f"{STAGING}/alone.lock"
"""Is there while a process works that must be alone."""
UPLOAD = ".upload"
"""Ends the name of a file in `staging` that names the folder something is being sent to, and those
that it replaces."""


def local_folder(location: str) -> Path:
    """The folder of this machine for what is cached of a store elsewhere."""
    cache = cache_folder() or Path(tempfile.mkdtemp(prefix="cpmon-"))
    folder = cache / "stores" / blake2b(os.fsencode(location), digest_size=8).hexdigest()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def publish(
    files: Files, manifest: Manifest, staged: Staging, about: Mapping[str, Any], day: date
) -> bool:
    """Send a finished dump, then make it part of the store.

    Returns:
        False if the same dump had been landed meanwhile; then nothing changes.

    Raises:
        StoreError: the network or the server refuses it.
    """
    if manifest.find(about["dump"]) is not None:
        return False
    token = secrets.token_hex(6)
    folder = f"{dump_folder(about['system'], day, about['dump'])}/{token}"
    about, upload = {**about, "folder": folder}, f"{STAGING}/{token}{UPLOAD}"
    (staged.folder / ABOUT).write_text(line(about), encoding="utf-8")
    files.replace(upload, json.dumps({"folders": [folder]}).encode())
    files.publish({f"{folder}/{file.name}": file for file in sorted(staged.folder.iterdir())})
    has_landed = files.create(entry_name(about), line(about).encode())
    if has_landed:
        # Under the name of another system it may land at the same time; the manifest says which
        # of the two counts, to everybody the same.
        landed = manifest.find(about["dump"])
        has_landed = landed is not None and landed.folder == folder
    if has_landed:
        manifest.merge(entry_name(about))
    else:
        files.delete([*files.names(folder)])
    files.delete([upload])
    return has_landed


@contextmanager
def alone(files: Files) -> Iterator[None]:
    """One process at a time, of all machines.

    Raises:
        BusyError: another is at it.
    """
    if not files.create(LOCKED, b""):
        raise BusyError(
            "another process changes kept results of the store",
            place=files.uri(LOCKED),
            effect="nothing was changed",
            remedy="do it again later; if that process was killed, remove this object, or wait:"
            " it is removed when it is a day old",
        )
    try:
        yield
    finally:
        files.delete([LOCKED])


def clean(files: Files, manifest: Manifest, age_s: float = AGE_S) -> None:
    """Finish what killed processes had begun to remove, and remove what they had begun to send.

    Of a month that was sent and committed it is the folders that it replaces which are removed.

    Args:
        age_s: what was begun less than so long ago is left alone: its writer may be at work.

    Raises:
        StoreError: the network or the server refuses it.
    """
    for file in files.inside(STAGING).files:
        if file.name.endswith(INTENT):
            carry_out(files, file.name)
        elif file.name.endswith(UPLOAD) and time.time() - files.changed(file.name) > age_s:
            settle(files, manifest, file.name)
        elif file.name == LOCKED and time.time() - files.changed(file.name) > age_s:
            files.delete([file.name])
