"""How rows can be printed or written: the values of `--format` and of `[formats]`."""

from __future__ import annotations

import mimetypes
from collections.abc import Collection
from pathlib import Path

FORMATS = ("table", "text", "csv", "json", "jsonl", "markdown", "parquet", "xlsx")
"""`text` is what a command prints best as: a table, where it has nothing better."""

BINARY = {"parquet": "Parquet", "xlsx": "XLSX"}
"""Formats that are no text, and their names."""

SUFFIXES = {f".{name}": name for name in ("csv", "json", "jsonl", "parquet", "xlsx", "html")}
SUFFIXES |= {".ndjson": "jsonl", ".md": "markdown"}
"""Formats by the end of a file's name; other names say nothing."""


def format_of_file(path: Path | None, formats: Collection[str]) -> str | None:
    """The format that a file's name asks for; None if it asks for none of these."""
    form = SUFFIXES.get(path.suffix.lower()) if path else None
    return form if form in formats else None


DUMP = "dump"
"""Stands for the format of a monitor dump."""
_DUMPS = (".mon", ".gz", ".zst")
_PLAIN, _BYTES = "text/plain", "application/octet-stream"


def name_contradicts(path: Path, form: str) -> str:
    """The format or MIME type that a file's name says, if it is not `form`; else empty.

    Args:
        form: a format, `DUMP`, or a MIME type.
    """
    suffix = path.suffix.lower()
    named = SUFFIXES.get(suffix) or (DUMP if suffix in _DUMPS else _mime_type(path))
    is_bytes = form == DUMP or form in BINARY
    if named in ("", form) or (named == _BYTES if is_bytes else named == _PLAIN):
        return ""
    return named


def _mime_type(path: Path) -> str:
    # Without the files of the system: the same name means the same everywhere.
    kind, packed = mimetypes.MimeTypes(filenames=()).guess_type(path.name)
    return packed or kind or ""


def suffix_of(form: str) -> str:
    """The end of a name that says a format, or contradicts none."""
    if form == DUMP:
        return _DUMPS[0]
    suffixes = (suffix for suffix, name in SUFFIXES.items() if name == form)
    return next(suffixes, mimetypes.guess_extension(form) or ".txt")
