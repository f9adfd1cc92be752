"""Unattended work: dumps that arrive become tables, reports and a summary, by one command."""

from .plan import Plan, read_plan
from .result import Result
from .running import Batch

__all__ = ["Batch", "Plan", "Result", "read_plan"]
