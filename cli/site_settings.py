"""Settings of the site and opened stores of the running command, each read once on first use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..api.site_store import SiteStore
    from ..config import Settings
    from ..store import Store
    from ..store.connection import Connection


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


def site_store(folder: Path, *, create: bool = False) -> SiteStore:
    """The store in a folder as this command uses it, with its settings; opened on first use.

    Args:
        create: make it if there is none.

    Raises:
        CpmonError: the settings are invalid.
    """
    from ..api.site_store import SiteStore

    stores: dict[Path, SiteStore] = click.get_current_context().meta.setdefault(STORES, {})
    if folder not in stores:
        stores[folder] = SiteStore(folder, settings(folder))
    stores[folder].create |= create
    return stores[folder]


def store_at(folder: Path, *, create: bool = False) -> Store:
    """The store in a folder; see `site_store`.

    Raises:
        CpmonError: there is no store.
    """
    return site_store(folder, create=create).store


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

    warn_of_exposure(store)
    connection = site_store(store).connect()
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
