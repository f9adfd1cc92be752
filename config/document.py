"""TOML documents, converted to typed tables: one reader for every file that a site writes.

msgspec converts and checks; it was chosen for its start-up time (20 ms; pydantic takes ten times
as long). Its messages name no line, and no key of a table with free names: `mistakes` adds both.
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
    """Values of TOML as a table of that kind.

    Args:
        place: where a key of the values stands.
        folder: where relative paths in them begin.
        strict: a text is no number.

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
        values: the content as TOML has it.
        what: what it holds, for messages: "the settings".
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
        """Where a dotted key stands: file, key, and the line of it or of the table around it."""
        if not key:
            return self.file
        line = find_line(self._lines, key)
        return f"{self.file}: {key}" + (f", line {line}" if line else "")

    def read(self, kind: type[T], folder: Path = Path()) -> T:
        """The whole document as a table of that kind; Args, Raises: as of `read_values`."""
        return read_values(kind, self.values, self.place, folder)

    def read_part(self, values: Any, key: str, kind: type[T]) -> T:
        """A part of the document, which stands at a key; Raises: as `read_values`."""
        return read_values(kind, values, lambda k: self.place(_below(key, k)))

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        return key_lines(self._text)


def _below(above: str, key: str) -> str:
    if not above or not key:
        return above or key
    return above + key if key.startswith("[") else f"{above}.{key}"
