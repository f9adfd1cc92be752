"""The layouts of a site that dumps landed with, kept in their store for whoever reads it.

`layouts/<digest>.zip` is a folder of layouts, `layouts/current` names that of the last dump that
landed with any. A folder that CPMON_SCHEMAS names, or `schemas` in the store, wins over it.
"""

from __future__ import annotations

import hashlib
import io
import re
import tempfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

from ...core.atomic import scratch_folder
from ...core.derived import cache_folder
from ...core.errors import StoreError
from ...schemas.registry import site_folder
from ...schemas.site import site_archive, site_files
from ..files.files import Files
from ..files.location import open_files

FOLDER = "layouts"
CURRENT = f"{FOLDER}/current"
LONGEST = 16_000_000
"""Bytes of all files of an archive: a store may be from elsewhere."""
_MEMBER = re.compile(r"(?:records|lengths)\.csv|d[0-9]{2}\w*/\w+\.csv")
_NO_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)
"""What reading raises of damaged bytes."""
_DIGEST = re.compile(rb"[0-9a-f]{32}")
_TEMPORARY: list[tempfile.TemporaryDirectory[str]] = []
"""Folders of this process, where the user has no cache that can be written."""


def keep_layouts(files: Files) -> None:
    """Keep the layouts of the site that are in use in a store, if there are any."""
    folder = site_folder()
    if folder is None or not folder.is_dir() or not site_files(folder):
        return
    if files.is_local and folder.resolve() == Path(files.location, "schemas").resolve():
        return
    archive, _ = site_archive(folder)
    digest = hashlib.blake2b(archive, digest_size=16).hexdigest()
    _put(files, f"{FOLDER}/{digest}.zip", archive)
    _put(files, CURRENT, digest.encode())


def kept_layouts(location: str) -> Path | None:
    """A folder of this machine with the layouts that a store keeps; None if it keeps none.

    Raises:
        StoreError: the archive is damaged, or the place refuses it.
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
    """Write a file unless it has these bytes."""
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
    """The folder that an archive is unpacked to; it appears when it is complete."""
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
    """The files of an archive of layouts."""
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
