"""How rows can be printed or written: the values of `--format` and of `[formats]`."""

from __future__ import annotations

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
