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
        standard_input: what was read of it, if anything was.
        has_printed: something has gone to standard output.
    """

    readers: dict[Path, Store] = field(default_factory=dict)
    standard_input: str | None = None
    has_printed: bool = False

    def leave_out(self, error: Exception) -> list[str]:
        """Notes on dumps that turn out to lack files; readers do without them from now on.

        Args:
            error: what the command ended with. Files are looked for only if it may be about one.
        """
        from ..store.results.readable_part import readable_part
        from ..store.views.database import is_about_files

        if self.has_printed or not self.readers or not is_about_files(error):
            return []
        notes: list[str] = []
        for folder, store in self.readers.items():
            self.readers[folder], of_store = readable_part(store, thorough=True)
            notes += of_store
        return notes


def asked() -> Asked:
    """That of the command that runs."""
    return click.get_current_context().ensure_object(Asked)
