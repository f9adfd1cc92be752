"""Pieces of work: one after the other, in processes of this machine, or on Spark."""

from .engine import Engine, InOrder
from .outcome import Outcome

__all__ = ["Engine", "InOrder", "Outcome"]
