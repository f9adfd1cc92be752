"""Pages of records: found in any spelling, and refused with the line where they make no sense."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpmon.core.errors import LayoutError
from cpmon.schemas import Kind
from cpmon.schemas.loader import Sources
from cpmon.schemas.pages.items import Items, nest
from cpmon.schemas.pages.page import Page
from cpmon.schemas.pages.page_import import check, merge
from tests.pages import Draft, Line, parse_page

FLAGS = [
    ("1.......", "XMPLRC_FLGA", "First condition holds"),
    (".1......", "*", ""),
    ("..111111", "XMPLRC_FLGN", "Count of things,\nsix bits"),
]


def example() -> Draft:
    """Every form that the contents table has, in one invented record."""
    lines = [
        Line(0, "Structure", 72, "XMPLRC", "Start of the record"),
        Line(0, "Character", 24, "XMPLRC_STATIC"),
        Line(0, "Character", 20, "MRHDR"),
        Line(16, "Character", 4, "*"),
        Line(20, "Character", 0, "MRHDR_END"),
        Line(20, "Unsigned", 2, "XMPLRC_CPUAD", "Address of the processor"),
        Line(22, "Bitstring", 1, "XMPLRC_FLAGS", "Flags", bits=FLAGS),
        Line(23, "Unsigned", 1, "*", "Reserved for use by others"),
        Line(24, "Unsigned", 4, "XMPLRC_COUNT", "Things since 24 18 hours\nand 1... of them (4)"),
        Line(28, "Unsigned", 4, "XMPLRC_SLOT", "One word per slot", "(0:2)"),
        Line(40, "Signed", 4, "*", "Previous field is no longer meaningful. (XMPLRC_OLD)"),
        Line(44, "Character", 8, "XMPLRC_BIG", "Wide count"),
        Line(44, "Unsigned", 4, "XMPLRC_BIGHI", "Left half of it"),
        Line(48, "Unsigned", 4, "XMPLRC_BIGLO", "Right half of it"),
        Line(52, "Character", 10, "XMPLRC_PATHS", "", "(2)"),
        Line(52, "Unsigned", 2, "XMPLRC_PATHID", "Its id"),
        Line(54, "Unsigned", 2, "XMPLRC_PATHQ", "Depths of its queues", "(3)"),
        Line(72, "Character", 0, "XMPLRC_END"),
    ]
    part = [
        Line(0, "Structure", 6, "XMPLRC_ITEM", "One of the items"),
        Line(0, "Character", 4, "XMPLRC_NAME"),
        Line(4, "Bitstring", 2, "XMPLRC_STATE", bits=[("........1.......", "XMPLRC_UP", "")]),
    ]  # fmt: skip
    return Draft("XMPLRC", 12, 31, "sample", "Things of an example", "5.2.0", [lines, part])


SPELLINGS: dict[str, Callable[[Draft], str]] = {
    "aligned": lambda d: d.aligned(),
    "with change bars": lambda d: d.aligned(bars=True),
    "on one line": lambda d: d.collapsed(),
    "broken anywhere": lambda d: d.collapsed(37),
    "html": lambda d: d.html(),
    "html on one line": lambda d: d.html(collapsed=True),
    "dos": lambda d: "\ufeff" + d.aligned().replace("\n", "\r\n"),
}
EVERY_SPELLING = pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)


def read(text: str) -> Page:
    return parse_page(text.encode(), "MRXMPLRC.HTML")


def items(page: Page, number: int = 0) -> Items:
    return nest(page.structures[number], page.dsect, is_record=number == 0)


def refused(text: str) -> LayoutError:
    with pytest.raises(LayoutError) as caught:
        everything(text)
    return caught.value


def everything(text: str) -> list[Items]:
    page = read(text)
    return [items(page, number) for number in range(len(page.structures))]


@EVERY_SPELLING
def test_the_prolog_says_record_kind_title_and_release(spell: Callable[[Draft], str]):
    page = read(spell(example()))
    assert (page.dsect, page.domain, page.record) == ("xmplrc", 12, 31)
    assert (page.kinds[0], page.title, page.release) == (
        Kind.SAMPLE,
        "Things of an example",
        "5.2.0",
    )


@EVERY_SPELLING
def test_fields_views_arrays_and_parts_are_found(spell: Callable[[Draft], str]):
    found = items(read(spell(example())))
    assert [(i.offset, i.length, i.count, i.name, i.of) for i in found.fields] == [
        (20, 2, 1, "cpuad", ""),
        (22, 1, 1, "flags", ""),
        (23, 1, 1, "", ""),
        (24, 4, 1, "count", ""),
        (28, 4, 3, "slot", ""),
        (40, 4, 1, "", ""),
        (44, 8, 1, "big", ""),
        (44, 4, 1, "bighi", "big"),
        (48, 4, 1, "biglo", "big"),
        (52, 10, 2, "paths", ""),
    ]
    paths = found.fields[-1]
    assert [(p.offset, p.length, p.name) for p in paths.parts] == [
        (0, 2, "pathid"),
        (2, 2, "pathq1"),
        (4, 2, "pathq2"),
        (6, 2, "pathq3"),
        (8, 2, ""),
    ]


@EVERY_SPELLING
def test_descriptions_keep_their_words_over_lines(spell: Callable[[Draft], str]):
    said = {i.name: i.row.meaning for i in items(read(spell(example()))).fields}
    assert said["cpuad"] == "Address of the processor"
    assert said["count"] == "Things since 24 18 hours and 1... of them (4)"
    assert said["big"] == "Wide count"


@EVERY_SPELLING
def test_bits_have_masks_and_reserved_ones_are_left_out(spell: Callable[[Draft], str]):
    page = read(spell(example()))
    (flags,) = (i for i in items(page).fields if i.name == "flags")
    assert [(b.byte, b.mask, b.name) for b in flags.bits] == [(0, 0x80, "flga"), (0, 0x3F, "flgn")]
    assert [b.row.meaning for b in flags.bits] == [
        "First condition holds",
        "Count of things, six bits",
    ]


@EVERY_SPELLING
def test_a_structure_that_starts_again_is_a_part_with_bits_in_its_second_byte(
    spell: Callable[[Draft], str],
):
    part = items(read(spell(example())), 1)
    assert part.name == "item"
    assert [(i.offset, i.length, i.name) for i in part.fields] == [(0, 4, "name"), (4, 2, "state")]
    assert [(b.byte, b.mask) for b in part.fields[1].bits] == [(1, 0x80)]


def test_patterns_of_eight_go_on_in_the_next_byte():
    draft = example()
    draft.tables[1][2].bits = [
        ("1.......", "XMPLRC_A", ""),
        ("......11", "XMPLRC_B", ""),
        ("1.......", "XMPLRC_C", ""),
    ]
    bits = items(read(draft.aligned()), 1).fields[1].bits
    assert [(b.byte, b.mask, b.name) for b in bits] == [
        (0, 0x80, "a"),
        (0, 0x03, "b"),
        (1, 0x80, "c"),
    ]


CODES: dict[str, tuple[list[str], list[str]]] = {
    "values": (["X'01'", "X'02'", "x'0F'"], ["01", "02", "0F"]),
    "values behind": (["'01'X", "'02'X", "'0F'X"], ["01", "02", "0F"]),
    "binary": (["B'00000001'", "B'10'", "b'1111'"], ["01", "02", "0F"]),
    "characters": (["C'A'", "C'1'", "c' '".replace(" ", "-")], ["C1", "F1", "60"]),
    "whole patterns": (["00000001", "00000010", "00001111"], ["01", "02", "0F"]),
    "whole patterns that fall": (["00001111", "00000010", "00000000"], ["0F", "02", "00"]),
    "dots for zeros": ([".......1", "......1.", "....1111"], ["01", "02", "0F"]),
    "some of the bits": (["00......", "01......", "11......"], ["00/C0", "40/C0", "C0/C0"]),
}


@pytest.mark.parametrize(("patterns", "digits"), CODES.values(), ids=CODES)
@EVERY_SPELLING
def test_values_below_a_field_are_codes_however_they_are_spelt(
    spell: Callable[[Draft], str], patterns: list[str], digits: list[str]
):
    draft = example()
    named = list(zip(patterns, "ABC", strict=True))
    draft.line("flags").bits = [(p, f"XMPLRC_{n}", f"Thing {n}") for p, n in named]
    (flags,) = (i for i in items(read(spell(draft))).fields if i.name == "flags")
    assert not flags.bits and flags.row.meaning == "Flags"
    assert [(c.digits, c.name, c.row.meaning) for c in flags.codes] == [
        (d, n.lower(), f"Thing {n}") for d, n in zip(digits, "ABC", strict=True)
    ]


@EVERY_SPELLING
def test_codes_of_a_longer_field_are_values_of_it_and_not_of_its_bytes(
    spell: Callable[[Draft], str],
):
    draft = example()
    draft.line("count").bits = [
        (".......1", "XMPLRC_LOW", ""),
        ("......1.", "XMPLRC_MID", ""),
        ("1.......", "XMPLRC_HIGH", ""),
    ]
    draft.line("cpuad").bits = [
        ("1.......", "XMPLRC_UP", ""),
        (".1......", "XMPLRC_DOWN", ""),
        ("X'0102'", "XMPLRC_BOTH", ""),
    ]
    found = items(read(spell(draft)))
    fields = {i.name: i for i in found.fields}
    assert not fields["count"].bits
    assert [(c.name, c.digits) for c in fields["count"].codes] == [
        ("low", "00000001"), ("mid", "00000002"), ("high", "00000080"),
    ]  # fmt: skip
    assert [(b.name, b.byte) for b in fields["cpuad"].bits] == [("up", 0), ("down", 0)]
    assert [(c.name, c.digits) for c in fields["cpuad"].codes] == [("both", "0102")]
    assert found.notes[:2] == (
        "the page does not say in which byte of XMPLRC_CPUAD these bits are; they are taken from "
        "the left: XMPLRC_UP, XMPLRC_DOWN",
        "patterns below XMPLRC_COUNT are read as its values: XMPLRC_LOW X'1', XMPLRC_MID X'2', "
        "XMPLRC_HIGH X'80'",
    )


def test_bits_may_stand_beside_codes():
    draft = example()
    draft.line("flags").bits = [
        (".0000001", "XMPLRC_ONE", ""),
        (".0000010", "XMPLRC_TWO", ""),
        ("1.......", "XMPLRC_UP", ""),
        ("X'FF'", "XMPLRC_ALL", ""),
    ]
    (flags,) = (i for i in items(read(draft.aligned())).fields if i.name == "flags")
    assert [(b.name, b.mask) for b in flags.bits] == [("up", 0x80)]
    assert [(c.name, c.digits) for c in flags.codes] == [
        ("one", "01/7F"), ("two", "02/7F"), ("all", "FF"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("patterns", "problem"),
    [
        (["X'0100'"], "a value of XMPLRC_FLAGS cannot be read"),
        (["B'12'"], "a value cannot be read"),
        (["X'G'"], "a value cannot be read"),
        (["C'\u20ac'"], "a value cannot be read"),
        (["0.......1......."], "a value of XMPLRC_FLAGS cannot be read"),
    ],
)
def test_a_value_that_a_field_cannot_have_is_refused(patterns: list[str], problem: str):
    draft = example()
    draft.line("flags").bits = [(p, f"XMPLRC_A{n}", "") for n, p in enumerate(patterns)]
    assert refused(draft.aligned()).problem == problem


@pytest.mark.parametrize(
    "said", ["X'01' is one, x'02' two", "1 XMPLRC_ONE, 2 XMPLRC_TWO", "0000 0001 is one"]
)
def test_values_that_stay_in_a_description_are_told(said: str):
    draft = example()
    draft.line("flags").text, draft.line("flags").bits = said, []
    found = items(read(draft.aligned()))
    assert said in [i.row.meaning for i in found.fields]
    assert "the description of XMPLRC_FLAGS tells of values; they stay in it" in found.notes


def test_lines_are_those_of_the_file_in_html_too():
    draft = example()
    for text in (draft.aligned(), draft.html()):
        page = read(text)
        row = next(r for r in page.structures[0].rows if r.name == "XMPLRC_COUNT")
        assert "XMPLRC_COUNT" in text.split("\n")[row.line.number - 1]


@pytest.mark.parametrize(
    ("dsect", "descriptive", "kind"),
    [
        ("A", "Monitor Event Record", Kind.EVENT),
        ("B", "Monitor Event and Sample Record", Kind.EVENT),
        ("C", "Monitor Sample Configuration Record", Kind.CONFIG),
    ],
)
def test_the_descriptive_name_says_the_kind(dsect: str, descriptive: str, kind: Kind):
    text = example().aligned().replace("Monitor Sample Record", descriptive)
    assert read(text.replace("DSECT NAME - XMPLRC", f"DSECT NAME - {dsect}")).kinds[0] is kind


def test_a_text_that_is_no_page_is_refused():
    error = refused("Monthly report\nnothing to see")
    assert "no page of a monitor record" in error.problem
    assert error.found == "Monthly report"


def test_a_page_without_release_needs_the_option():
    text = re.sub(r"This information.*", "", example().aligned())
    assert "--release" in (refused(text).remedy or "")
    assert parse_page(text.encode(), "x", "5.4.0").release == "5.4.0"
    assert parse_page(example().aligned().encode(), "x", "5.4.0").release == "5.2.0"


def test_a_wrong_hexadecimal_offset_is_refused_with_its_line():
    text = example().aligned().replace("  24   18  Unsigned", "  24   19  Unsigned")
    error = refused(text)
    line = next(n for n, t in enumerate(text.split("\n"), 1) if "  24   19" in t)
    assert error.place == f"MRXMPLRC.HTML, line {line}"
    assert "not X'19'" in error.problem


def test_a_page_with_a_gap_is_refused_with_the_line_behind_it():
    draft = example()
    draft.lines.remove(draft.line("count"))
    error = refused(draft.aligned())
    assert error.problem == "bytes 24 to 27 are in no row of the page"
    assert "XMPLRC_SLOT" in (error.found or "")


def test_a_page_that_was_cut_says_where_it_ends():
    text = example().aligned()
    error = refused(
        text[: text.index("  44   2C")] + "\nThis information is based on z/VM V5R2.0.\n"
    )
    assert error.problem == "the page ends at offset 44, its structure at 72"
    assert "whole page" in (error.remedy or "")


def test_fields_that_overlap_in_part_are_refused():
    draft = example()
    draft.line("bighi").length = 6
    draft.line("biglo").length = 4
    draft.line("count").length = 6
    error = refused(draft.aligned())
    assert "XMPLRC_SLOT overlaps XMPLRC_COUNT" in error.problem


def test_a_field_behind_the_structure_is_refused_unless_it_is_open():
    draft = example()
    draft.lines[0].length = 71
    assert "ends behind its structure" in refused(draft.aligned()).problem
    draft.lines[0].length = 72
    open_ = draft.aligned().replace("Structure    72 ", "Structure    72+")
    assert read(open_).structures[0].head.open
    assert items(read(open_)).head.length == 72


def test_an_unknown_type_is_named():
    error = refused(example().aligned().replace("24   18  Unsigned  ", "24   18  Floating  "))
    assert error.problem == "the type Floating is not known"
    assert "Unsigned" in (error.expected or "")


def test_a_name_that_is_on_the_page_twice_is_refused():
    draft = example()
    draft.line("count").name = "XMPLRC_CPUAD"
    assert refused(draft.aligned().split("MRXMPLRC Cross")[0] + "based on z/VM V5R2.0").problem == (
        "XMPLRC_CPUAD is on the page twice"
    )


def test_more_bits_than_the_field_has_are_refused():
    draft = example()
    draft.line("flags").bits = [("1.......", "XMPLRC_A", ""), ("1.......", "XMPLRC_B", "")]
    assert "more bits than XMPLRC_FLAGS has" in refused(draft.aligned()).problem


def test_a_cross_reference_that_says_otherwise_is_refused():
    text = example().aligned()
    at = text.index("Cross Reference\n\nName")
    changed = text[:at] + text[at:].replace(
        "XMPLRC_COUNT               18", "XMPLRC_COUNT               1C"
    )
    error = refused(changed)
    assert error.problem == "the cross reference has another place for XMPLRC_COUNT"


def reference_of(text: str) -> tuple[str, str]:
    """A page up to its cross reference, and the rest."""
    at = text.rindex("MRXMPLRC Cross")
    return text[:at], text[at:]


@EVERY_SPELLING
def test_a_name_that_a_copy_broke_is_refused_with_both(spell: Callable[[Draft], str]):
    """Without a cross reference the first half would be the field, and the rest its description."""
    for old, broken, others in (
        ("XMPLRC_COUNT", "XMPLRC_COU NT", "XMPLRC_COU"),
        ("XMPLRC_BIGLO", "XMPLRC_BIG LO", "XMPLRC_BIG"),
    ):
        table, reference = reference_of(spell(example()))
        error = refused(table.replace(old, broken) + reference)
        assert f"{old} is in the cross reference, and not in the contents table" in error.problem
        assert f"has {others} there" in error.problem
        assert refused((table + reference).replace(old, broken))


@pytest.mark.parametrize("name", ["BIGHI", "PATHID", "STATIC", "END", "SLOT", "STATE"])
@EVERY_SPELLING
def test_a_row_that_is_only_in_one_of_table_and_cross_reference_is_refused(
    spell: Callable[[Draft], str], name: str
):
    whole, less = example(), example()
    for table in less.tables:
        table[:] = [line for line in table if line.name != f"XMPLRC_{name}"]
    (table, reference), (short_table, short_reference) = (
        reference_of(spell(draft)) for draft in (whole, less)
    )
    assert f"XMPLRC_{name} is in the contents table" in refused(table + short_reference).problem
    if name not in ("SLOT", "STATE"):  # of others the bytes behind are in no row
        error = refused(short_table + reference)
        assert f"XMPLRC_{name} is in the cross reference" in error.problem


def test_bits_are_compared_where_the_cross_reference_has_them():
    table, reference = reference_of(example().aligned())
    named = "XMPLRC_FLGA 16 1 80\nXMPLRC_FLGN 16 1 3F\nXMPLRC_UP 4 2 0080\n"
    with_bits = reference.replace("XMPLRC_COUNT", f"{named}XMPLRC_COUNT", 1)
    assert read(table + with_bits).notes == ()
    lines = [line for line in table.split("\n") if "XMPLRC_FLGN" not in line and "six" not in line]
    error = refused("\n".join(lines) + with_bits)
    assert "XMPLRC_FLGN is in the cross reference" in error.problem
    error = refused(table + with_bits.replace("XMPLRC_UP 4 2 0080\n", ""))
    assert "XMPLRC_UP is in the contents table" in error.problem


def test_a_page_without_a_cross_reference_is_read_with_a_note():
    page = read(NARROW.format(stolen="(0:30)"))
    assert "no cross reference" in page.notes[0]
    broken = NARROW.format(stolen="(0:30)").replace("XMPLRC_CPUAD", "XMPLRC_ CPUAD")
    assert "the name XMPLRC_ is broken" in refused(broken).problem


def test_names_may_have_small_letters():
    text = example().aligned()
    found = everything(text.replace("XMPLRC_FLGN ", "XMPLRC_FlgOff ").replace("COUNT ", "CouNt "))
    names = [(i.name, [bit.name for bit in i.bits]) for i in found[0].fields]
    assert ("flags", ["flga", "flgoff"]) in names and ("count", []) in names


def test_a_name_of_length_0_at_the_end_is_the_rest_of_the_record():
    draft = example()
    draft.tables = [draft.lines]
    draft.lines.insert(-1, Line(72, "Character", 0, "XMPLRC_CALCMD", "Text of a command"))
    rest = items(read(draft.collapsed())).rest
    assert rest is not None
    assert (rest.offset, rest.name, rest.row.meaning) == (72, "calcmd", "Text of a command")


def test_names_that_tables_use_themselves_get_an_underscore():
    draft = example()
    draft.line("count").name = "XMPLRC_TOD"
    assert "tod_" in [i.name for i in items(read(draft.aligned())).fields]


NARROW = """MRXMPLRC Prolog
 DSECT NAME - XMPLRC
 DESCRIPTIVE NAME - Monitor Sample Record
                    Domain 12  - Invented
                    Record 31- Things
