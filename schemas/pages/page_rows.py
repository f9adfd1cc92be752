"""Parses the rows of the contents table of IBM's page of a record, and the bits below them.

A page can be HTML, text in aligned columns, or text with all white space collapsed, in which a
whole table can be on one line and descriptions continue over line breaks. So rows are recognized by
pattern, not by columns: decimal offset, hexadecimal offset, type, length, name. The text between
two rows is the description of the first one.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from .page_file import PageLine, PageText

WORDS = ("Structure", "Character", "Unsigned", "Signed", "Bitstring", "Address", "Fixed")
_SAME_WORDS = {"Bit string": "Bitstring", "Fixed": "Signed"}
"""Type names of some, mostly old, pages -> those of other pages."""
NAME = r"(?:[A-Z@#$][A-Z0-9@#$]*_[A-Za-z0-9@#$_]+|[A-Z@#$][A-Z0-9@#$_]*|\*)"
"""Names of some pages have lower-case letters after the record's name."""
EXTENT = r"\d+(?:\s*:\s*(?:\d+|\*))?"
HEX = r"(?:\(\s*|X')?(?P<hex>[0-9A-Fa-f]+)(?:\s*\)|')?"
ROW = re.compile(
    rf"(?<!\S)(?P<dec>\d+)\s+{HEX}\s+(?P<word>{'|'.join(WORDS)}|Bit string)\s+"
    rf"(?P<length>\d+)(?P<more>\+?)\s+(?P<name>{NAME})(?![^\s(])"
    rf"(?:(?:\s?|\s+(?=\(\d+:))\(\s*(?P<dim>\*|{EXTENT}(?:\s*,\s*{EXTENT})*)\s*\)"
    r"|\s?\((?P<cut>\d+:\d*)(?![\d:)]))?"
)
"""A dimension follows the name, with or without a blank; one with bounds can be on the next line.
On narrow pages it can be cut off: its bracket and last digits are missing, and the description
follows directly."""
HEADING = re.compile(
    r"\b(?:MR[A-Z0-9]+\s+Control\s+Block\s+Contents\s+)?(?:Offsets\s+)?"
    r"Dec\s+Hex\s+Type\s+Len(?:gth)?\s+Name(?:\s+\(Dim\))?(?:\s+Description)?"
)
NIBBLE = r"[.01]{4}"
BIT = re.compile(
    rf"(?<!\S)(?P<mask>{NIBBLE}\s+{NIBBLE}(?:\s+{NIBBLE}\s+{NIBBLE}){{0,31}}"
    rf"|(?=[01]*\.)[.01]{{8}}(?:\s*[.01]{{8}}){{0,31}}|[01]{{8}}(?=\s+\w+_))"
    rf"\s+(?P<name>{NAME})(?!\S)"
)
"""At most bits of 32 bytes, so that the search is not quadratic in the length of the text."""
VALUE = re.compile(
    r"(?<!\S)(?:(?P<equ>[A-Z@#$]\w*)\s+EQU\s+)?"
    r"(?:(?P<base>[XxBbCc])'(?P<digits>[^'\s]{1,32})'|'(?P<digits_>[0-9A-F]{1,32})'(?P<base_>[XB]))"
    r"(?(equ)(?!\S)|\s+(?P<name>[A-Z@#$][A-Z0-9@#$]*_[A-Za-z0-9@#$_]+)(?!\S))"
)
"""A value and its name: X'01' NAME, or NAME EQU X'01'."""
UNREAD = re.compile(
    rf"(?<!\S)(?P<dec>\d+)\s+{HEX}\s+(?P<word>{'|'.join(WORDS)}|Bit string)\s+"
    rf"|^[^\S\n]*+(?P<dec_>\d+)\s+(?P<hex_>[0-9A-F]+)\s+(?P<word_>[A-Z]\w+)\s+\d+\+?\s+{NAME}(?!\S)",
    re.MULTILINE,
)
"""The beginning of a row; with an unknown type only at the start of a line, since text can look
like it."""

BITS_UNREAD = re.compile(
    r"^[^\S\n]*+'?(?P<mask>(?=[01x ]*\.)[.01x]{4}\s*[.01x]{4})(?=[\s'.01x]|$)", re.MULTILINE
)
"""The beginning of a row of bits."""


@dataclass(frozen=True)
class BitRow:
    """Bits or a value of the field above; name empty if reserved.

    `pattern` is as printed, such as `..11 1111`; of a value in digits it has all bits: `00000001`.
    """

    pattern: str
    name: str
    meaning: str
    line: PageLine
    is_value: bool = False
    """Whether it is printed as a value, such as X'01'."""


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
    line: PageLine
    open: bool = False
    """Whether the length ends in +: something of variable length follows."""
    bits: tuple[BitRow, ...] = ()
    cut: str = ""
    """Remaining digits of a dimension that a narrow page cut off, with digits that follow it."""

    @property
    def size(self) -> int:
        """Bytes of all elements."""
        return self.length * self.count


SPLIT = re.compile(
    rf"(?<!\S)(?P<dec>\d+)(?P<gap>\s+)(?P<first>[0-9A-F]+) (?P<last>[0-9A-F]+)"
    rf"(?=\s+(?:{'|'.join(WORDS)})\s+\d)"
)


