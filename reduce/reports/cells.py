"""Values of a report as the texts that stand in its cells."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ..metrics.report_shape import HEX, ReportColumn
from ..render.printing import show

CLOCK = "%Y-%m-%d %H:%M:%S"
UTC_ZONE = ZoneInfo("UTC")


def cell_text(column: ReportColumn, value: Any, zone: ZoneInfo = UTC_ZONE) -> str:
    """A value as its column prints it; times in a zone. Empty where there is none."""
    match value:
        case datetime():
            return clock(value, zone)
        case bool():
            return "yes" if value else "no"
        case str():
            return value
    if column.base == HEX and value is not None:
        return f"{value:04X}"
    return show(value, column.form, scale=column.scale).text


def clock(time: datetime, zone: ZoneInfo = UTC_ZONE) -> str:
    """A UTC time without zone to the nearest second, in a time zone."""
    rounded = (time + timedelta(milliseconds=500)).replace(tzinfo=UTC)
    return rounded.astimezone(zone).strftime(CLOCK)
