"""IBM's page of a monitor record: prolog and contents table, read from any spelling of it.

A page is met as HTML, as text in aligned columns, and as text with all white space collapsed, in
which a whole table may stand on one line and descriptions run on over line breaks. So rows are
found by their form, not by columns: decimal offset, the same in hexadecimal, a word for the type,
a length, a name. What stands between two rows is the description of the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from ..errors import LayoutError
from ..layout import Kind
from .text import PageText, read_page

WORDS = ("Structure", "Character", "Unsigned", "Signed", "Bitstring", "Address", "Fixed")
NAME = r"(?:[A-Z@#$][A-Z0-9@#$_]*|\*)"
ROW = re.compile(
    rf"(?<!\S)(?P<dec>\d+)\s+(?P<hex>[0-9A-F]+)\s+(?P<word>{'|'.join(WORDS)}|Bit string)\s+"
    rf"(?P<length>\d+)(?P<more>\+?)\s+(?P<name>{NAME})(?!\S)"
    r"(?:\s?\((?P<dim>\*|\d+(?:\s*:\s*\d+)?)\)(?!\S))?"
)
NIBBLE = r"[.01]{4}"
BIT = re.compile(
    rf"(?<!\S)(?P<mask>{NIBBLE}\s+{NIBBLE}(?:\s+{NIBBLE}\s+{NIBBLE})*)\s+(?P<name>{NAME})(?!\S)"
)
STRANGE = re.compile(
    rf"^\s*(\d+)\s+([0-9A-F]+)\s+([A-Z]\w+)\s+(\d+)\+?\s+{NAME}(?!\S)", re.MULTILINE
)
"""What is a row but for its type; only at the start of a line, since text may look like it."""

LONGEST = 0xFFFF
"""Bytes of a record at most: its header has two bytes for the length."""

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
class BitRow:
    """Bits of the field above: pattern as printed, such as `..11 1111`; name empty if reserved."""

    pattern: str
    name: str
    meaning: str
    line: int
    text: str


@dataclass(frozen=True)
class PageRow:
    """A row of the contents table; the name is empty where the page has `*`.

    `count` is 1 without a dimension, and 0 for the dimension (*).
    """

    offset: int
    length: int
    word: str
    name: str
    count: int
    dimensioned: bool
    meaning: str
    line: int
    text: str
    open: bool = False
    """Whether the length ends in +: something of variable length follows."""
    bits: tuple[BitRow, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all elements."""
        return self.length * self.count


@dataclass(frozen=True)
class Structure:
    """One structure of a page, the record or a part of it, with the rows inside."""

    head: PageRow
    rows: tuple[PageRow, ...]


@dataclass(frozen=True)
class Page:
    """What a page says.

    `place` names its file, for messages; `kinds` are those that the record may have, the likeliest
    first; `release` is like "5.2.0".
    """

    place: str
    dsect: str
    domain: int
    record: int
    kinds: tuple[Kind, ...]
    title: str
    release: str
    structures: tuple[Structure, ...] = field(repr=False)

    @property
    def kind(self) -> Kind:
        """When the record is most likely written."""
        return self.kinds[0]

    @property
    def main(self) -> Structure:
        """The record itself; the others are parts that are found by its fields."""
        return self.structures[0]


LONGEST = 8_000_000
"""Bytes of a page; IBM's longest has a twentieth of them."""