def close_offsets(source: PageText) -> PageText:
    """Join hexadecimal offsets that a narrow column had broken."""

    def closed(match: re.Match[str]) -> str:
        digits = match["first"] + match["last"]
        is_offset = int(digits, 16) == int(match["dec"])
        return f"{match['dec']}{match['gap']} {digits}" if is_offset else match[0]

    lines = (SPLIT.sub(closed, line) for line in source.text.split("\n"))
    return replace(source, text="\n".join(lines))


def read_rows(source: PageText, start: int, end: int) -> Iterator[PageRow]:
    """The rows of the contents table, which is the text from `start` to `end`, with their bits."""
    matches = list(ROW.finditer(source.text, start, end))
    if not matches:
        raise source.line_at(start).error("the contents table has no rows")
    _check_rows_read(source, start, end, matches)
    for match, behind in zip_longest(matches, matches[1:]):
        yield _row(source, match, behind.start() if behind else end)


def _check_rows_read(
    source: PageText, start: int, end: int, matches: Sequence[re.Match[str]]
) -> None:
    """Check that text that begins like a row was parsed as one, not as a description."""
    taken = {match.start("dec") for match in matches}
    for match in UNREAD.finditer(source.text, start, end):
        kind = "" if match["dec"] else "_"
        at = match.start(f"dec{kind}")
        if at in taken or int(match[f"dec{kind}"]) != int(match[f"hex{kind}"], 16):
            continue
        line = source.line_at(at)
        if match["dec"]:
            expected = "decimal offset, hexadecimal offset, type, length, name"
            raise line.error("a row cannot be read", expected=expected)
        raise line.error(f"the type {match['word_']} is not known", expected=", ".join(WORDS))
    for match in matches:
        if source.text[match.end() : match.end() + 1] == "(":
            raise source.line_at(match.start("dec")).error(
                f"the dimension of {match['name']} cannot be read",
                expected="a dimension like (4), (0:30) or (*)",
            )


def _row(source: PageText, match: re.Match[str], stop: int) -> PageRow:
    bits = list(BIT.finditer(source.text, match.end(), stop))
    starts = [bit.start("mask") for bit in bits]
    for bit in BITS_UNREAD.finditer(source.text, match.end(), stop):
        at = bit.start("mask")
        before = bisect_right(starts, at)
        if not before or at >= bits[before - 1].end("mask"):
            raise source.line_at(at).error(
                "a row of bits cannot be read", expected="a pattern like ..11 1111, and a name"
            )
    values = list(VALUE.finditer(source.text, match.end(), stop))
    below = sorted([*bits, *values], key=lambda found: found.start())
    described = source.text[match.end() : below[0].start() if below else stop]
    line = source.line_at(match.start("dec"))
    dec, hexadecimal = int(match["dec"]), int(match["hex"], 16)
    if dec != hexadecimal:
        raise line.error(
            f"offset {dec} is X'{dec:X}', not X'{match['hex']}'",
            code="record-page-offset-mismatch",
            remedy="compare the line with IBM's page; one of the two numbers was damaged",
        )
    return PageRow(
        offset=dec,
        length=int(match["length"]),
        word=_SAME_WORDS.get(match["word"], match["word"]),
        name=match["name"].replace("*", ""),
        count=_count(match["dim"], line),
        dimensioned=match["dim"] is not None,
        cut=match["cut"] or "",
        meaning=_sentence(described),
        line=line,
        open=bool(match["more"]),
        bits=tuple(_bits(source, below, stop)),
    )


def _bits(source: PageText, matches: list[re.Match[str]], stop: int) -> Iterator[BitRow]:
    for match, behind in zip_longest(matches, matches[1:]):
        line = source.line_at(match.start())
        is_value = match.re is VALUE
        name = match["equ"] or match["name"] if is_value else match["name"]
        yield BitRow(
            pattern=_value_bits(match, line) if is_value else "".join(match["mask"].split()),
            name=name.replace("*", ""),
            meaning=_sentence(source.text[match.end() : behind.start() if behind else stop]),
            line=line,
            is_value=is_value,
        )


def _value_bits(match: re.Match[str], line: PageLine) -> str:
    """The bits of X'0F', B'00001111', or C'E', which is EBCDIC."""
    base, digits = (match["base"] or match["base_"]).upper(), match["digits"] or match["digits_"]
    try:
        if base == "C":
            return "".join(f"{byte:08b}" for byte in digits.encode("cp037"))
        number = int(digits, 16 if base == "X" else 2)
    except ValueError:
        raise line.error("a value cannot be read", expected="X'0F', B'00001111' or C'E'") from None
    return f"{number:0{len(digits) * (4 if base == 'X' else 1)}b}"


def _sentence(text: str) -> str:
    """A description on one line, without headings that are repeated after it."""
    return " ".join(HEADING.sub(" ", text).split())


def _count(dimension: str | None, line: PageLine) -> int:
    """Elements of `(4)`, `(0:255)`, `(1:4,1:3)`; 0 of `(*)`."""
    if dimension is None:
        return 1
    if "*" in dimension:
        return 0
    bounds = [tuple(map(int, extent.split(":"))) for extent in dimension.split(",")]
    count = math.prod(max(0, b[-1] - b[0] + 1 if len(b) > 1 else b[0]) for b in bounds)
    if count < 1:
        raise line.error(f"the dimension ({dimension}) has no elements")
    return count
