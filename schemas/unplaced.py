"""Fields that IBM's pages of later releases name, and whose place is not known here.

Views show them as NULL, so that a reduction can use them; a site that imports the page of its
release gives them their place, and the layout's field then stands for them. Type, role and unit,
which no page says, are those that the import gives them.
"""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from importlib.resources import files

from .layout import Layout


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A field of record `dsect`. `since`: the first release on whose page it was seen."""

    dsect: str
    name: str
    type: str
    role: str
    unit: str
    since: str
    meaning: str


def unplaced(layout: Layout) -> list[Unplaced]:
    """The fields of a record that its layout lacks."""
    placed = {field.name for field in (*layout.columns, *layout.bits)}
    return [row for row in all_unplaced() if row.dsect == layout.name and row.name not in placed]


@functools.cache
def all_unplaced() -> tuple[Unplaced, ...]:
    """Every row of the file."""
    text = (files(__package__) / "unplaced.csv").read_text(encoding="utf-8")
    return tuple(Unplaced(**row) for row in csv.DictReader(text.splitlines()))
