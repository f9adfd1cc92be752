"""Engines for units of work: sequential, in processes of this machine, or on Spark."""

from .engine import Engine, InOrder, Outcome

__all__ = ["Engine", "InOrder", "Outcome"]
