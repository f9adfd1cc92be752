"""Dump to store: containers, frames, record index, columns, findings, landing."""

from .findings import Code, Finding, Findings, FindingSeverity
from .landing import Landed, ingest

__all__ = ["Code", "Finding", "FindingSeverity", "Findings", "Landed", "ingest"]
