"""Site layouts that dumps landed with, saved in the store for its readers.

`layouts/<digest>.zip` is an archive of a layout folder; `layouts/current` names the one of the last
dump that landed with site layouts. CPMON_SCHEMAS, or `schemas` in the store, takes precedence.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tempfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

from ...config.values import scheme_of
from ...core.atomic import scratch_folder
from ...core.derived import cache_folder
from ...core.errors import StoreError
from ...schemas.registry import VARIABLE, site_archive, site_files, site_folder
from ..files.files import Files
from ..files.location import open_files

FOLDER = "layouts"
CURRENT = f"{FOLDER}/current"
LONGEST = 16_000_000
"""Maximum unpacked size of an archive in bytes: the store may come from elsewhere."""
_MEMBER = re.compile(r"(?:records|lengths)\.csv|d[0-9]{2}\w*/\w+\.csv")
_NO_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)
"""Exceptions that damaged archives raise."""
_DIGEST = re.compile(rb"[0-9a-f]{32}")
_TEMPORARY: list[tempfile.TemporaryDirectory[str]] = []
"""Temporary folders of this process, used if the user has no writable cache."""


def save_layouts(files: Files) -> None:
    """Saves the site layouts in use to a store, if there are any."""
    folder = site_folder()
    if folder is None or not folder.is_dir() or not site_files(folder):
        return
    if files.is_local and folder.resolve() == Path(files.location, "schemas").resolve():
        return
    archive, _ = site_archive(folder)
    digest = hashlib.blake2b(archive, digest_size=16).hexdigest()
    _put(files, f"{FOLDER}/{digest}.zip", archive)
    _put(files, CURRENT, digest.encode())


def layouts_of(store: Path) -> Path | None:
    """The layouts in the folder `schemas` of a store, or those that its dumps landed with."""
    beside = store / "schemas"
    if beside.is_dir() or os.environ.get(VARIABLE):
        return beside if beside.is_dir() else None
    if not scheme_of(str(store)) and not (store / FOLDER).is_dir():
        return None
    return landed_layouts(str(store))


def landed_layouts(location: str) -> Path | None:
    """Local folder with the layouts saved in a store; None if there are none.

    Raises:
        StoreError: the archive is damaged, or the storage refuses access.
    """
    files = open_files(location)
    digest = _current(files)
    if digest is None:
        return None
    name = f"{FOLDER}/{digest}.zip"
    with suppress(OSError):
        if cache := cache_folder():
            return _unpacked(files, name, cache / FOLDER / digest)
    _TEMPORARY.append(tempfile.TemporaryDirectory())
    return _unpacked(files, name, Path(_TEMPORARY[-1].name, digest))


def _put(files: Files, name: str, data: bytes) -> None:
    """Writes a file unless it already has this content."""
    with suppress(FileNotFoundError):
        if files.read(name) == data:
            return
    files.replace(name, data)


def _current(files: Files) -> str | None:
    with suppress(FileNotFoundError):
        digest = files.read(CURRENT)
        if not _DIGEST.fullmatch(digest):
            raise _damaged(files, CURRENT, "no name of an archive")
        return digest.decode()
    return None


def _unpacked(files: Files, name: str, folder: Path) -> Path:
    """Folder with the unpacked archive; created by one rename once it is complete."""
    if folder.is_dir():
        return folder
    members = _members(files, name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder.parent) as scratch:
        for member, data in members.items():
            (scratch / member).parent.mkdir(exist_ok=True)
            (scratch / member).write_bytes(data)
        if not folder.is_dir():  # another process may have been first
            scratch.rename(folder)
    return folder


def _members(files: Files, name: str) -> dict[str, bytes]:
    """Files of a layout archive, by name."""
    try:
        with zipfile.ZipFile(io.BytesIO(files.read(name))) as archive:
            members = archive.infolist()
            strays = [m.filename for m in members if not _MEMBER.fullmatch(m.filename)]
            if strays or sum(m.file_size for m in members) > LONGEST:
                raise _damaged(files, name, strays[0] if strays else "too many bytes")
            return {member.filename: archive.read(member) for member in members}
    except (FileNotFoundError, *_NO_ARCHIVE) as error:
        raise _damaged(files, name, str(error)) from None


def _damaged(files: Files, name: str, found: str) -> StoreError:
    return StoreError(
        "the layouts that dumps landed with cannot be read",
        code="kept-layouts-damaged",
        place=files.uri(name),
        found=found,
        effect="nothing was read of the store",
        remedy="set CPMON_SCHEMAS to your folder of layouts, and ingest a dump with it",
    )
