"""Measurements that repeat: single samples behind published means and deviations."""

from .repetitions import Repetitions, read_repetitions

__all__ = ["Repetitions", "read_repetitions"]