MRXMPLRC Control Block Contents
Offsets
Dec  Hex  Type       Len  Name (Dim)    Description
   0    0 Structure  184  XMPLRC        Start
  20   14 Unsigned     2  XMPLRC_CPUAD  Processor
  22   16 Unsigned     2  XMPLRC_STLNU{stolen}
  84   54 Unsigned     4  XMPLRC_READS(1:20) Twenty of them
 164   A4 Unsigned     1  *(0:3)
 168   A8 Unsigned     4  * (1:2)     Reserved
 176   B0 Unsigned     2  XMPLRC_GRID(1:2,0:1) Rows and columns

This information is based on z/VM V5R2.0.
"""


def narrow(stolen: str) -> Items:
    return items(read(NARROW.format(stolen=stolen)))


@pytest.mark.parametrize(
    ("stolen", "meaning"),
    [
        ("(0:30)", ""),
        (" (0:30) Array of counts", "Array of counts"),
        ("(0:30Array of counts", "Array of counts"),
        ("(0:3Array of counts", "Array of counts"),
        ("(0:Array of counts", "Array of counts"),
        ("(0:3031 counts", "31 counts"),
        ("(0:30\n                                        Array of counts", "Array of counts"),
    ],
)
def test_a_dimension_may_stand_behind_the_name_and_lose_its_end(stolen: str, meaning: str):
    found = narrow(stolen)
    assert [(i.offset, i.length, i.count, i.name) for i in found.fields] == [
        (20, 2, 1, "cpuad"),
        (22, 2, 31, "stlnu"),
        (84, 4, 20, "reads"),
        (164, 1, 4, ""),
        (168, 4, 2, ""),
        (176, 2, 4, "grid"),
    ]
    assert found.fields[1].row.meaning == meaning


@pytest.mark.parametrize(
    ("stolen", "problem"),
    [
        ("(0:40)", "overlaps"),
        ("(0:4Array", "cut off"),
        ("(0;30) Array", "dimension of XMPLRC_STLNU cannot be read"),
        ("\n  24   18 Unsigned  XMPLRC_LOST no length", "a row cannot be read"),
        ("\n  24   18 Unsigned     2  xmplrc_small in lower case", "a row cannot be read"),
    ],
)
def test_a_row_that_is_not_understood_is_named_with_its_line(stolen: str, problem: str):
    error = refused(NARROW.format(stolen=stolen))
    assert problem in error.problem
    assert "line 1" in error.place


def test_a_row_of_bits_that_is_not_understood_is_named():
    page = NARROW.format(stolen="(0:30)\n        1... ....   in lower case")
    assert refused(page).problem == "a row of bits cannot be read"


def test_the_heading_counts_where_the_line_dsect_name_says_otherwise():
    page = read(NARROW.format(stolen="(0:30)").replace("DSECT NAME - XMPLRC", "DSECT NAME - OTHER"))
    assert page.dsect == "xmplrc"
    assert page.notes[0] == "DSECT NAME says OTHER, the heading MRXMPLRC: the heading counts"


def test_a_page_without_a_table_is_that_of_a_record_that_is_no_longer_written():
    prolog, _, rest = NARROW.partition("MRXMPLRC Control")
    end = rest[rest.index("This information") :]
    said = " DESCRIPTION - As of z/VM V6R4.0, this record is no longer generated.\n\n"
    page = read(prolog + said + end)
    assert (page.dsect, page.is_withdrawn) == ("xmplrc", True)
    assert refused(prolog + end).problem == "the page has no contents table"


WITHDRAWN = (
    "As of z/VM V6R4.0, this record is no longer generated.",
    "Size of a store. This record is no longer\n valid due to the end of stores.",
    "Size of a store.  Record is no longer valid.",
    "NOTES: - The monitor record MRXMPLRC is no longer written as of 7.1",
)
LIVE = (
    "XMPLRC_OLD in this record is no longer used.",
    "The XMPLRC_OLD field of this record is no longer used.",
    "Things. The field XMPLRC_OLD is no longer used",
    "This sub-record is no longer used.",
    "This record is no longer generated when the user logs off.",
    "For guests without things this record is no longer written.",
)


@pytest.mark.parametrize("sentence", [*WITHDRAWN, *LIVE])
def test_only_a_sentence_about_the_record_withdraws_it(sentence: str):
    prolog, _, rest = NARROW.partition("MRXMPLRC Control")
    page = f"{prolog} DESCRIPTION - {sentence}\n\n{rest[rest.index('This information') :]}"
    lost = "the page has no contents table"
    if sentence in WITHDRAWN:
        assert read(page).is_withdrawn
    else:
        assert refused(page).problem == lost
    for had_a_table in ("Prolog\nControl Block Contents\n\n", "MRXMPLRC Cross Reference\n"):
        assert refused(had_a_table + page).problem == lost


def test_a_table_of_a_record_that_is_no_longer_written_is_read_with_a_note():
    said = " DESCRIPTION - This record is no longer generated.\nMRXMPLRC Control"
    page = read(NARROW.format(stolen="(0:30)").replace("MRXMPLRC Control", said))
    assert not page.is_withdrawn
    assert "no longer written" in "".join(page.notes)


def test_words_of_the_prolog_may_be_written_in_any_case():
    text = NARROW.format(stolen="(0:30)")
    for words in ("DSECT NAME", "DESCRIPTIVE NAME", "Monitor Sample Record", "Domain", "Record 31"):
        text = text.replace(words, words.lower())
    page = read(text)
    assert (page.dsect, page.domain, page.record, page.title) == ("xmplrc", 12, 31, "Things")


@pytest.mark.parametrize("dimension", ["(0)", "(3:1)"])
def test_a_dimension_without_elements_is_refused(dimension: str):
    draft = example()
    draft.line("slot").dim = dimension
    assert "has no elements" in refused(draft.aligned()).problem


def test_a_structure_longer_than_any_record_is_refused():
    draft = example()
    draft.lines[0].length = 99_999_999
    assert refused(draft.aligned()).problem == "no record has 99999999 bytes"


LONG = 100_000
PROLOG = "DSECT NAME - XMPLRC\nDomain 12 - a\nRecord 31 - b\nMonitor Sample Record\n"
ENDLESS = {
    "titles without an end": PROLOG + "Record 1 - a " * (LONG // 13),
    "a title of blanks": PROLOG.replace("- b", "- b" + " " * LONG),
    "blanks behind Monitor": PROLOG.replace("Monitor", f"Monitor{' ' * LONG}1 Monitor"),
    "words behind Monitor": PROLOG.replace("Monitor S", f"Monitor {'a ' * LONG}. Monitor S"),
    "Monitor again and again": PROLOG.replace("Monitor S", f"{'Monitor a ' * LONG}. Monitor S"),
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_prolog_is_searched_in_one_go(text: str):
    """Each of them would take minutes, were its length squared."""
    assert "does not say its release" in refused(text).problem


IN_TABLE = {
    "blanks": " " * LONG,
    "empty lines": "\n" * LONG,
    "lines of blanks": " \n" * LONG,
    "blanks and digits": f"\n{' ' * LONG}1\n",
    "rows of bits": "".join(f"\n .... ...1 A{n}" for n in range(LONG // 10)),
}


@pytest.mark.parametrize("text", IN_TABLE.values(), ids=IN_TABLE)
def test_rows_are_searched_in_one_go(text: str):
    """Each of them would take minutes, were its length squared."""
    page = example().aligned()
    at = page.index("  44   2C")
    long, short = (read(page[:at] + between + page[at:]) for between in (text, ""))
    assert [row.name for row in long.structures[0].rows] == [
        row.name for row in short.structures[0].rows
    ]


def test_bits_without_names_are_searched_in_one_go():
    page = example().aligned()
    at = page.index("  44   2C")
    assert "a row of bits" in refused(f"{page[:at]}\n{'.... ' * LONG}\n{page[at:]}").problem


@pytest.mark.parametrize("old", ["  24   18  ", "V5R2"])
def test_a_number_that_is_too_long_is_refused_with_its_line(old: str):
    text = example().aligned()
    assert old in text
    error = refused(text.replace(old, old[:-3] + "5" * 5000 + old[-3:]))
    assert error.problem == "a number is too long"


CHANGES = st.lists(
    st.tuples(
        st.floats(0, 1), st.sampled_from(["", "\n", " ", "9", "*", "(8)", "1... ....", "<b>"])
    ),
    min_size=1,
    max_size=6,
)


@given(st.sampled_from(list(SPELLINGS.values())), CHANGES, st.integers(0, 40))
@settings(max_examples=300)
def test_a_damaged_page_is_read_or_refused_and_nothing_else(
    spell: Callable[[Draft], str], changes: list[tuple[float, str]], lost: int
):
    text = spell(example())
    for where, new in changes:
        at = int(where * len(text))
        text = text[:at] + new + text[at + lost :]
    with contextlib.suppress(LayoutError):
        found = merge(parse_page(text.encode(), "page"), Sources())
        check(found, Sources())
