"""Strict reading of settings and other TOML files; each mistake is reported with its place."""

from .discovery import exposure, ignored_files, read_settings
from .document import Document, Table
from .mistakes import Place
from .settings import FILE, Settings

__all__ = [
    "FILE",
    "Document",
    "Place",
    "Settings",
    "Table",
    "exposure",
    "ignored_files",
    "read_settings",
]
