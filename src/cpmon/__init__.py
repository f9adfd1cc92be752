"""cpmon: z/VM CP Monitor data, from the dump to the published performance table.

The names in `__all__` are the public interface and remain stable; everything else may change.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Dump, OpenStore, Records, open, read
    from .core import __version__
    from .core.errors import CpmonError, NothingToReportError

__all__ = [
    "CpmonError",
    "Dump",
    "NothingToReportError",
    "OpenStore",
    "Records",
    "__version__",
    "open",
    "read",
]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used: importing cpmon takes no time."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    place = ".core.errors" if name.endswith("Error") else ".api"
    module = import_module(".core" if name == "__version__" else place, __name__)
    return getattr(module, name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
