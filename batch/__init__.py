"""Unattended batches: land new dumps, reduce them, write reports and a summary."""

from .plan import Plan, read_plan
from .result import BatchResult
from .run import BatchRunner

__all__ = ["BatchResult", "BatchRunner", "Plan", "read_plan"]
