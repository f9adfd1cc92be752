"""The cross reference of a page, which has to name the same places as its contents table.

It has the name, the offset in hexadecimal, and the length of each row; a page that was copied with
a name in two pieces, or without some of its rows, has them in only one of the two.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from .page_rows import NAME, BitRow, PageRow
from .text import Line, PageText

HEADING = re.compile(r"\bMR[A-Z0-9]+\s+Cross\s+Reference\b")
BEHIND = re.compile(r"(?i:This\s+information\s+is\s+based\s+on)")
LISTED = re.compile(
    rf"(?<!\S)(?P<name>{NAME})(?:\s?\([^)\n]{{0,40}}\))?\s+(?:X')?(?P<hex>[0-9A-Fa-f]+)'?"
    r"\s+(?P<length>\d+)\+?(?!\S)"
)
UNCHECKED = "the page has no cross reference: nothing tells whether a name or a row was lost"


@dataclass(frozen=True)
class Entry:
    """What the cross reference says of a name."""

    name: str
    offset: int
    length: int
    line: Line

    def __str__(self) -> str:
        """As messages quote it."""
        return f"{self.name} at offset X'{self.offset:X}', length {self.length}"


def check_reference(source: PageText, rows: Sequence[PageRow]) -> tuple[str, ...]:
    """Compare the rows of a contents table with the page's cross reference; returns notes.

    Bits and codes are compared if the cross reference has any of them.

    Raises:
        LayoutError: a name is only in one of the two, or has another place; with both.
    """
    entries = list(_entries(source))
    if not entries:
        return (UNCHECKED,)
    by_name: dict[str, list[PageRow]] = defaultdict(list)
    for row in rows:
        by_name[row.name].append(row)
    inside = {bit.name: bit for row in rows for bit in row.bits if bit.name}
    listed = {entry.name for entry in entries}
    for entry in entries:
        if entry.name in by_name:
            _check_place(entry, by_name[entry.name])
        elif entry.name not in inside:
            _refuse_entry(entry, rows)
    named: Iterable[PageRow | BitRow] = (row for row in rows if row.name)
    has_bits = listed & (inside.keys() - by_name.keys())
    for missing in (*named, *(inside.values() if has_bits else ())):
        if missing.name not in listed:
            raise missing.line.error(
                f"{missing.name} is in the contents table, and not in the cross reference",
                expected="the same names in both",
                remedy="compare the line with IBM's page, and save the whole page",
            )
    return ()


def _entries(source: PageText) -> Iterable[Entry]:
    heading = HEADING.search(source.text)
    if heading is None:
        return
    behind = BEHIND.search(source.text, heading.end())
    stop = behind.start() if behind else len(source.text)
    for match in LISTED.finditer(source.text, heading.end(), stop):
        line = source.line_at(match.start())
        yield Entry(match["name"], int(match["hex"], 16), int(match["length"]), line)


def _check_place(entry: Entry, rows: Sequence[PageRow]) -> None:
    """One of the rows of that name is there; of an array only the offset is compared."""
    for row in rows:
        if row.offset == entry.offset and (row.length == entry.length or row.dimensioned):
            return
    row = rows[0]
    place = f"offset X'{row.offset:X}', length {row.length}, as on line {row.line.number}"
    raise entry.line.error(
        f"the cross reference has another place for {entry.name}", expected=place
    )


def _refuse_entry(entry: Entry, rows: Sequence[PageRow]) -> NoReturn:
    there = [row for row in rows if (row.offset, row.length) == (entry.offset, entry.length)]
    instead = f"; line {there[-1].line.number} has {there[-1].name or '*'} there" if there else ""
    raise entry.line.error(
        f"{entry.name} is in the cross reference, and not in the contents table{instead}",
        expected=f"a row for {entry}",
        remedy="compare the lines with IBM's page, and save the whole page",
    )
