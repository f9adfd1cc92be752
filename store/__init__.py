"""The folder of landed dumps and DuckDB over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .format.staging import Staging
from .format.store import Store
from .measured.classes import class_rules, deciding_rule, save_classes
from .measured.runs import Run, read_run, run_file, save_run
from .sql.views import View

if TYPE_CHECKING:
    from .connection import connect

__all__ = [
    "Run",
    "Staging",
    "Store",
    "View",
    "class_rules",
    "connect",
    "deciding_rule",
    "read_run",
    "run_file",
    "save_classes",
    "save_run",
]


def __getattr__(name: str) -> Any:
    """Imports `connect` lazily: it needs DuckDB (36 MB), which landing a dump does not."""
    if name != "connect":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .connection import connect

    return connect
