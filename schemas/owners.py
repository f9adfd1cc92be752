"""What the counters of a table belong to, and what they can grow by: the facts of every delta.

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
"""Where a time that runs downwards begins (IBM: PFXPRBTM)."""


@dataclass(frozen=True, slots=True)
class Event:
    """Records of a table that begin or end an owner: they have its keys, or the first of them."""

    table: str
    begins: bool


@dataclass(frozen=True, slots=True)
class Owner:
    """What the counters of a table belong to: a row of `owners.csv`.

    Attributes:
        events: what begins and ends one.
        identity: fields of the row that another owner has otherwise.
        from_zero: its counters begin at 0, so that their values are what the new owner used.
        clock: the field with the time at which the figures were taken, and its table; empty where
            it is the time stamp of the record.
        watched: the counters that tell of a restart, and whose doubts the view names; all if empty.
            Of the largest tables those that reductions read: each of the others costs time.
    """

    events: tuple[Event, ...] = ()
    identity: tuple[str, ...] = ()
    from_zero: bool = False
    clock: tuple[str, str] | None = None
    watched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """How fast a counter can grow: a row of `limits.csv`.

    Attributes:
        per_second: the most that is physically possible, in the counter's unit; None where nobody
            can say.
        slips: it is documented to fall by a little now and then; its next delta is wrong as well.
        twin: the field that counts the same in more bits, where records keep it.
    """

    per_second: float | None = None
    slips: bool = False
    twin: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """Figures that add up to no more than others do: a row of `parts.csv`.

    Attributes:
        whole: fields, or `ELAPSED`.
        spare: what they may exceed it by, beside one percent: samples take time.
        blank: fields whose deltas are not known where they exceed it.
    """

    parts: tuple[str, ...]
    whole: tuple[str, ...]
    spare: float
    blank: tuple[str, ...]


def owner_of(layout: Layout) -> Owner:
    """What the counters of a table belong to; entries without a row as those of their record."""
    owners = _owners()
    return owners.get(layout.name) or owners.get(record_of(layout).name) or Owner()


def limit_of(layout: Layout, field: Field) -> Limit:
    """How fast a counter of a table can grow."""
    limits = _limits()
    for key in ((layout.name, field.name), (layout.name, f"/{field.unit}"), ("", f"/{field.unit}")):
        if key in limits:
            return limits[key]
    return Limit()


def parts_of(layout: Layout, of: str = "deltas") -> Sequence[Parts]:
    """Which figures of a row are part of which others: its deltas, or its `values` as recorded."""
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
