"""Unattended batches: land new dumps, reduce them, write reports and a summary."""

from .plan import BatchPlan, read_plan
from .result import BatchResult
from .run import BatchRunner

__all__ = ["BatchPlan", "BatchResult", "BatchRunner", "read_plan"]
