"""The log of what happened."""

from __future__ import annotations

from ..report_shape import Lines, Report, ReportColumn
from .columns import key

_LEFT_OUT = (
    "Ends of transactions, moves between the scheduler's lists, terminal input and seeks are left"
    " out; events are recorded only while MONITOR EVENT is on for their domain."
)

_EVENTS = Report(
    "EVENTS",
    "What happened, as it was recorded",
    "events",
    (
        ReportColumn("event_at", "Time", width=19),
        key("kind", "Kind", 12),
        key("object", "Object", 12),
        key("event_text", "What happened", 40),
    ),
    lines=Lines.ROW,
    keys=("event_at", "kind", "object", "event_text"),
    follows={"user": "userid", "device": "device", "cpu": "cpu"},
    notes=(_LEFT_OUT,),
)

REPORTS = (_EVENTS,)
