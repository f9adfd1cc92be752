"""Keeps pyarrow from importing pandas in commands that do not need it.

When pyarrow first converts a Python value, a list or a numpy array, it imports pandas to check
whether the value is a pandas object, which takes 0.3 s; no option prevents it. If the import fails,
pyarrow works without pandas. So the command line makes it fail in commands that do not need pandas
themselves. Programs that use cpmon as a library are not affected.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PANDAS = "pandas"


class _Postponed(MetaPathFinder, Loader):
    """Import hook that finds pandas but refuses to load it; others may check whether it exists."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that cannot be loaded, for pandas."""
        return ModuleSpec(name, self) if name == PANDAS else None

    def exec_module(self, _module: ModuleType) -> None:
        """Refuse to load it."""
        raise ImportError("cpmon loads pandas only in commands that need it", name=PANDAS)


_POSTPONED = _Postponed()


def postpone_pandas() -> None:
    """Make imports of pandas fail until `allow_pandas`, unless it is already imported."""
    if PANDAS not in sys.modules and _POSTPONED not in sys.meta_path:
        sys.meta_path.insert(0, _POSTPONED)


def allow_pandas() -> None:
    """Allow imports of pandas again."""
    if _POSTPONED in sys.meta_path:
        sys.meta_path.remove(_POSTPONED)
