"""Settings of the site and opened stores of the running command, each read once on first use."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..config import Settings
    from ..store import Store
    from ..store.catalogue.connection import Connection
    from ..store.sandbox.sandbox import Limits


@dataclass
class Invocation:
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


def invocation() -> Invocation:
    """The state of the running command."""
    return click.get_current_context().ensure_object(Invocation)


CONFIG = "cpmon.config"
READ = "cpmon.settings"
FLAGS = "cpmon.flags"
EXPOSED = "cpmon.exposed"
STORES = "cpmon.stores"
HELD = "cpmon.held"


def settings(store: Path | None = None) -> Settings:
    """The settings for the store of this command; flags override environment variables and files.

    Raises:
        CpmonError: the settings cannot be read or are invalid.
    """
    from ..config import read_settings
    from ..config.definitions import use

    context = click.get_current_context()
    if store is None:
        store = context.params.get("store")
    cache: dict[Path | None, Settings] = context.meta.setdefault(READ, {})
    if store not in cache:
        site = read_settings(store, context.meta.get(CONFIG))
        flags: dict[str, Any] = context.meta.get(FLAGS, {})
        options = {key: f"--{key.replace('_', '-')}" for key in flags}
        cache[store] = replace(site, **flags, origins={**site.origins, **options})
        use(site.definitions)
        if site.left_out:
            print_notes(f"warning: reports and queries of the site are left out: {site.left_out}")
    return cache[store]


def store_at(folder: Path) -> Store:
    """The store in a folder, opened once: the manifest of 10,000 dumps takes 90 ms to read.

    Raises:
        CpmonError: there is no store.
    """
    from ..store import Store

    stores: dict[Path, Store] = click.get_current_context().meta.setdefault(STORES, {})
    if folder not in stores:
        stores[folder] = Store(folder)
    return stores[folder]


def reader_at(folder: Path) -> Store:
    """The store in a folder for reading: dumps that lack files are left out, with a note.

    Raises:
        CpmonError: there is no store.
    """
    from ..store.results.readable_part import lazily_readable_part

    if folder not in invocation().readers:
        store = lazily_readable_part(store_at(folder), lambda notes: print_notes(*notes))
        invocation().read(folder, store)
    return invocation().readers[folder]


def say_what_is_missing(store: Store) -> None:
    """Print a note for each dump that lacks files, after a read error."""
    from ..store.results.readable_part import readable_part

    print_notes(*readable_part(store, thorough=True)[1])


def print_notes(*notes: str) -> None:
    """Print notes and warnings to standard error."""
    from ..core.text import printable

    for note in notes:
        click.echo(printable(note), err=True)


def opened(store: Path) -> Connection:
    """Open a connection with all reductions, within the limits of the settings.

    The memory limit is that of the whole process until the command ends.

    Raises:
        CpmonError: there is no store, or the settings are invalid.
    """
    from ..core.memory import hold_memory
    from ..reduce.reductions.reductions import reductions
    from ..store import connect

    warn_of_exposure(store)
    connection = connect(reader_at(store), reductions(), limits(store))
    context = click.get_current_context().find_root()
    if not context.meta.get(HELD):
        context.meta[HELD] = True
        context.call_on_close(hold_memory(connection))
    return connection


def warn_of_exposure(store: Path) -> str:
    """Warn, once in a command, if others can write to a store; returns why, or nothing."""
    from ..config import exposure

    context = click.get_current_context()
    reason = exposure(store, store / "cpmon.toml")
    if reason and store not in context.meta.setdefault(EXPOSED, set()):
        context.meta[EXPOSED].add(store)
        print_notes(f"warning: {reason}: its contents may not be what was landed")
    return reason


def limits(store: Path) -> Limits:
    """Limits of queries in this command.

    Raises:
        CpmonError: the settings are invalid.
    """
    from ..store.sandbox.sandbox import Limits

    site = settings(store)
    return Limits(site.memory_limit, site.threads)
