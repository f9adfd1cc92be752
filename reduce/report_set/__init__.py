"""The reports that are shipped, as data. Formulas are in `sql/`, print rules in `printing.py`."""

from __future__ import annotations

from ..report_shape import Report
from . import (
    configuration,
    dasd,
    events,
    processors,
    system,
    users,
)

REPORTS: dict[str, Report] = {
    report.name: report
    for group in (
        configuration,
        dasd,
        system,
        processors,
        events,
        users,
    )
    for report in group.REPORTS
}
"""Every report by its name."""
