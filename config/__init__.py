"""Strict reading of settings and other TOML files; each mistake is reported with its place."""

from .document import Document, Place, Table
from .settings import FILE, Settings, exposure, ignored_files, read_settings

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
