"""What a system is made of and how it is set up."""

from __future__ import annotations

from ..report_shape import Lines, Report, ReportColumn
from .columns import key, name

_INFERRED = (
    "The form of the CP level and the bit of the master processor are inferred; units of SRM"
    " settings are believed."
)

_SYSTEM_CONFIG = Report(
    "SYSTEM_CONFIG",
    "What the system is made of and how it is set up",
    "system_config",
    (
        key("label", "Setting", 28),
        name("setting_value", "Value", 30),
        ReportColumn("holds_from", "Since", width=19),
    ),
    lines=Lines.OBJECT,
    keys=("place", "label", "holds_from"),
    sort="place",
    notes=(_INFERRED,),
)

REPORTS = (_SYSTEM_CONFIG,)
