"""Clocks that stand in the data, held against the clock of the record that carries them, as SQL.

A guest stamps its blocks with a clock that can be set. CP finds a block at samples whose times are
those of its own clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.sql import name
from ...schemas.layout import Layout

STEADY_S, SHIFT_S = "5e-1", "2e0"
"""Seconds by which the age of a block of a guest may differ, to be the same and to be another."""
CLOCKED = [
    "r._clock",
    "lag(r._clock) OVER w AS _clock_before",
    "lag(r._clock, 2) OVER w AS _clock_earlier",
    "lead(r._clock) OVER w AS _clock_next",
    "(r._seen_us - r._clock) / 1e6 AS _age",
    "lag((r._seen_us - r._clock) / 1e6) OVER w AS _age_before",
    "lag((r._seen_us - r._clock) / 1e6, 2) OVER w AS _age_earlier",
    "lead((r._seen_us - r._clock) / 1e6) OVER w AS _age_next",
    "(r.tod_us - lag(r.tod_us) OVER w) / 1e6 AS _sampled_s",
]
"""Columns of rows with a clock of their own: it, how old a block was when it was first sampled, and
those of the rows beside."""


def clocked(rows: str, layout: Layout, clock: tuple[str, str], keys: Sequence[str]) -> str:
    """SQL relation: rows with their own clock, and when a record first had that, microseconds."""
    table, column = clock
    at, joined = (
        ("p", "") if table == layout.name else ("c", f"LEFT JOIN monitor.{name(table)} AS c")
    )
    if joined:
        joined += " ON c.system = p.system AND c.dump = p.dump"
        joined += " AND c.record_offset = p.record_offset"
    own = f"date_diff('microsecond', TIMESTAMP '1970-01-01', {at}.{name(column + '_at')})"
    same = ", ".join(f"p.{key}" for key in ["system", *keys])
    return f"""(
          SELECT p.*, {own} AS _clock,
            min(p.tod_us) OVER (PARTITION BY {same}, {own}) AS _seen_us
          FROM {rows} AS p {joined})"""


def was_set(ticks: Sequence[str]) -> str:
    """SQL condition: the clock of a block was set since the previous one.

    A block is written between the sample that finds it first and the one before: its age changes by
    no more than that. By less it changes at random, unless it was the same before, and is the same
    from then on.

    Args:
        ticks: deltas that together count all of the time, in 10 ms: they prove a clock right.
    """
    shift = "abs(_age - _age_before)"
    steady = " AND ".join(
        f"coalesce(abs({one} - {other}) <= {STEADY_S}, true)"
        for one, other in (("_age_before", "_age_earlier"), ("_age_next", "_age"))
    )
    fresh = (
        "coalesce(_clock_before <> _clock_earlier, true) AND coalesce(_clock <> _clock_next, true)"
    )
    moved = f"({shift} > _sampled_s OR ({shift} > {SHIFT_S} AND {fresh} AND {steady}))"
    if ticks:
        right = f"abs(({' + '.join(ticks)}) / 100e0 - _s) <= {SHIFT_S}"
        moved += f" AND NOT coalesce({right}, false)"
    return f"coalesce({moved}, false)"
