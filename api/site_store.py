"""A store with what belongs to it: the one way in which programs and commands open one."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..config.definitions import use
from ..schemas.registry import use as use_layouts
from ..store import Store
from ..store.format.landed_layouts import layouts_of

if TYPE_CHECKING:
    from ..config import Settings
    from ..store.connection import Connection
    from ..store.sandbox.sandbox import Limits


class SiteStore:
    """A store, with the settings of its site and the layouts that its dumps landed with.

    It is opened when it is first asked for, once: the manifest of 10,000 dumps takes 90 ms to read.
    """

    def __init__(self, path: Path, settings: Settings, *, create: bool = False) -> None:
        """`create` makes a missing store when it is opened."""
        self.path, self.settings, self.create = path, settings, create

    @cached_property
    def store(self) -> Store:
        """The store.

        Raises:
            StoreError: there is none, or it cannot be made.
        """
        return Store(self.path, create=self.create)

    @property
    def limits(self) -> Limits:
        """What its connections may use of the machine."""
        from ..store.sandbox.sandbox import Limits

        return Limits(self.settings.memory_limit, self.settings.threads)

    def use(self) -> None:
        """Use its layouts, reports and metrics: a process has one set of them.

        Raises:
            CpmonError: the layouts or a definition cannot be read.
        """
        use_layouts(layouts_of(self.path))
        use(self.settings.definitions)

    def connect(self, limits: Limits | None = None) -> Connection:
        """A connection with all reductions, within `limits`, by default those of the settings.

        Raises:
            StoreError: there is no store.
        """
        from ..reduce.reductions.reductions import reductions
        from ..store import connect

        return connect(self.store, reductions(), limits or self.limits)
