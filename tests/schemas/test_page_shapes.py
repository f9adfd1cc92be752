"""Pages as browsers, editors and narrow columns leave them: the same fields, or a named line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cpmon.core.errors import LayoutError
from cpmon.schemas.pages.items import Items, nest
from tests.pages import parse_page

PROLOG = """MRXMPLRC

MRXMPLRC Prolog
 DSECT NAME - XMPLRC
 DESCRIPTIVE NAME - Monitor Sample Record
                    Domain 12 - Invented
                    Record 31 - Things

MRXMPLRC Control Block Contents
Offsets
"""
END = "\nThis information is based on z/VM V7R3.0.\nLast updated some day.\n"
HEADING = "Dec  Hex  Type        Len  Name (Dim)             Description\n"
ROWS = (
    "   0    0  Structure    44  XMPLRC       Start",
    "  20   14  Unsigned      4  XMPLRC_READS  Reads of things",
    "  24   18  Bitstring     1  XMPLRC_FLAGS  Flags",
    "              1... ....     XMPLRC_BUSY   It is busy",
    "              ..11 1111     XMPLRC_KIND   Six bits",
    "  25   19  Unsigned      3  *             Reserved",
    "  28   1C  Unsigned      4  XMPLRC_SLOT(1:4)  One word a slot",
)
"""A table; the others below say the same in another form."""
TABLE = "\n".join(ROWS)


def html(*cells: str) -> str:
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def cells(row: str) -> list[str]:
    """Six cells of a row, those of a row of bits with two empty ones at its front."""
    words = row.split()
    if set(words[0]) <= set(".1") and "." in words[0]:
        return ["", "", " ".join(words[:2]), "", words[2], " ".join(words[3:])]
    return [*words[:5], " ".join(words[5:])]


HTML = "".join(html(*cells(row)) for row in ROWS)
SHAPES = {
    "aligned": HEADING + TABLE,
    "without a blank between columns that can do without": "\n".join(
        " ".join(row.split()) for row in ROWS
    ),
    "on one line": " ".join(f"{HEADING} {TABLE}".split()),
    "tabs": "\n".join("\t".join(cells(row)) for row in ROWS),
    "a cell a line": "\n".join("\n".join(cells(row)) for row in ROWS),
    "table of HTML": f"<html><body><table>{HTML}</table></body></html>",
    "entities and links": "<html><pre>"
    + TABLE.replace(" XMPLRC_READS ", " <a href='#r'>XMPLRC_&#8203;READS</a>&nbsp;")
    .replace("1C", "&#49;C")
    .replace("XMPLRC_SLOT", "<b>XMPLRC_<wbr>SLOT</b>")
    + "</pre></html>",
    "change bars": "\n".join(f"|{row}" if n % 2 else f"{row}  |" for n, row in enumerate(ROWS)),
    "other bars": "\n".join(f"¦{row}" if n % 2 else f"│ {row}" for n, row in enumerate(ROWS)),
    "pipes": "\n".join("| " + " | ".join(cells(row)) + " |" for row in ROWS),
    "small hexadecimal digits": TABLE.replace("1C", "1c"),
    "hexadecimal in brackets": TABLE.replace("  14 ", "  (14) ").replace("  1C ", "  ( 1C) "),
    "hexadecimal in quotes": TABLE.replace("  18 ", "  X'18' "),
    "hexadecimal with zeros": TABLE.replace("  14 ", "  0014 "),
    "hexadecimal in two pieces": TABLE.replace("  1C ", "  1 C ").replace("  14 ", "  1 4 "),
    "patterns without a blank": TABLE.replace("1... ....", "1.......").replace(
        "..11 1111", "..111111"
    ),
    "name of bits on the next line": TABLE.replace("1... ....  ", "1... ....\n       "),
    "dimension apart": TABLE.replace("(1:4)", " ( 1 : 4 ) "),
    "dimension on the next line": TABLE.replace("(1:4)", "\n               (1:4)"),
    "dimension cut off": TABLE.replace("(1:4)  One", "(1:One"),
    "name that fills its column": TABLE.replace("READS  Reads", "READS\n           Reads"),
    "description over lines": TABLE.replace("word a slot", "word\n\n       a\n   slot"),
    "heading repeated": TABLE.replace("\n  25", f"\n\nOffsets\n{HEADING}  25"),
    "page breaks": TABLE.replace("\n  28", "\n\f\n\n  28"),
    "zero width": TABLE.replace("XMPLRC_SLOT", "XMPLRC_\u200bSLOT").replace("Reads", "\u2060Reads"),
}


def page(table: str) -> Items:
    lines = (PROLOG + table + END).encode()
    found = parse_page(lines, "MRXMPLRC")
    return nest(found.structures[0], found.dsect, is_record=True)


def said(items: Items) -> list[object]:
    return [
        (i.offset, i.length, i.count, i.name, i.row.meaning, [(b.mask, b.name) for b in i.bits])
        for i in items.fields
    ]


def test_every_shape_says_the_same():
    expected = [
        (20, 4, 1, "reads", "Reads of things", []),
        (24, 1, 1, "flags", "Flags", [(0x80, "busy"), (0x3F, "kind")]),
        (25, 3, 1, "", "Reserved", []),
        (28, 4, 4, "slot", "One word a slot", []),
    ]
    for shape, table in SHAPES.items():
        assert said(page(table)) == expected, shape


def broken() -> Iterator[tuple[str, str]]:
    """A table in which something cannot be read, and what is said of it."""
    yield TABLE.replace("Bitstring", "BITSTRING"), "the type BITSTRING is not known"
    yield TABLE.replace("Unsigned      4  XMPLRC_READS", "Decimal  4  XMPLRC_READS"), "Decimal"
    yield TABLE.replace("1... ....", "'1... ....'B"), "a row of bits cannot be read"
    yield TABLE.replace("1... ....", "x... ...."), "a row of bits cannot be read"
    yield TABLE.replace("XMPLRC_READS", "xmplrc_reads"), "a row cannot be read"
    yield TABLE.replace("Unsigned      4  XMPLRC_R", "Unsigned  XMPLRC_R"), "a row cannot be read"
    yield TABLE.replace("  28   1C", "1,028 404"), "the page ends at offset 28"
    yield TABLE.replace("Unsigned      4  XMPLRC_READS", "4 XMPLRC_READS"), "bytes 20 to 23"
    yield TABLE.replace("(1:4)", "(1:3)"), "the page ends at offset 40"
    yield "".join(word for row in ROWS for word in row.split()), "has no rows"


@pytest.mark.parametrize(("table", "problem"), [*broken()])
def test_what_cannot_be_read_is_named_with_its_line(table: str, problem: str):
    with pytest.raises(LayoutError) as caught:
        page(table)
    assert problem in caught.value.problem
    assert "MRXMPLRC, line " in (caught.value.place or "")


def test_several_parts_may_each_have_their_heading():
    part = (
        "   0    0  Structure     8  XMPLRC_PART  A part\n   0    0  Unsigned      4  XMPLRC_ID\n"
    )
    part += "   4    4  Unsigned      4  XMPLRC_SIZE  Its size\n"
    found = parse_page((PROLOG + TABLE + f"\n\nOffsets\n{HEADING}" + part + END).encode(), "P")
    parts = [nest(s, found.dsect, is_record=not n) for n, s in enumerate(found.structures)]
    assert [(i.offset, i.name) for i in parts[1].fields] == [(0, "id"), (4, "size")]
    assert parts[0].fields[-1].row.meaning == "One word a slot"


def test_a_name_for_several_bits_is_no_field_and_is_told():
    table = TABLE.replace("\n  25", "\n   1.11 1111   XMPLRC_BOTH  Either\n  25")
    items = page(table)
    assert [bit.name for bit in items.fields[1].bits] == ["busy", "kind"]
    assert items.notes == ("XMPLRC_BOTH is a name for several bits",)


def test_the_release_may_be_written_in_words():
    for words in ("z/VM Version 7 Release 3", "z/VM V7R3", "z/VM V7 R3.0", "z/VM\nV7R3.0"):
        text = PROLOG + TABLE + f"\nThis information is based on {words}.\n"
        assert parse_page(text.encode(), "P").release == "7.3.0"
