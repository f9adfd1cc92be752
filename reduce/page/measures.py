"""What columns of an answer are: measures that can be drawn, keys, flags, or names of objects."""

from __future__ import annotations

from ...config.definitions import of_definitions
from ...schemas.field import Role
from ...schemas.registry import layouts
from ..metrics.metric import FIGURES
from ..metrics.report_set import reports

_MEASURED = (Role.COUNTER, Role.GAUGE)
_PLACES = frozenset(("tod_us", "record_offset", "domain", "record"))
"""Columns of all records that are no fields of them."""


@of_definitions
def object_columns() -> dict[str, str]:
    """Column that names an object, of a report or as shipped queries call it -> its kind."""
    followed = [pair for each in reports().values() for pair in each.follows.items()]
    return {kind: kind for kind, _ in followed} | {column: kind for kind, column in followed}


@of_definitions
def no_measures() -> frozenset[str]:
    """Columns whose numbers are keys, flags, codes or places, and nothing that is measured."""
    of_records = {f.name for each in layouts() for f in each.columns if f.role not in _MEASURED}
    of_reports = {key for each in reports().values() for key in each.keys}
    measured = {c.name for each in reports().values() for c in each.columns if c.kind in FIGURES}
    return frozenset((of_records | of_reports | _PLACES) - measured)


@of_definitions
def units() -> dict[str, str]:
    """Column of a report -> unit of the values of its reduction, which are unscaled."""
    return {
        column.name: column.unit if column.scale == 1 else "share"
        for each in reports().values()
        for column in each.columns
        if column.kind in FIGURES
    }
