"""Files of record pages: collected from folders and archives, read as text with line numbers."""

from __future__ import annotations

import codecs
import email
import lzma
import re
import sys
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path

from ...core.errors import LayoutError

_BREAKS = frozenset({"br", "p", "div", "tr", "li", "ul", "h1", "h2", "h3", "h4", "pre", "hr"})
"""Elements that begin a new line in a browser."""

HIDDEN = frozenset({"script", "style", "title"})
"""Elements whose text a browser does not show; <head> can lack its end tag."""
BAR = re.compile(r"^\s*[|¦│]|[|¦│]\s*$|(?<!\S)[|¦│](?!\S)")
"""A change bar: at a margin, or between blanks where a margin was."""


_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
"""Soft hyphens and characters without a width."""


@dataclass(frozen=True)
class PageLine:
    """A line of the page `place`: its number in the file, from 1, and its text."""

    place: str
    number: int
    text: str

    def error(self, problem: str, **parts: str) -> LayoutError:
        """The error that names this line and shows its text."""
        found = " ".join(self.text.split())
        return LayoutError(problem, place=f"{self.place}, line {self.number}", found=found, **parts)


@dataclass(frozen=True)
class PageText:
    """A text, and for each of its lines the number of the line in the file `place`, from 1."""

    place: str
    text: str
    numbers: tuple[int, ...]

    def line_at(self, position: int) -> PageLine:
        """The line at a position of `text`; of a table on one line, its part from there."""
        row = bisect_right(self._starts, position) - 1
        start, end = self._starts[row], self.text.find("\n", position)
        line = self.text[start : end if end >= 0 else None]
        behind = line[position - start :]
        return PageLine(self.place, self.numbers[row], line if len(line) < 120 else behind[:60])

    def part(self, start: int, end: int) -> PageText:
        """The text from `start` up to `end`, with the same line numbers."""
        row = bisect_right(self._starts, start) - 1
        rows = self.text.count("\n", start, end) + 1
        return PageText(self.place, self.text[start:end], self.numbers[row : row + rows])

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]


LONGEST = 8_000_000
"""Bytes of a file; IBM's longest page has a twentieth of them."""

_MARKUP = re.compile(
    r"<(?:html|pre|body|head|!doctype)\b|</(?:a|b|div|p|span|table|tr|td)>", re.IGNORECASE
)
"""Pattern of HTML or a part of it."""

_BOMS = (
    *((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32")),
    *((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
"""First bytes of a file -> its encoding."""


def read_page(data: bytes, place: str) -> PageText:
    """The text of a file: HTML or an archive as a browser saves it, or text copied out of one.

    Change bars and invisible characters are removed; no-break spaces become spaces. Line numbers of
    an archive (MHTML) are those of its content.

    Raises:
        LayoutError: it is too long to be a page.
    """
    if len(data) > LONGEST:
        raise LayoutError(
            f"{place} is too long for a record page",
            code="record-page-too-long",
            place=place,
            expected=f"at most {LONGEST:,} bytes",
            found=f"{len(data):,} bytes",
            effect="nothing was read of it",
            remedy="save the page of one record",
        )
    text = (_archived(data) or _decode(data)).replace("\r\n", "\n").replace("\r", "\n")
    if _MARKUP.search(text):
        reader = _HtmlText()
        reader.feed(text)
        reader.close()
        lines, numbers = reader.lines, reader.numbers
    else:
        lines = text.split("\n")
        numbers = list(range(1, len(lines) + 1))
    visible = (_INVISIBLE.sub("", line.expandtabs().replace("\u00a0", " ")) for line in lines)
    return PageText(place, "\n".join(BAR.sub(" ", line) for line in visible), tuple(numbers))


def _archived(data: bytes) -> str:
    """The decoded pages of an MHTML archive; empty if the bytes are none."""
    head = data[:4096].lower()  # an archive has its header there
    if b"mime-version:" not in head or b"content-type:" not in head:
        return ""
    types = ("text/html", "text/plain", "application/xhtml+xml")
    parts = email.message_from_bytes(data).walk()
    pages = (p.get_payload(decode=True) for p in parts if p.get_content_type() in types)
    return "\n".join(_decode(page) for page in pages if isinstance(page, bytes))


def _decode(data: bytes) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if (zero := data[:100].find(0)) >= 0:  # UTF-16 without a byte order mark
        return data.decode("utf-16-le" if zero % 2 else "utf-16-be", "replace")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


class _HtmlText(HTMLParser):
    """Collects the text of HTML line by line, with the line of the file where each begins."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines = [""]
        self.numbers = [1]
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Breaks begin a line, cells are set apart."""
        del attrs
        self._hidden += tag in HIDDEN
        if tag in _BREAKS:
            self._break(self.getpos()[0])
        elif tag in ("td", "th"):
            self._add(" ", self.getpos()[0])

    def handle_endtag(self, tag: str) -> None:
        """What follows a block begins a line."""
        self._hidden = max(0, self._hidden - (tag in HIDDEN))
        if tag in _BREAKS:
            self._break(self.getpos()[0])

    def handle_data(self, data: str) -> None:
        """Text; its line feeds are those of the file."""
        if self._hidden:
            return
        first = self.getpos()[0]
        for number, piece in enumerate(data.split("\n")):
            if number:
                self._break(first + number)
            self._add(piece, first + number)

    def _break(self, number: int) -> None:
        if self.lines[-1].strip():
            self.lines.append("")
            self.numbers.append(number)
        else:
            self.lines[-1], self.numbers[-1] = "", number

    def _add(self, piece: str, number: int) -> None:
        if not self.lines[-1]:
            self.numbers[-1] = number
        self.lines[-1] += piece


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
            for file in sorted(p for p in path.rglob("*") if p.is_file()):
                name = str(file.relative_to(path))
                is_page = name.lower().endswith(SUFFIXES)
                yield _read(file, name) if is_page else PageFile(name, None)
        elif path.suffix.lower() == ".zip":
            yield from _members(path)
        else:
            yield _read(path, path.name)


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
