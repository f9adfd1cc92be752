"""Output formats: the values of `--format` and of `[formats]`."""

from __future__ import annotations

import mimetypes
from collections.abc import Collection
from pathlib import Path

FORMATS = ("table", "text", "csv", "json", "jsonl", "markdown", "parquet", "xlsx")
"""`text` is the preferred form of a command; by default a table."""

BINARY = {"parquet": "Parquet", "xlsx": "XLSX"}
"""Binary formats and their names."""

SUFFIXES = {f".{name}": name for name in ("csv", "json", "jsonl", "parquet", "xlsx", "html")}
SUFFIXES |= {".ndjson": "jsonl", ".md": "markdown"}
"""Suffix of a file -> format."""


def format_of_file(path: Path | None, formats: Collection[str]) -> str | None:
    """The format for a file's suffix; None if it is none of these."""
    form = SUFFIXES.get(path.suffix.lower()) if path else None
    return form if form in formats else None


DUMP = "dump"
"""Name of the format of monitor dumps."""
_DUMPS = (".mon", ".gz", ".zst")


def name_contradicts(path: Path, form: str) -> str:
    """The format or MIME type of a file's suffix if it is not `form`; else empty.

    Args:
        form: a format, `DUMP`, or a MIME type.
    """
    suffix = path.suffix.lower()
    named = SUFFIXES.get(suffix) or (DUMP if suffix in _DUMPS else "")
    if not named:
        # Without the system's files of MIME types, so that a name has the same meaning everywhere.
        kind, packed = mimetypes.MimeTypes(filenames=()).guess_type(path.name)
        named = packed or kind or ""
    is_bytes = form == DUMP or form in BINARY
    fits = ("", form, "application/octet-stream" if is_bytes else "text/plain")
    return "" if named in fits else named


def suffix_of(form: str) -> str:
    """The suffix for a format."""
    if form == DUMP:
        return _DUMPS[0]
    suffixes = (suffix for suffix, name in SUFFIXES.items() if name == form)
    return next(suffixes, mimetypes.guess_extension(form) or ".txt")
