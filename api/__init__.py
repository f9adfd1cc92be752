"""The public interface for programs, as documented in docs/python.md."""

from .dump import Dump, Records, read
from .open_store import OpenStore, open

__all__ = ["Dump", "OpenStore", "Records", "open", "read"]
