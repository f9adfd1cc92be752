"""Keeps pyarrow from importing pandas in commands that do not need it.

When pyarrow converts a Python value, a list or a numpy array for the first time, it imports pandas
to see whether the value is one of pandas, which takes 0.3 s; it has no option for that. Where the
import fails, pyarrow goes on without pandas. So the command line lets it fail in commands that do
not need pandas themselves. Programs that use cpmon as a library are left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PANDAS = "pandas"


class _Postponed(MetaPathFinder, Loader):
    """Finds pandas, and refuses to load it: others may ask whether it is installed."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module that cannot be loaded, for pandas."""
        return ModuleSpec(name, self) if name == PANDAS else None

    def exec_module(self, _module: ModuleType) -> None:
        """Refuse to load it."""
        raise ImportError("cpmon loads pandas only in commands that need it", name=PANDAS)


_POSTPONED = _Postponed()


def postpone_pandas() -> None:
    """Let imports of pandas fail until `allow_pandas`, unless it is imported already."""
    if PANDAS not in sys.modules and _POSTPONED not in sys.meta_path:
        sys.meta_path.insert(0, _POSTPONED)


def allow_pandas() -> None:
    """Let pandas be imported; pyarrow may go on without it."""
    if _POSTPONED in sys.meta_path:
        sys.meta_path.remove(_POSTPONED)
