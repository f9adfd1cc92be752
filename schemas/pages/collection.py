"""Collects the pages of a release from files, folders or a zip archive."""

from __future__ import annotations

import lzma
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import LayoutError
from .text import LONGEST

SUFFIXES = (".html", ".htm", ".xhtml", ".mhtml", ".mht", ".txt")
"""Suffixes of pages in folders and archives; a file named by the user can have any suffix."""

UNREADABLE = (
    *(OSError, EOFError, ValueError, NotImplementedError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""Errors of an archive that is damaged or encrypted, or has an undecodable name."""


@dataclass(frozen=True)
class PageFile:
    """The bytes of a file, or the error of its read.

    None for a file of a folder or an archive whose suffix is not that of a page.
    """

    name: str
    data: bytes | LayoutError | None


def collect_pages(paths: Iterable[Path]) -> Iterator[PageFile]:
    """Files by path, below folders, and in zip archives; `-` is standard input.

    Raises:
        LayoutError: an archive is damaged.
    """
    for path in paths:
        if str(path) == "-":
            yield PageFile("standard input", sys.stdin.buffer.read(LONGEST + 1))
        elif path.is_dir():
            below = sorted(p for p in path.rglob("*") if p.is_file())
            yield from (_found(p, str(p.relative_to(path))) for p in below)
        elif path.suffix.lower() == ".zip":
            yield from _members(path)
        else:
            yield _read(path, path.name)


def _found(path: Path, name: str) -> PageFile:
    return _read(path, name) if name.lower().endswith(SUFFIXES) else PageFile(name, None)


def _read(path: Path, name: str) -> PageFile:
    try:
        with path.open("rb") as file:
            return PageFile(name, file.read(LONGEST + 1))
    except OSError as error:
        return PageFile(name, LayoutError(f"{path} cannot be read: {error.strerror}"))


def _members(path: Path) -> Iterator[PageFile]:
    """The files of an archive, each read up to the greatest length of a page."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in sorted(archive.namelist()):
                if member.lower().endswith(SUFFIXES):
                    with archive.open(member) as file:
                        yield PageFile(member, file.read(LONGEST + 1))
                elif not member.endswith("/"):
                    yield PageFile(member, None)
    except UNREADABLE as error:
        raise LayoutError(
            f"{path} cannot be read as a zip archive",
            code="record-page-archive-unreadable",
            place=str(path),
            found=str(error),
            remedy="unpack it, and give the folder",
        ) from None
