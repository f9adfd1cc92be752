"""Settings of the site as commands see them: read once, when a command first asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .asked import asked

if TYPE_CHECKING:
    from ..config import Settings
    from ..store import Store
    from ..store.catalogue.connection import Connection
    from ..store.sandbox.sandbox import Limits

CONFIG = "cpmon.config"
READ = "cpmon.settings"
FLAGS = "cpmon.flags"
EXPOSED = "cpmon.exposed"
STORES = "cpmon.stores"
HELD = "cpmon.held"


def settings(store: Path | None = None) -> Settings:
    """The settings for the store of this command: flags over the environment over the file.

    Raises:
        CpmonError: they cannot be read, or something in them is wrong.
    """
    from ..config import read_settings
    from ..config.definitions import use
    from ..core.text import printable

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
            note = f"warning: reports and queries of the site are left out: {site.left_out}"
            click.echo(printable(note), err=True)
    return cache[store]


def store_at(folder: Path) -> Store:
    """The store in a folder, one a command: of 10,000 dumps to read the manifest takes 90 ms.

    Raises:
        CpmonError: there is no store.
    """
    from ..store import Store

    stores: dict[Path, Store] = click.get_current_context().meta.setdefault(STORES, {})
    if folder not in stores:
        stores[folder] = Store(folder)
    return stores[folder]


def reader_at(folder: Path) -> Store:
    """The store in a folder for a question: without dumps that lack files, each with a note.

    Raises:
        CpmonError: there is no store.
    """
    from ..store.results.readable_part import readable_part

    if folder not in asked().readers:
        part, notes = readable_part(store_at(folder))
        asked().read(folder, part)
        _print_notes(notes)
    return asked().readers[folder]


def say_what_is_missing(store: Store) -> None:
    """Print a note for each dump that lacks files: something could not be read."""
    from ..store.results.readable_part import readable_part

    _print_notes(readable_part(store, thorough=True)[1])


def _print_notes(notes: Sequence[str]) -> None:
    from ..core.text import printable

    for note in notes:
        click.echo(printable(note), err=True)


def opened(store: Path) -> Connection:
    """A connection to a store with all reductions, that uses no more than the settings allow.

    Raises:
        CpmonError: there is no store, or the settings are wrong.
    """
    from ..reduce.reductions.reductions import reductions
    from ..store import connect

    warn_of_exposure(store)
    return _held(connect(reader_at(store), reductions(), limits(store)))


def _held(connection: Connection) -> Connection:
    """A connection whose limits hold for all memory of the process, until the command ends."""
    from ..core.memory import hold_memory

    context = click.get_current_context().find_root()
    if not context.meta.get(HELD):
        context.meta[HELD] = True
        context.call_on_close(hold_memory(connection))
    return connection


def warn_of_exposure(store: Path) -> str:
    """Report once a command that others can write to a store; returns why, or nothing."""
    from ..config import exposure
    from ..core.text import printable

    context = click.get_current_context()
    reason = exposure(store, store / "cpmon.toml")
    if reason and store not in context.meta.setdefault(EXPOSED, set()):
        context.meta[EXPOSED].add(store)
        warning = f"warning: {reason}: its contents may not be what was landed"
        click.echo(printable(warning), err=True)
    return reason


def limits(store: Path) -> Limits:
    """What queries of this command may use.

    Raises:
        CpmonError: the settings are wrong.
    """
    from ..store.sandbox.sandbox import Limits

    site = settings(store)
    return Limits(site.memory_limit, site.threads)
