"""Owners of counters, and limits of their deltas.

A counter belongs to an owner (a logon session, an attachment of a device, a boot of a guest), and a
delta exists only between two samples of one. `owners.csv` names what begins and ends an owner,
`members.csv` where CP states how many there are, `limits.csv` how fast a counter can grow,
`parts.csv` which deltas and values are part of which.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from .field import Field
from .layout import Layout
from .registry import record_of, shipped_rows

ELAPSED = "elapsed"
"""In place of a whole: the time between the two samples, in the unit of its parts."""
SECONDS = {"tod": 4096e6, "10ms": 100.0}
"""Units of times -> a second in them."""
COUNTDOWN_START = 0x7FFFFFFF_00000000
"""Start value of a time that counts down (IBM: PFXPRBTM)."""


class Change(StrEnum):
    """What an event does to an owner: a column of `owners.csv`."""

    BEGINS = "begun_by"
    ENDS = "ended_by"
    STOPS = "stopped_by"
    """It goes on, but counters of it stand still until an event resumes or begins it."""
    RESUMES = "resumed_by"
    """It was stopped until then, also if no event says so."""


@dataclass(frozen=True, slots=True)
class Event:
    """Event records that begin, end, stop or resume an owner.

    Attributes:
        keys: column of the owner's table -> column of the event; those of the same name if empty.
        has_totals: the event has the counters as they were at the end.
    """

    table: str
    change: Change
    keys: Mapping[str, str]
    has_totals: bool = False


@dataclass(frozen=True, slots=True)
class Members:
    """Where CP states how many owners there are: a row of `members.csv`.

    Attributes:
        keys: the columns whose distinct values are counted.
        of: those for each of whose values a number is stated; empty: one for the system.
        table, field: where the number stands.
        has_row: members without a sample have a row in the interval, as one that is missing.
    """

    keys: tuple[str, ...]
    of: tuple[str, ...]
    table: str
    field: str
    has_row: bool


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of the counters of a table: a row of `owners.csv`.

    Attributes:
        events: those that begin, end or stop an owner.
        identity: fields of the row that differ between owners.
        noted: fields of the row that say what the owner is about: it goes on when one has another
            value, but what it did in that interval is of both.
        has_parts: several rows of one owner in a sample are parts of it, in a fixed order.
        from_zero: counters begin at 0, so that their first values are the usage of the new owner.
        elapsed: counters, in units of 10 ms, that together count the time by its clock.
        clock: the field with the time of the figures, and its table; empty if it is the time stamp
            of the record.
        watched: the counters that are checked for restarts and doubts; all if empty. In the largest
            tables only those that reductions read, to save time.
        standing: counters that stand still while it is stopped.
        witness: counters that then go on, and count what those do, but for one that is under way.
    """

    events: tuple[Event, ...] = ()
    identity: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    has_parts: bool = False
    from_zero: bool = False
    clock: tuple[str, str] | None = None
    watched: tuple[str, ...] = ()
    elapsed: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()
    witness: tuple[str, ...] = ()

    @property
    def is_announced(self) -> bool:
        """Whether an event says that it ends: until then it exists, sampled or not."""
        return any(event.change is Change.ENDS for event in self.events)


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
        late: a part of what exceeds it may be of the interval before, whose deltas become NULL too.
        second: a second in the unit of the parts; 0 if they are no times.
    """

    parts: tuple[str, ...]
    whole: tuple[str, ...]
    spare: float
    blank: tuple[str, ...]
    late: bool
    second: float


def owner_of(layout: Layout) -> Owner:
    """The owner of a table's counters; entries without a row have that of their record.

    What identifies it in the record, and is no column of an entry, does not tell entries apart.
    """
    owners = _owners()
    if layout.name in owners:
        return owners[layout.name]
    owner = owners.get(record_of(layout).name, Owner())
    if not owner.identity:
        return owner
    known = {field.name for field in layout.columns}
    return replace(owner, identity=tuple(f for f in owner.identity if f in known))


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
            second = SECONDS.get(layout.field(parts[0]).unit, 0)
            late, spare = row["late"] == "yes", float(row["spare"])
            found.append(Parts(parts, whole, spare, blank, late, second))
    return found


def members_of(layout: Layout) -> Members | None:
    """Where CP states how many owners of a table there are; None if nowhere."""
    for row in shipped_rows("members.csv"):
        if layout.name in row["tables"].split():
            table, _, field = row["stated"].partition(".")
            keys, of = (tuple(row[column].split()) for column in ("members", "of"))
            return Members(keys, of, table, field, row["unsampled"] == "row")
    return None


def _event(text: str, change: Change, totals: Collection[str]) -> Event:
    """An event as `owners.csv` writes it: `table`, or `table:column=column+column=column`."""
    table, _, keys = text.partition(":")
    pairs = (pair.split("=") for pair in keys.split("+") if pair)
    return Event(table, change, dict(pairs), table in totals)


@functools.cache
def _owners() -> dict[str, Owner]:
    owners = {}
    for row in shipped_rows("owners.csv"):
        totals = row["totals"].split()
        events = [_event(text, change, totals) for change in Change for text in row[change].split()]
        identity, noted, watched = (
            tuple(row[column].split()) for column in ("identity", "noted", "watched")
        )
        above, _, name = row["clock"].rpartition(".")
        for table in row["tables"].split():
            clock = (above or table, name) if name else None
            owners[table] = Owner(
                tuple(events),
                identity,
                noted,
                row["parts"] == "yes",
                row["from_zero"] == "yes",
                clock,
                watched,
                tuple(row["elapsed"].split()),
                tuple(row["standing"].split()),
                tuple(row["witness"].split()),
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
