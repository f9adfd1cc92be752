"""Converts TOML documents to typed tables: one reader for all files that a site writes.

msgspec converts and checks; it was chosen for its start-up time (20 ms; pydantic takes ten times
as long). Its messages lack lines, and keys of tables with free names; `mistakes` adds both.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..core.errors import CpmonError
from .mistakes import Place, find_line, key_lines, mistake
from .values import converter

T = TypeVar("T")


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a TOML file: its fields are its keys, and no other key is allowed."""


def read_values(
    kind: type[T], values: Any, place: Place, folder: Path = Path(), *, strict: bool = True
) -> T:
    """Convert values of TOML to a table of a kind.

    Args:
        place: maps a key of the values to its place.
        folder: base of relative paths.
        strict: do not convert text to numbers.

    Raises:
        CpmonError: a key is unknown or missing, or has a wrong value.
    """
    convert = converter(folder)
    try:
        return msgspec.convert(values, kind, strict=strict, dec_hook=convert)
    except msgspec.ValidationError as error:
        raise mistake(error, values, kind, convert, place) from None


class Document:
    """A TOML document.

    Attributes:
        file: its name in messages.
        values: the parsed content.
        what: description of the content for messages: "the settings".
    """

    def __init__(self, text: str, file: str, what: str) -> None:
        """Parse a document.

        Raises:
            CpmonError: the text is no TOML.
        """
        self.file, self.what, self._text = file, what, text
        try:
            self.values: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise CpmonError(f"{what} cannot be read", place=file, found=str(error)) from None

    @classmethod
    def load(cls, path: Path, what: str) -> Document:
        """The document in a file.

        Raises:
            CpmonError: the file cannot be read, or is no TOML.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problem = f"{what} cannot be read"
            raise CpmonError(problem, place=str(path), found=str(error)) from None
        return cls(text, str(path), what)

    def place(self, key: str) -> str:
        """Place of a dotted key: file, key, and line of the key or of its table."""
        if not key:
            return self.file
        line = find_line(self._lines, key)
        return f"{self.file}: {key}" + (f", line {line}" if line else "")

    def read(self, kind: type[T], folder: Path = Path()) -> T:
        """Convert the whole document; see `read_values`."""
        return read_values(kind, self.values, self.place, folder)

    def read_part(self, values: Any, key: str, kind: type[T]) -> T:
        """Convert the part of the document at a key; see `read_values`."""
        return read_values(kind, values, lambda k: self.place(_below(key, k)))

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        return key_lines(self._text)


def _below(above: str, key: str) -> str:
    if not above or not key:
        return above or key
    return above + key if key.startswith("[") else f"{above}.{key}"
