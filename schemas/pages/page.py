"""IBM's page of a monitor record: prolog and contents table, read from any spelling of it.

A page is met as HTML, as text in aligned columns, and as text with all white space collapsed, in
which a whole table may stand on one line and descriptions run on over line breaks. So rows are
found by their form, not by columns: decimal offset, the same in hexadecimal, a word for the type,
a length, a name. What stands between two rows is the description of the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from ..errors import LayoutError
from ..layout import Kind
from .text import PageText, read_page

WORDS = ("Structure", "Character", "Unsigned", "Signed", "Bitstring", "Address", "Fixed")
NAME = r"(?:[A-Z@#$][A-Z0-9@#$_]*|\*)"
EXTENT = r"\d+(?:\s*:\s*(?:\d+|\*))?"
ROW = re.compile(
    rf"(?<!\S)(?P<dec>\d+)\s+(?P<hex>[0-9A-F]+)\s+(?P<word>{'|'.join(WORDS)}|Bit string)\s+"
    rf"(?P<length>\d+)(?P<more>\+?)\s+(?P<name>{NAME})(?![^\s(])"
    rf"(?:\s?\(\s*(?P<dim>\*|{EXTENT}(?:\s*,\s*{EXTENT})*)\s*\)"
    r"|\s?\((?P<cut>\d+:\d*)(?![\d:)]))?"
)
"""A dimension stands behind the name, with or without a blank. On narrow pages it can be cut off:
its bracket and last digits are missing, and the description begins in their place."""
NIBBLE = r"[.01]{4}"
BIT = re.compile(
    rf"(?<!\S)(?P<mask>{NIBBLE}\s+{NIBBLE}(?:\s+{NIBBLE}\s+{NIBBLE})*)\s+(?P<name>{NAME})(?!\S)"
)
UNREAD = re.compile(
    rf"(?<!\S)(?P<dec>\d+)\s+(?P<hex>[0-9A-F]+)\s+(?P<word>{'|'.join(WORDS)}|Bit string)\s+"
    rf"|^\s*(?P<dec_>\d+)\s+(?P<hex_>[0-9A-F]+)\s+(?P<word_>[A-Z]\w+)\s+\d+\+?\s+{NAME}(?!\S)",
    re.MULTILINE,
)
"""What begins as a row does. Of a type that is not known, only at the start of a line, since text
may look like it."""

BITS_UNREAD = re.compile(rf"^\s*(?P<mask>(?=[01 ]*\.){NIBBLE}\s+{NIBBLE})(?!\S)", re.MULTILINE)
"""What begins as a row of bits does."""

WITHDRAWN = re.compile(
    r"\bno\s+longer\s+(?:\w+\s+){0,3}?"
    r"(?:written|generated|produced|created|collected|reported|available|supported|used)\b"
)
"""What the prolog of a record's page says that has no contents table."""

