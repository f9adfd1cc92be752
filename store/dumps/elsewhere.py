"""A store in object storage: how a dump lands there, and what killed writers leave.

    staging/<token>.upload      where a dump, or a month, is being sent to, and since when
    records/system=VMSYS1/date=2001-12-18/dump=3f1c9a.../<token>/sytrsp.parquet ... dump.json
    manifest/system=VMSYS1/2001-12/3f1c9a....json       written last: then the dump has landed

Each writer sends to a folder of its own, so that two of the same dump do not mix. The file of the
manifest is put on the condition that there is none: of two writers one lands the dump. Which one,
the manifest says; what was sent is removed only once it names the folder of another.
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
"""Is there while a process works that must be alone."""


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
        StoreError: the network or the server refuses it. The dump may have landed all the same: who
            lands it again is told so.
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
    """One process at a time, of all machines.

    Raises:
        BusyError: another is at it.
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
    """What the lock says of its holder.

    Attributes:
        processes: which processes of a machine see each other: those of a container are apart.
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
        """Whether its holder has ended, as far as this process can know."""
        if not self.processes or self.processes != _processes():
            return False
        if self.process == os.getpid():
            return self.token not in _HELD
        return not Path(f"/proc/{self.process}").exists()


_HELD: set[str] = set()
"""Tokens of the locks that this process has."""


def _lock(files: Files) -> _Lock | None:
    try:
        return msgspec.json.decode(files.read(LOCKED), type=_Lock)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def _taken_over(files: Files, own: bytes) -> bool:
    """Take the lock of a process of this machine that could not remove it, or was killed."""
    held = _lock(files)
    if held is None or not held.is_left:
        return False
    with (local_folder(files.location) / "lock").open("w") as one_by_one:
        fcntl.flock(one_by_one, fcntl.LOCK_EX)
        if _lock(files) == held:
            files.delete([LOCKED])
        return files.create(LOCKED, own)


def _processes() -> str:
    """What the processes of this machine have in common that see each other; empty if not known."""
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
