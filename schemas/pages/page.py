"""IBM's page of a monitor record: its prolog, and the structures of its contents table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..errors import LayoutError
from ..field import LONGEST_RECORD
from ..layout import Kind
from .page_rows import NAME, PageRow, close_offsets, read_rows
from .text import PageText, read_page

WITHDRAWN = re.compile(
    r"\bno\s+longer\s+(?:\w+\s+){0,3}?"
    r"(?:written|generated|produced|created|collected|reported|available|supported|used)\b"
)
"""What the prolog of a record's page says that has no contents table."""

KINDS = (
    ("sample configuration", (Kind.CONFIG,)),
    ("event and sample", (Kind.EVENT, Kind.SAMPLE, Kind.CONFIG)),
    ("sample and event", (Kind.EVENT, Kind.SAMPLE, Kind.CONFIG)),
    ("sample", (Kind.SAMPLE,)),
    ("event", (Kind.EVENT,)),
    ("configuration", (Kind.CONFIG,)),
)
"""DESCRIPTIVE NAME - Monitor ... Record; the first that fits counts."""


@dataclass(frozen=True)
class Structure:
    """One structure of a page, the record or a part of it, with the rows inside."""

    head: PageRow
    rows: tuple[PageRow, ...]


@dataclass(frozen=True)
class Page:
    """What a page says.

    `kinds` are those that the record may have, the likeliest first; `release` is like "5.2.0".
    `structures` are the record itself, then the parts that its fields locate; none of a record that
    is no longer written. `notes` say what the page contradicts itself in.
    """

    dsect: str
    domain: int
    record: int
    kinds: tuple[Kind, ...]
    title: str
    release: str
    structures: tuple[Structure, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def is_withdrawn(self) -> bool:
        """Whether its release no longer writes the record."""
        return not self.structures


LONGEST = 8_000_000
"""Bytes of a page; IBM's longest has a twentieth of them."""


def parse_page(data: bytes, place: str, release: str = "") -> Page:
    """The page in a file.

    Args:
        data: the file, HTML or text.
        place: its name.
        release: such as "5.2.0", for a page that does not say it.

    Raises:
        LayoutError: it is no record page, or breaks off, or contradicts itself; with the line.
    """
    if len(data) > LONGEST:
        raise LayoutError(
            f"{place} is too long for a record page",
            place=place,
            expected=f"at most {LONGEST:,} bytes",
            found=f"{len(data):,} bytes",
            effect="nothing was read of it",
            remedy="save the page of one record",
        )
    source = read_page(data, place)
    if number := re.search(r"(?<!\d)\d{100}", source.text):
        expected = "numbers of a record: offsets, lengths, dimensions"
        raise source.line_at(number.start()).error("a number is too long", expected=expected)
    source = close_offsets(source)
    dsect, notes = _dsect(source)
    domain = _prolog_entry(source, r"\bDomain\s*(\d{1,3})\s*-", "Domain N - ...")
    record = _prolog_entry(source, r"\bRecord\s*(\d{1,5})\s*-", "Record N - ...")
    return Page(
        dsect=dsect.lower(),
        domain=int(domain),
        record=int(record),
        kinds=_kinds(source),
        title=_title(source.text),
        release=_release(source, release),
        structures=_contents(source),
        notes=notes,
    )


def _dsect(source: PageText) -> tuple[str, tuple[str, ...]]:
    """The record's name, by the page's heading; and what the line DSECT NAME says otherwise."""
    line = _prolog_entry(source, r"DSECT\s+NAME\s*-\s*([A-Z][A-Z0-9]*)", "DSECT NAME - ...")
    heading = re.search(
        r"\bMR([A-Z][A-Z0-9]*)\s+Control\s+Block\s+Contents\s+Offsets\b", source.text
    ) or re.search(r"\bMR([A-Z][A-Z0-9]*)\s+Prolog\b", source.text)
    if heading is None or heading[1] == line:
        return line, ()
    return heading[1], (f"DSECT NAME says {line}, the heading MR{heading[1]}: the heading counts",)


def _prolog_entry(source: PageText, pattern: str, expected: str) -> str:
    match = re.search(pattern, source.text)
    if match is None:
        raise LayoutError(
            f"{source.place} is no page of a monitor record",
            place=f"{source.place}, line 1",
            expected=expected,
            found=source.text.strip().partition("\n")[0].rstrip()[:60] or "nothing",
            remedy="save the page of one record, as HTML or as text, from its first to last line",
        )
    return match[1]


def _kinds(source: PageText) -> tuple[Kind, ...]:
    # Few words: else a text of Monitor and no Record would take the square of its length.
    pattern = r"Monitor\s+((?:[A-Za-z]+\s+){1,8}?)Record\b(?!\s+Header)"
    text = " ".join(_prolog_entry(source, pattern, "Monitor ... Record").split())
    words = text.lower()
    matched = next((kinds for start, kinds in KINDS if words.startswith(start)), None)
    if matched is None:
        raise LayoutError(
            "the page does not say when its record is written",
            place=source.place,
            expected="Monitor Sample Record, Monitor Event Record ...",
            found=text,
        )
    return matched


def _title(text: str) -> str:
    begin = re.search(r"\bRecord\s*\d+\s*-\s*", text)
    behind = re.compile(r"\b(?:DESCRIPTION|NOTES?)\b|\bMR\w+\s+Control\s+Block|\n\s*\n")
    end = behind.search(text, begin.end()) if begin else None
    return " ".join(text[begin.end() : end.start()].split()) if begin and end else ""


def _release(source: PageText, release: str) -> str:
    """The release that the page says; `release` if it says none."""
    match = re.search(
        r"based\s+on\s+z/VM\s+V(?:ersion)?\s*(\d+)\s*R(?:elease)?\s*(\d+)(?:\.(\d+))?", source.text
    )
    if match is None and release:
        return release
    if match is None:
        raise LayoutError(
            "the page does not say its release",
            place=source.place,
            expected="This information is based on z/VM V5R2.0.",
            remedy="give it with --release 5.2.0",
        )
    return ".".join(str(int(number)) for number in match.groups(default="0"))


def _contents(source: PageText) -> tuple[Structure, ...]:
    """The structures of the contents table; none of a record that is no longer written."""
    text = source.text
    starts = [m.end() for m in re.finditer(r"Control\s+Block\s+Contents\s+Offsets\b", text)]
    if not starts and WITHDRAWN.search(text):
        return ()
    if not starts:
        raise LayoutError(
            "the page has no contents table",
            place=f"{source.place}, line 1",
            expected="a heading Control Block Contents, then Offsets",
        )
    heading = re.compile(
        r"\bMR[A-Z0-9]+\s+(?:Cross\s+Reference|Storage\s+Layout|Constants)\b"
        r"|This\s+information\s+is\s+based\s+on"
    )
    behind = heading.search(text, starts[-1])
    end = behind.start() if behind else len(text)
    structures = tuple(_structures(list(read_rows(source, starts[-1], end))))
    _check_names(source, structures, end)
    return structures


def _completed(row: PageRow, behind: Sequence[PageRow], end: int) -> PageRow:
    """A row whose dimension was cut off, with the one that ends where a row behind it begins.

    Its first digits are printed. Behind them digits of the description can stand.
    """
    low, _, printed = row.cut.partition(":")
    for begin in sorted({r.offset for r in behind if r.offset > row.offset} | {end}):
        count, rest = divmod(begin - row.offset, row.length) if row.length else (0, 1)
        high = str(int(low) + count - 1)
        if count > 0 and not rest and (high.startswith(printed) or printed.startswith(high)):
            described = "" if high.startswith(printed) else printed.removeprefix(high)
            meaning = f"{described} {row.meaning}".strip()
            return replace(row, count=count, dimensioned=True, meaning=meaning, cut="")
    raise row.line.error(
        f"the dimension of {row.name or '*'} is cut off, and no row begins where it could end",
        remedy="complete the dimension from IBM's page",
    )


def _structures(rows: list[PageRow]) -> Iterator[Structure]:
    """The rows by the structure that they stand in; a Structure row begins one."""
    heads = [n for n, row in enumerate(rows) if row.word == "Structure"]
    if not heads or heads[0]:
        raise rows[0].line.error(
            "the contents table begins without its structure", expected="0 0 Structure LENGTH NAME"
        )
    for start, stop in zip(heads, [*heads[1:], len(rows)], strict=True):
        head = rows[start]
        within = rows[start + 1 : stop]
        inside = tuple(
            _completed(row, within[n + 1 :], head.length) if row.cut else row
            for n, row in enumerate(within)
        )
        if head.length > LONGEST_RECORD:
            raise head.line.error(
                f"no record has {head.length} bytes",
                expected=f"a length of at most {LONGEST_RECORD}",
            )
        if head.offset:
            raise head.line.error(f"the structure {head.name} does not begin at offset 0")
        yield Structure(head, inside)


def _check_names(source: PageText, structures: tuple[Structure, ...], start: int) -> None:
    """The cross reference, where the page has one, says the same offsets and lengths."""
    reference = re.search(r"\bMR[A-Z0-9]+\s+Cross\s+Reference\b", source.text[start:])
    if reference is None:
        return
    named = [row for s in structures for row in (s.head, *s.rows) if row.name]
    counts = Counter(row.name for row in named)
    rows = {row.name: row for row in named if not row.dimensioned and counts[row.name] == 1}
    listed = re.compile(rf"(?<!\S)({NAME})\s+([0-9A-F]+)\s+(\d+)\+?(?!\S)")
    for match in listed.finditer(source.text, start + reference.end()):
        row = rows.get(match[1])
        if row and (row.offset, row.length) != (int(match[2], 16), int(match[3])):
            place = f"offset X'{row.offset:X}', length {row.length}, as on line {row.line.number}"
            raise source.line_at(match.start()).error(
                f"the cross reference has another place for {row.name}", expected=place
            )
