"""cpmon: z/VM CP Monitor data, from the dump to the published performance table.

The names in `__all__` are the public interface and remain stable; everything else may change.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api.dump import Dump, Records, read
    from .api.open_store import OpenStore, open
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

    places = {"__version__": ".core", "OpenStore": ".api.open_store", "open": ".api.open_store"}
    place = ".core.errors" if name.endswith("Error") else places.get(name, ".api.dump")
    return getattr(import_module(place, __name__), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