def parse_page(data: bytes, place: str, release: str = "") -> Page:
    """The page in a file.

    Args:
        data: the file, HTML or text.
        place: its name.
        release: such as "5.2.0"; needed only where the page does not say it.

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
    source = read_page(data)
    dsect = _said(source, place, r"DSECT\s+NAME\s*-\s*([A-Z][A-Z0-9]*)", "DSECT NAME - ...")
    domain = _said(source, place, r"\bDomain\s*(\d{1,3})\s*-", "Domain N - ...")
    record = _said(source, place, r"\bRecord\s*(\d{1,5})\s*-", "Record N - ...")
    contents = _contents(source, place)
    rows = list(_rows(source, contents, place))
    structures = tuple(_structures(rows, place))
    _check_names(source, structures, contents[1], place)
    return Page(
        place=place,
        dsect=dsect.lower(),
        domain=int(domain),
        record=int(record),
        kinds=_kinds(source, place),
        title=_title(source.text),
        release=release or _release(source, place),
        structures=structures,
    )


def page_error(problem: str, place: str, line: int, text: str, **parts: str) -> LayoutError:
    """An error with the line of the page and its text."""
    found = parts.pop("found", "") or f"{' '.join(text.split())[:90]}"
    return LayoutError(problem, place=f"{place}, line {line}", found=found, **parts)


def _said(source: PageText, place: str, pattern: str, expected: str) -> str:
    match = re.search(pattern, source.text)
    if match is None:
        raise LayoutError(
            f"{place} is no page of a monitor record",
            place=f"{place}, line 1",
            expected=expected,
            found=next((line.strip()[:60] for line in source.lines if line.strip()), "nothing"),
            remedy="save the page of one record, as HTML or as text, from its first to last line",
        )
    return match[1]


def _kinds(source: PageText, place: str) -> tuple[Kind, ...]:
    said = _said(
        source, place, r"Monitor\s+([A-Za-z\s]+?)\s+Record\b(?!\s+Header)", "Monitor ... Record"
    )
    words = " ".join(said.lower().split())
    found = next((kinds for start, kinds in KINDS if words.startswith(start)), None)
    if found is None:
        raise LayoutError(
            "the page does not say when its record is written",
            place=place,
            expected="Monitor Sample Record, Monitor Event Record ...",
            found=said,
        )
    return found


def _title(text: str) -> str:
    match = re.search(
        r"\bRecord\s*\d+\s*-\s*(.*?)\s*(?=\b(?:DESCRIPTION|NOTES?)\b|\bMR\w+\s+Control\s+Block|\n\s*\n)",
        text,
        re.DOTALL,
    )
    return " ".join(match[1].split()) if match else ""


def _release(source: PageText, place: str) -> str:
    match = re.search(r"based\s+on\s+z/VM\s+V(\d+)R(\d+)\.(\d+)", source.text)
    if match is None:
        raise LayoutError(
            "the page does not say its release",
            place=place,
            expected="This information is based on z/VM V5R2.0.",
            remedy="give it with --release 5.2.0",
        )
    return ".".join(str(int(number)) for number in match.groups())


def _contents(source: PageText, place: str) -> tuple[int, int]:
    """Where the contents table stands in the text."""
    text = source.text
    starts = [m.end() for m in re.finditer(r"Control\s+Block\s+Contents\s+Offsets\b", text)]
    if not starts:
        raise LayoutError(
            "the page has no contents table",
            place=f"{place}, line 1",
            expected="a heading Control Block Contents, then Offsets",
        )
    heading = re.compile(
        r"\bMR[A-Z0-9]+\s+(?:Cross\s+Reference|Storage\s+Layout|Constants)\b"
        r"|This\s+information\s+is\s+based\s+on"
    )
    end = heading.search(text, starts[-1])
    return starts[-1], end.start() if end else len(text)


def _rows(source: PageText, contents: tuple[int, int], place: str) -> Iterator[PageRow]:
    """The rows of the contents table, each with its bits."""
    text, (start, end) = source.text, contents
    found = list(ROW.finditer(text, start, end))
    if not found:
        line = source.line_at(start)
        raise page_error("the contents table has no rows", place, line, source.lines[0])
    taken = {match.start("dec") for match in found}
    for match in STRANGE.finditer(text, start, end):
        if match.start(1) not in taken and int(match[1]) == int(match[2], 16):
            raise page_error(
                f"the type {match[3]} is not known",
                place,
                source.line_at(match.start(1)),
                _line(source, match.start(1)),
                expected=", ".join(WORDS),
            )
    for match, behind in zip_longest(found, found[1:]):
        stop = behind.start() if behind else end
        yield _row(source, match, stop, place)


def _row(source: PageText, match: re.Match[str], stop: int, place: str) -> PageRow:
    bits = list(BIT.finditer(source.text, match.end(), stop))
    described = source.text[match.end() : bits[0].start() if bits else stop]
    line, text = source.line_at(match.start("dec")), _line(source, match.start("dec"))
    dec, hexadecimal = int(match["dec"]), int(match["hex"], 16)
    if dec != hexadecimal:
        raise page_error(
            f"offset {dec} is X'{dec:X}', not X'{match['hex']}'",
            place,
            line,
            text,
            remedy="compare the line with IBM's page; one of the two numbers was damaged",
        )
    return PageRow(
        offset=dec,
        length=int(match["length"]),
        word=match["word"].replace(" ", "").capitalize(),
        name=match["name"].replace("*", ""),
        count=_count(match["dim"], place, line, text),
        dimensioned=match["dim"] is not None,
        meaning=_sentence(described),
        line=line,
        text=text,
        open=bool(match["more"]),
        bits=tuple(_bits(source, bits, stop)),
    )


def _bits(source: PageText, found: list[re.Match[str]], stop: int) -> Iterator[BitRow]:
    for match, behind in zip_longest(found, found[1:]):
        yield BitRow(
            pattern="".join(match["mask"].split()),
            name=match["name"].replace("*", ""),
            meaning=_sentence(source.text[match.end() : behind.start() if behind else stop]),
            line=source.line_at(match.start()),
            text=_line(source, match.start()),
        )


def _line(source: PageText, position: int) -> str:
    """The line around a position; of a table on one line, what begins there."""
    text = source.text
    line = text[text.rfind("\n", 0, position) + 1 : (text + "\n").index("\n", position)]
    return line if len(line) < 120 else text[position : position + 60].split("\n")[0]


def _sentence(text: str) -> str:
    return " ".join(text.split())


def _count(dimension: str | None, place: str, line: int, text: str) -> int:
    """Elements of `(4)`, `(0:255)`; 0 of `(*)`."""
    if dimension is None:
        return 1
    if dimension == "*":
        return 0
    low, _, high = dimension.partition(":")
    count = int(high) - int(low) + 1 if high else int(low)
    if count < 1:
        raise page_error(f"the dimension ({dimension}) has no elements", place, line, text)
    return count


def _structures(rows: list[PageRow], place: str) -> Iterator[Structure]:
    """The rows by the structure that they stand in; a Structure row begins one."""
    heads = [n for n, row in enumerate(rows) if row.word == "Structure"]
    if not heads or heads[0]:
        first = rows[0]
        raise page_error(
            "the contents table begins without its structure",
            place,
            first.line,
            first.text,
            expected="0 0 Structure LENGTH NAME",
        )
    for start, stop in zip(heads, [*heads[1:], len(rows)], strict=True):
        head = rows[start]
        inside = tuple(_aligned(row) for row in rows[start + 1 : stop])
        if head.length > LONGEST:
            raise page_error(
                f"no record has {head.length} bytes",
                place,
                head.line,
                head.text,
                expected=f"a length of at most {LONGEST}",
            )
        if head.offset:
            raise page_error(
                f"the structure {head.name} does not begin at offset 0",
                place,
                head.line,
                head.text,
            )
        yield Structure(head, inside)


def _aligned(row: PageRow) -> PageRow:
    """Names for fixed-point words on old pages are those for signed ones."""
    return replace(row, word="Signed") if row.word == "Fixed" else row


def _check_names(
    source: PageText, structures: tuple[Structure, ...], start: int, place: str
) -> None:
    """The cross reference, where the page has one, says the same offsets and lengths."""
    reference = re.search(r"\bMR[A-Z0-9]+\s+Cross\s+Reference\b", source.text[start:])
    if reference is None:
        return
    named = [row for s in structures for row in (s.head, *s.rows) if row.name]
    rows = {row.name: row for row in named if not row.dimensioned}
    again = {row.name for n, row in enumerate(named) if row.name in {r.name for r in named[:n]}}
    listed = re.compile(rf"(?<!\S)({NAME})\s+([0-9A-F]+)\s+(\d+)\+?(?!\S)")
    for match in listed.finditer(source.text, start + reference.end()):
        row = rows.get(match[1])
        if row is None or row.name in again:
            continue
        if (row.offset, row.length) != (int(match[2], 16), int(match[3])):
            raise page_error(
                f"the cross reference has another place for {row.name}",
                place,
                source.line_at(match.start()),
                _line(source, match.start()),
                expected=f"offset X'{row.offset:X}', length {row.length}, as on line {row.line}",
            )
