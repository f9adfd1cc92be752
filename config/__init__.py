"""Settings and other TOML files of a site: read strictly, every mistake named with its place."""

from .discovery import find_file, ignored_files, read_settings
from .document import Document, Table
from .mistakes import Place
from .settings import FILE, VARIABLE, Settings
from .trust import exposure

__all__ = [
    "FILE",
    "VARIABLE",
    "Document",
    "Place",
    "Settings",
    "Table",
    "exposure",
    "find_file",
    "ignored_files",
    "read_settings",
]
