"""State of the running command line, needed to run it a second time."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..store import Store


@dataclass
class Asked:
    """A command line that is run, possibly twice.

    Attributes:
        readers: folder -> the opened store, without dumps that lack files.
        states: folder -> version of its manifest when it was opened.
        standard_input: the text read from it, if any.
        has_printed: something was written to standard output.
    """

    readers: dict[Path, Store] = field(default_factory=dict)
    states: dict[Path, str] = field(default_factory=dict)
    standard_input: str | None = None
    has_printed: bool = False

    def read(self, folder: Path, store: Store) -> None:
        """Remember an opened store."""
        self.readers[folder], self.states[folder] = store, store.manifest.version

    def may_succeed(self, error: Exception) -> tuple[bool, list[str]]:
        """Whether the command may succeed if it runs again, with notes.

        It may if a store has changed since, for instance because a merge of months removed files
        before they were read; and if dumps lack files, because readers then skip those dumps.

        Args:
            error: the error of the command. Files are only checked if it may be about one.
        """
        from ..store.results.readable_part import readable_part
        from ..store.views.database import is_about_files

        if self.has_printed or not self.readers or not is_about_files(error):
            return False, []
        notes, has_changed = list[str](), False
        for folder, store in [*self.readers.items()]:
            has_changed |= self.states[folder] != store.manifest.version
            part, of_store = readable_part(store, thorough=True)
            self.read(folder, part)
            notes += of_store
        return has_changed or bool(notes), notes


def asked() -> Asked:
    """The state of the running command."""
    return click.get_current_context().ensure_object(Asked)
