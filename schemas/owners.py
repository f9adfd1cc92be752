"""Owners of counters, and limits of their deltas.

A counter belongs to an owner (a logon session, an attachment of a device, a boot of a guest), and a
delta exists only between two samples of one. `owners.csv` names what begins and ends an owner,
`limits.csv` how fast a counter can grow, `parts.csv` which deltas and values are part of which.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from .field import Field
from .layout import Layout
from .registry import record_of

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
    return [
        Parts(
            tuple(row["parts"].split()),
            tuple(row["whole"].split()),
            float(row["spare"]),
            tuple(row["blank"].split()),
        )
        for row in _rows("parts.csv")
        if row["table"] == layout.name and row["of"] == of
    ]


@functools.cache
def _owners() -> dict[str, Owner]:
    return {
        table: Owner(
            tuple(_events(row)),
            tuple(row["identity"].split()),
            row["from_zero"] == "yes",
            _place(row["clock"], table) if row["clock"] else None,
            tuple(row["watched"].split()),
        )
        for row in _rows("owners.csv")
        for table in row["tables"].split()
    }


def _events(row: dict[str, str]) -> Iterator[Event]:
    for column in ("begun_by", "ended_by"):
        for table in row[column].split():
            yield Event(table, column == "begun_by")


def _place(clock: str, table: str) -> tuple[str, str]:
    above, _, name = clock.rpartition(".")
    return above or table, name


@functools.cache
def _limits() -> dict[tuple[str, str], Limit]:
    """(table, field), (table, /unit) or ("", /unit) -> the limit."""
    limits = {}
    for row in _rows("limits.csv"):
        most = float(row["per_second"]) if row["per_second"] else None
        limit = Limit(most, row["slips"] == "yes", row["twin"])
        for table in row["tables"].split() or [""]:
            for name in row["fields"].split() or [f"/{row['unit']}"]:
                limits[table, name] = limit
    return limits


def _rows(name: str) -> list[dict[str, str]]:
    text = (files(__package__) / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
