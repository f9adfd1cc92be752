"""The intervals of a shift, as a condition of SQL."""

from __future__ import annotations

from typing import Any

from ...config.shifts import Shift
from ...store.dumps.grace_period import inside


def shift_condition(shift: Shift, column: str) -> tuple[str, list[Any]]:
    """The condition on a column of UTC times, and the values of its parameters."""
    local = inside(f"timezone(?, timezone('UTC', {column}))")
    day, clock = f"isodow({local})", f"CAST({local} AS TIME)"
    listed = ", ".join(map(str, shift.days))
    if shift.begins < shift.ends:
        text = f"({day} IN ({listed}) AND {clock} >= ? AND {clock} < ?)"
        return text, [shift.zone, shift.zone, shift.begins, shift.zone, shift.ends]
    after = ", ".join(str(day % 7 + 1) for day in shift.days)
    text = f"(({day} IN ({listed}) AND {clock} >= ?) OR ({day} IN ({after}) AND {clock} < ?))"
    return text, [shift.zone, shift.zone, shift.begins, shift.zone, shift.zone, shift.ends]
