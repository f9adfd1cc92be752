"""A store in object storage: publishing of dumps and cleanup after killed writers.

    staging/<token>.upload      folder of an upload in progress, and when it began
    records/system=VMSYS1/date=2001-12-18/dump=3f1c9a.../<token>/sytrsp.parquet ... dump.json
    manifest/system=VMSYS1/2001-12/3f1c9a....json       written last: then the dump has landed

Each writer uploads to a folder of its own, so that two uploads of the same dump do not mix. The
manifest entry is created only if it does not exist: one of two writers lands the dump. An upload is
deleted only once the manifest names the folder of the other writer.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from ...core.derived import cache_folder
from ...core.errors import BusyError
from ..files.files import Files
from ..files.local import STAGING
from .cleanup import AGE_S, INTENT, carry_out, settle
from .landed_dump import ABOUT, dump_folder, line
from .manifest import UPLOAD, Manifest, entry_name
from .staging import Staging

LOCKED = f"{STAGING}/alone.lock"
"""Lock object; exists while a process needs exclusive access."""


def local_folder(location: str) -> Path:
    """Local cache folder of a store in object storage."""
    cache = cache_folder() or Path(tempfile.mkdtemp(prefix="cpmon-"))
    folder = cache / "stores" / blake2b(os.fsencode(location), digest_size=8).hexdigest()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def publish(
    files: Files, manifest: Manifest, staged: Staging, about: Mapping[str, Any], day: date
) -> bool:
    """Uploads a finished dump, then adds it to the manifest.

    Returns:
        False if the same dump was landed meanwhile; then nothing changes.

    Raises:
        StoreError: a network or server error. The dump may have landed nevertheless; landing it
            again reports that.
    """
    if manifest.find(about["dump"]) is not None:
        return False
    token = secrets.token_hex(6)
    folder = f"{dump_folder(about['system'], day, about['dump'])}/{token}"
    about, upload = {**about, "folder": folder}, f"{STAGING}/{token}{UPLOAD}"
    (staged.folder / ABOUT).write_text(line(about), encoding="utf-8")
    files.replace(upload, json.dumps({"folders": [folder]}).encode())
    files.publish({f"{folder}/{file.name}": file for file in sorted(staged.folder.iterdir())})
    files.create(entry_name(about), line(about).encode())
    landed = manifest.find(about["dump"])
    if landed is None:  # pruned or repaired meanwhile; `clean` removes what no entry refers to
        return False
    if landed.folder == folder:
        manifest.merge(entry_name(about))
    else:
        files.delete([*files.names(folder)])
    files.delete([upload])
    return landed.folder == folder


@contextmanager
def alone(files: Files) -> Iterator[None]:
    """Lock of the store across all machines.

    Raises:
        BusyError: another process holds it.
    """
    token = secrets.token_hex(6)
    own = msgspec.json.encode(
        _Lock(
            _user(),
            socket.gethostname(),
            _processes(),
            os.getpid(),
            datetime.now(UTC).isoformat(timespec="seconds"),
            token,
        )
    )
    if not files.create(LOCKED, own) and not _taken_over(files, own):
        held = _lock(files)
        raise BusyError(
            "another process changes kept results of the store",
            code="results-locked",
            place=files.uri(LOCKED),
            found=f"process {held.process} of {held.user} on {held.machine}, since {held.since}"
            if held
            else None,
            effect="nothing was changed",
            remedy="do it again later; if that process was killed, remove this object, or wait:"
            " it is removed when it is a day old",
        )
    _HELD.add(token)
    try:
        yield
    finally:
        _HELD.discard(token)
        with suppress(FileNotFoundError):
            if files.read(LOCKED) == own:
                files.delete([LOCKED])


class _Lock(msgspec.Struct):
    """Content of the lock object: its holder.

    Attributes:
        processes: boot and PID namespace; processes with the same value can see each other.
        since: UTC.
    """

    user: str
    machine: str
    processes: str
    process: int
    since: str
    token: str

    @property
    def is_left(self) -> bool:
        """Whether its holder has ended, as far as this process can tell."""
        if not self.processes or self.processes != _processes():
            return False
        if self.process == os.getpid():
            return self.token not in _HELD
        return not Path(f"/proc/{self.process}").exists()


_HELD: set[str] = set()
"""Tokens of the locks that this process holds."""


def _lock(files: Files) -> _Lock | None:
    try:
        return msgspec.json.decode(files.read(LOCKED), type=_Lock)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def _taken_over(files: Files, own: bytes) -> bool:
    """Takes over the lock of a process on this machine that was killed or failed to release it."""
    held = _lock(files)
    if held is None or not held.is_left:
        return False
    with (local_folder(files.location) / "lock").open("w") as one_by_one:
        fcntl.flock(one_by_one, fcntl.LOCK_EX)
        if _lock(files) == held:
            files.delete([LOCKED])
        return files.create(LOCKED, own)


def _processes() -> str:
    """Identifier of boot and PID namespace; empty if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in containers
        return str(os.getuid())


def clean(files: Files, manifest: Manifest, age_s: float = AGE_S) -> None:
    """Finishes removals of killed processes and deletes their abandoned uploads.

    If the upload of a month was committed, the folders that it replaces are deleted instead.

    Args:
        age_s: younger uploads and locks are left alone: their writer may still be working.
    """
    for file in files.inside(STAGING).files:
        if file.name.endswith(INTENT):
            carry_out(files, file.name)
        elif file.name.endswith(UPLOAD) and time.time() - files.changed(file.name) > age_s:
            settle(files, manifest, file.name)
        elif file.name == LOCKED and time.time() - files.changed(file.name) > age_s:
            files.delete([file.name])
