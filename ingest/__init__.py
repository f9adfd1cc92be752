"""Dump to store: containers, frames, record index, columns, findings, landing."""

from .findings import Code, Finding, Findings, Severity
from .landing import Landed, ingest

__all__ = ["Code", "Finding", "Findings", "Landed", "Severity", "ingest"]
