"""What a command line has asked and printed so far, so that it can be asked again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..store import Store


@dataclass
class Asked:
    """A command line that is run, maybe a second time.

    Attributes:
        readers: folder -> the store, without dumps that lack files.
        states: folder -> the version of its manifest when it was opened.
        standard_input: what was read of it, if anything was.
        has_printed: something has gone to standard output.
    """

    readers: dict[Path, Store] = field(default_factory=dict)
    states: dict[Path, str] = field(default_factory=dict)
    standard_input: str | None = None
    has_printed: bool = False

    def read(self, folder: Path, store: Store) -> None:
        """Remember what a store is read as."""
        self.readers[folder], self.states[folder] = store, store.manifest.version

    def may_succeed(self, error: Exception) -> tuple[bool, list[str]]:
        """Whether the command may have an answer if it runs again, and notes on it.

        It may where a store has changed since, as by a merge of months which removed the files that
        were about to be read; and where dumps lack files: readers do without them from now on.

        Args:
            error: what the command ended with. Files are looked for only if it may be about one.
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
    """That of the command that runs."""
    return click.get_current_context().ensure_object(Asked)
