"""Owners of counters, and limits of their deltas.

A counter belongs to an owner (a logon session, an attachment of a device, a boot of a guest), and a
delta exists only between two samples of one. `owners.csv` names what begins and ends an owner,
`limits.csv` how fast a counter can grow, `parts.csv` which deltas and values are part of which.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from .field import Field
from .layout import Layout
from .registry import record_of, shipped_rows

ELAPSED = "elapsed"
"""In place of a whole: the time between the two samples, in TOD units."""
COUNTDOWN_START = 0x7FFFFFFF_00000000
"""Start value of a time that counts down (IBM: PFXPRBTM)."""


@dataclass(frozen=True, slots=True)
class Event:
    """Event records that begin or end an owner; they have its keys, or the first of them."""

    table: str
    begins: bool


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of the counters of a table: a row of `owners.csv`.

    Attributes:
        events: those that begin or end an owner.
        identity: fields of the row that differ between owners.
        from_zero: counters begin at 0, so that their first values are the usage of the new owner.
        clock: the field with the time of the figures, and its table; empty if it is the time stamp
            of the record.
        watched: the counters that are checked for restarts and doubts; all if empty. In the largest
            tables only those that reductions read, to save time.
    """

    events: tuple[Event, ...] = ()
    identity: tuple[str, ...] = ()
    from_zero: bool = False
    clock: tuple[str, str] | None = None
    watched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """The limits of a counter's delta: a row of `limits.csv`.

    Attributes:
        per_second: the highest possible rate in the counter's unit; None if unknown.
        slips: IBM documents that it sometimes decreases slightly; the next delta is wrong, too.
        twin: a field with the same count in more bits, if records have one.
    """

    per_second: float | None = None
    slips: bool = False
    twin: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """Figures whose sum is at most the sum of others: a row of `parts.csv`.

    Attributes:
        whole: fields, or `ELAPSED`.
        spare: tolerance in addition to one percent, since a sample takes time.
        blank: fields whose deltas become NULL if the sum is exceeded.
    """

    parts: tuple[str, ...]
    whole: tuple[str, ...]
    spare: float
    blank: tuple[str, ...]


def owner_of(layout: Layout) -> Owner:
    """The owner of a table's counters; entries without a row have that of their record."""
    owners = _owners()
    return owners.get(layout.name) or owners.get(record_of(layout).name) or Owner()


def limit_of(layout: Layout, field: Field) -> Limit:
    """The limits of a counter of a table."""
    limits = _limits()
    for key in ((layout.name, field.name), (layout.name, f"/{field.unit}"), ("", f"/{field.unit}")):
        if key in limits:
            return limits[key]
    return Limit()


def parts_of(layout: Layout, of: str = "deltas") -> Sequence[Parts]:
    """The rows of `parts.csv` of a table: about its deltas, or about its `values` as recorded."""
    found = []
    for row in shipped_rows("parts.csv"):
        if (row["table"], row["of"]) == (layout.name, of):
            parts, whole, blank = (tuple(row[c].split()) for c in ("parts", "whole", "blank"))
            found.append(Parts(parts, whole, float(row["spare"]), blank))
    return found


@functools.cache
def _owners() -> dict[str, Owner]:
    owners = {}
    for row in shipped_rows("owners.csv"):
        events = [
            Event(table, column == "begun_by")
            for column in ("begun_by", "ended_by")
            for table in row[column].split()
        ]
        identity, watched = (tuple(row[column].split()) for column in ("identity", "watched"))
        above, _, name = row["clock"].rpartition(".")
        for table in row["tables"].split():
            clock = (above or table, name) if name else None
            owners[table] = Owner(
                tuple(events), identity, row["from_zero"] == "yes", clock, watched
            )
    return owners


@functools.cache
def _limits() -> dict[tuple[str, str], Limit]:
    """(table, field), (table, /unit) or ("", /unit) -> the limit."""
    limits = {}
    for row in shipped_rows("limits.csv"):
        most = float(row["per_second"]) if row["per_second"] else None
        limit = Limit(most, row["slips"] == "yes", row["twin"])
        for table in row["tables"].split() or [""]:
            for name in row["fields"].split() or [f"/{row['unit']}"]:
                limits[table, name] = limit
    return limits