LONGEST_RECORD = 0xFFFF
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
    cut: str = ""
    """What is left of a dimension that a narrow page cut off, and digits of what follows it."""

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
    first; `release` is like "5.2.0". `notes` say what the page contradicts itself in. A page
    without structures is that of a record that is no longer written.
    """

    place: str
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
    dsect, notes = _dsect(source, place)
    domain = _said(source, place, r"\bDomain\s*(\d{1,3})\s*-", "Domain N - ...")
    record = _said(source, place, r"\bRecord\s*(\d{1,5})\s*-", "Record N - ...")
    return Page(
        place=place,
        dsect=dsect.lower(),
        domain=int(domain),
        record=int(record),
        kinds=_kinds(source, place),
        title=_title(source.text),
        release=release or _release(source, place),
        structures=_contents(source, place),
        notes=notes,
    )


def page_error(problem: str, place: str, line: int, text: str, **parts: str) -> LayoutError:
    """An error with the line of the page and its text."""
    found = parts.pop("found", "") or f"{' '.join(text.split())[:90]}"
    return LayoutError(problem, place=f"{place}, line {line}", found=found, **parts)


def _dsect(source: PageText, place: str) -> tuple[str, tuple[str, ...]]:
    """The record's name, by the page's heading; and what the line DSECT NAME says otherwise."""
    line = _said(source, place, r"DSECT\s+NAME\s*-\s*([A-Z][A-Z0-9]*)", "DSECT NAME - ...")
    heading = re.search(
        r"\bMR([A-Z][A-Z0-9]*)\s+Control\s+Block\s+Contents\s+Offsets\b", source.text
    ) or re.search(r"\bMR([A-Z][A-Z0-9]*)\s+Prolog\b", source.text)
    if heading is None or heading[1] == line:
        return line, ()
    return heading[1], (f"DSECT NAME says {line}, the heading MR{heading[1]}: the heading counts",)


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


def _contents(source: PageText, place: str) -> tuple[Structure, ...]:
    """The structures of the contents table; none of a record that is no longer written."""
    text = source.text
    starts = [m.end() for m in re.finditer(r"Control\s+Block\s+Contents\s+Offsets\b", text)]
    if not starts and WITHDRAWN.search(text):
        return ()
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
    rows = list(_rows(source, (starts[-1], end.start() if end else len(text)), place))
    structures = tuple(_structures(rows, place))
    _check_names(source, structures, end.start() if end else len(text), place)
    return structures


def _rows(source: PageText, contents: tuple[int, int], place: str) -> Iterator[PageRow]:
    """The rows of the contents table, each with its bits."""
    text, (start, end) = source.text, contents
    found = list(ROW.finditer(text, start, end))
    if not found:
        line = source.line_at(start)
        raise page_error("the contents table has no rows", place, line, source.lines[0])
    _check_rows_read(source, contents, found, place)
    for match, behind in zip_longest(found, found[1:]):
        yield _row(source, match, behind.start() if behind else end, place)


def _check_rows_read(
    source: PageText, contents: tuple[int, int], found: Sequence[re.Match[str]], place: str
) -> None:
    """What begins as a row does is one: else its text would be another row's description."""
    taken = {match.start("dec") for match in found}
    for match in UNREAD.finditer(source.text, *contents):
        kind = "" if match["dec"] else "_"
        at = match.start(f"dec{kind}")
        if at in taken or int(match[f"dec{kind}"]) != int(match[f"hex{kind}"], 16):
            continue
        raise page_error(
            "a row cannot be read" if match["dec"] else f"the type {match['word_']} is not known",
            place,
            source.line_at(at),
            _line(source, at),
            expected="decimal offset, hexadecimal offset, type, length, name"
            if match["dec"]
            else ", ".join(WORDS),
        )
    for match in found:
        if source.text[match.end() : match.end() + 1] == "(":
            raise page_error(
                f"the dimension of {match['name']} cannot be read",
                place,
                source.line_at(match.start("dec")),
                _line(source, match.start("dec")),
                expected="a dimension like (4), (0:30) or (*)",
            )


def _row(source: PageText, match: re.Match[str], stop: int, place: str) -> PageRow:
    bits = list(BIT.finditer(source.text, match.end(), stop))
    for bit in BITS_UNREAD.finditer(source.text, match.end(), stop):
        at = bit.start("mask")
        if not any(read.start("mask") <= at < read.end("mask") for read in bits):
            raise page_error(
                "a row of bits cannot be read",
                place,
                source.line_at(at),
                _line(source, at),
                expected="a pattern like ..11 1111, and a name",
            )
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
        cut=match["cut"] or "",
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
    """Elements of `(4)`, `(0:255)`, `(1:4,1:3)`; 0 of `(*)`."""
    if dimension is None:
        return 1
    if "*" in dimension:
        return 0
    count = 1
    for extent in dimension.split(","):
        low, _, high = extent.partition(":")
        count *= max(0, int(high) - int(low) + 1 if high else int(low))
    if count < 1:
        raise page_error(f"the dimension ({dimension}) has no elements", place, line, text)
    return count


def _completed(row: PageRow, behind: Sequence[PageRow], end: int, place: str) -> PageRow:
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
    raise page_error(
        f"the dimension of {row.name or '*'} is cut off, and no row begins where it could end",
        place,
        row.line,
        row.text,
        remedy="complete the dimension from IBM's page",
    )


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
        within = rows[start + 1 : stop]
        inside = tuple(
            _aligned(_completed(row, within[n + 1 :], head.length, place) if row.cut else row)
            for n, row in enumerate(within)
        )
        if head.length > LONGEST_RECORD:
            raise page_error(
                f"no record has {head.length} bytes",
                place,
                head.line,
                head.text,
                expected=f"a length of at most {LONGEST_RECORD}",
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
