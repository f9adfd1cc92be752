"""Units of work on a store, one after the other, in processes of one machine, or on Spark."""

from .engine import Engine, InOrder
from .outcome import Outcome

__all__ = ["Engine", "InOrder", "Outcome"]
