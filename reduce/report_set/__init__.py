"""The reports that are shipped, as data. Formulas are in `sql/`, print rules in `printing.py`."""

from __future__ import annotations

from ..report_shape import Report
from . import system

REPORTS: dict[str, Report] = {report.name: report for report in (*system.REPORTS,)}
"""Every report by its name."""
