"""Caches values that depend only on the files of this package, in the user's cache folder.

Layouts, reductions and versions of results take 0.25 s of processor time to compute for each
command that opens a store, and 0.03 s to read. A cached value has a digest of the files that it
depends on, code included, so that an edit invalidates it.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TypeVar

import msgspec

from .atomic import replacing

Value = TypeVar("Value")

FOLDERS = ("config", "core", "jobs", "reduce", "schemas", "store")
"""The parts of the package that cached values depend on."""
SUFFIXES = (".py", ".csv", ".sql", ".toml")


def cache_folder() -> Path | None:
    """The cache folder of this user, which may not exist yet; None for a user without a home."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not folder.is_absolute():
        try:
            folder = Path.home() / ".cache"
        except RuntimeError:
            return None
    return folder / "cpmon"


@functools.cache
def package_version() -> str:
    """A digest of all code and data in `FOLDERS`.

    Its paths are texts: for 500 files that takes half the time that `Path` does.
    """
    package = Path(__file__).parent.parent
    files = (
        f"{path}/{name}"
        for folder in FOLDERS
        for path, _, names in os.walk(package / folder)
        for name in names
        if name.endswith(SUFFIXES)
    )
    return files_version(sorted(files))


def files_version(files: Iterable[str | Path]) -> str:
    """A digest of the names and contents of files, in their order."""
    digest = hashlib.blake2b(digest_size=16)
    for file in map(str, files):
        with FileIO(file) as opened:
            content = opened.readall()
        name = "/".join(file.split("/")[-2:])
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def derived(name: str, kind: type[Value], make: Callable[[], Value], *depends_on: str) -> Value:
    """Return a cached value, or compute and cache it.

    Args:
        name: of the cache file, which has the last value only.
        kind: type of the value for msgspec.
        depends_on: dependencies other than the package.
    """
    if cache_folder() is None:
        return make()
    version = "\0".join([package_version(), *depends_on, ""]).encode()
    kept = _read(name)
    if kept.startswith(version):
        with suppress(msgspec.MsgspecError):
            return msgspec.msgpack.decode(memoryview(kept)[len(version) :], type=kind)
    value = make()
    _write(name, version + msgspec.msgpack.encode(value))
    return value


def _write(name: str, data: bytes) -> None:
    if (folder := cache_folder()) is not None:
        with suppress(OSError):  # without a writable disk the value is computed again
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(folder / f"{name}.msgpack", 0o600) as part:
                part.write_bytes(data)


def _read(name: str) -> bytes:
    """The content of a cache file; empty if it is missing, or if others can write to it."""
    if (folder := cache_folder()) is None:
        return b""
    try:
        with (folder / f"{name}.msgpack").open("rb") as opened:
            about = os.fstat(opened.fileno())
            return b"" if about.st_uid != os.geteuid() or about.st_mode & 0o022 else opened.read()
    except OSError:
        return b""
