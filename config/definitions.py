"""Definitions of a site: reports, metrics, reductions and queries, in files of one folder.

The folder is `reports` beside the settings, or in a store whose settings are trusted. Its files are
read once, and their texts are passed to worker processes.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..core.errors import CpmonError

FOLDER = "reports"
SUFFIXES = (".sql", ".toml")

Value = TypeVar("Value")
_VIEW = re.compile(r"^CREATE\s+(OR\s+REPLACE\s+)?VIEW\b", re.IGNORECASE | re.MULTILINE)
_caches: list[Callable[[], None]] = []


@dataclass(frozen=True, slots=True)
class Definitions:
    """The definition files of a site.

    Attributes:
        folder: its path, for messages. texts: name and content of each file, by name.
    """

    folder: str = ""
    texts: tuple[tuple[str, str], ...] = ()

    @property
    def version(self) -> str:
        """Changes with any of the files; empty without files."""
        text = "\0".join(part for file in self.texts for part in file)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest() if self.texts else ""

    @property
    def tables(self) -> list[tuple[str, str]]:
        """Path and content of each file of reports and metrics."""
        return self._files(".toml")

    @property
    def views(self) -> list[tuple[str, str]]:
        """Path and content of each file that creates a view: a reduction."""
        return [(name, sql) for name, sql in self._files(".sql") if _VIEW.search(sql)]

    def has_view(self, name: str) -> bool:
        """Whether a reduction of that name is one of the site."""
        return any(Path(path).stem == name for path, _ in self.views)

    @property
    def questions(self) -> list[tuple[str, str]]:
        """Path and content of each other file of SQL."""
        return [(name, sql) for name, sql in self._files(".sql") if not _VIEW.search(sql)]

    def _files(self, suffix: str) -> list[tuple[str, str]]:
        return [(f"{self.folder}/{n}", text) for n, text in self.texts if n.endswith(suffix)]


_used = Definitions()


def definitions() -> Definitions:
    """The active definitions of this process."""
    return _used


def use(chosen: Definitions) -> None:
    """Activate definitions, which take precedence over the shipped ones; clears the caches."""
    global _used  # noqa: PLW0603 - one process has one set of definitions
    if chosen != _used:
        _used = chosen
        for clear in _caches:
            clear()


def of_definitions(function: Callable[..., Value]) -> Callable[..., Value]:
    """Decorator: caches a function until other definitions are activated."""
    cached = functools.cache(function)
    _caches.append(cached.cache_clear)
    return cached


def read_definitions(folder: Path) -> Definitions:
    """The definitions in a folder; none where there is no such folder."""
    if not folder.is_dir():
        return Definitions()
    texts = []
    for file in sorted(folder.iterdir()):
        if file.suffix in SUFFIXES and not file.name.startswith("."):
            try:
                texts.append((file.name, file.read_text(encoding="utf-8")))
            except (OSError, UnicodeDecodeError) as error:
                raise CpmonError(
                    "a definition of the site cannot be read",
                    code="definition-unreadable",
                    place=str(file),
                    found=str(error),
                    remedy="correct it, or move it out of the folder",
                ) from None
    return Definitions(str(folder), tuple(texts))
