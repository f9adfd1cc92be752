"""docs/events.md: every event record, what the generator's world does, and what is unknown then."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from cpmon.schemas import Kind, layouts


class Happening(NamedTuple):
    """A row of `generate/events.csv`.

    Attributes:
        record: name of the event record; "" for what no record tells.
        kinds: kinds of `[[events]]` of a scenario, separated by blanks.
        does, changes, unknown, lasts: what the world does; which samples change; which figures are
            unknown then, and for how long.
        reason: why it is not modelled.
    """

    record: str
    kinds: str
    does: str
    changes: str
    unknown: str
    lasts: str
    reason: str


def happenings() -> list[Happening]:
    """The rows of `generate/events.csv`."""
    text = (files("cpmon.generate") / "events.csv").read_text(encoding="utf-8")
    return [Happening(**row) for row in csv.DictReader(text.splitlines())]


_INTRODUCTION = """\
What CP's event records tell, and what the world of the [generator](generate.md) does of it: a
scenario names it in [`[[events]]`](scenario-format.md#events-runnameevents) with a second; the
world does it then, writes the records that tell it, and changes the samples of its objects from
then on. What nobody has published cannot be modelled: it stands below with
the reason.

A dump never tells what an object did between its last sample and its end, unless the event record
has it (USELOF has). Such a figure, and every sum of which it is a part, cannot be known."""

_HEADER = (
    "| record | `kind` | what happens | which samples change | what is unknown | how long |",
    "|---|---|---|---|---|---|",
)


def events_page() -> Iterator[str]:
    """The page, in lines of Markdown."""
    rows = happenings()
    titles = {each.name: f"{each.name.upper()} ({each.domain}.{each.record})" for each in layouts()}
    yield from (_INTRODUCTION, "", "## What happens in a world", "")
    yield from _HEADER
    for row in (row for row in rows if not row.reason):
        kinds = ", ".join(f"`{kind}`" for kind in row.kinds.split())
        cells = (titles.get(row.record, "no record"), kinds, row.does, row.changes, row.unknown)
        yield f"| {' | '.join(cells)} | {row.lasts} |"
    yield from ("", "## What does not", "", "| record, or what happens | why |", "|---|---|")
    for row in (row for row in rows if row.reason):
        yield f"| {titles.get(row.record, row.does)} | {row.reason} |"


def missing() -> set[str]:
    """Event records without a row, and rows without an event record."""
    told = {row.record for row in happenings() if row.record}
    events = {each.name for each in layouts() if each.kind is Kind.EVENT}
    return (events ^ told) - {"mtrscm"}
