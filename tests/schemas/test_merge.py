"""Pages against layouts: what is confirmed, added, contradicted; nothing changes silently."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpmon.schemas.loader import COLUMNS, Row, Sources, build
from cpmon.schemas.pages.file_merge import MergeResult
from cpmon.schemas.pages.page_import import after, check, merge
from cpmon.schemas.registry import shipped
from tests.layouts import sources
from tests.pages import Draft, Line, draft, parse_page

SHIPPED = shipped()
RECORDS = sorted(row["dsect"] for row in SHIPPED.records if row["dsect"] in SHIPPED.fields)
SPELLINGS: tuple[Callable[[Draft], str], ...] = (
    lambda d: d.aligned(bars=True),
    lambda d: d.aligned(apart=True),
    lambda d: d.aligned(narrow=True),
    lambda d: d.collapsed(),
    lambda d: d.collapsed(50),
    lambda d: d.html(),
    lambda d: d.html(collapsed=True),
)
LAYOUT = """20,2,,unsigned,id,,key,,,
            22,1,,bits,flags,,flag,,,
            22,1,,bit,up,flags,flag,,,,80
            23,1,,reserved,*,,,,,
            24,4,,unsigned,many,,counter,count,,
            28,8,,timer,used,,counter,tod,,
            36,4,3,group,slot,,,,,
            48,8,,reserved,*,,,,,"""
SLOT = "0,4,,unsigned,slot,,counter,count,,"


def known() -> Sources:
    return sources(xmplrc=LAYOUT, xmplrc_slot=SLOT)


def merged(page: Draft, layouts: Sources, *, replace: bool = False) -> MergeResult:
    text = page.aligned()
    found = merge(parse_page(text.encode(), "page"), layouts, replace=replace)
    for contradiction in found.contradictions:
        place, _, number = str(contradiction.place).partition(", line ")
        line = text.split("\n")[int(number) - 1]
        assert (place, " ".join(line.split())) == ("page", contradiction.found)
    return found


def row(found: MergeResult, name: str, file: str = "xmplrc") -> Row:
    return next(r for r in found.files[file] if r["name"] == name)


def problems(found: MergeResult) -> list[str]:
    start = "page contradicts the layout: "
    return [c.problem.removeprefix(start).removeprefix("xmplrc: ") for c in found.contradictions]


def without(files: dict[str, list[Row]], *columns: str) -> dict[str, list[Row]]:
    return {
        f: [{k: v for k, v in r.items() if k not in columns} for r in rs] for f, rs in files.items()
    }


PAGES = ("sytcup", "prcdia", "iodszi", "mtrsys", "mtrecm", "useact")


@pytest.mark.slow
def test_a_page_of_a_shipped_layout_confirms_it_in_every_spelling(subtests: pytest.Subtests):
    """Some in all, the others in one of them by turns."""
    for number, dsect in enumerate(RECORDS):
        some = SPELLINGS if dsect in PAGES else [SPELLINGS[number % len(SPELLINGS)]]
        with subtests.test(dsect=dsect):
            check_confirmed(dsect, some)


def check_confirmed(dsect: str, spellings: Sequence[Callable[[Draft], str]]) -> None:
    page = draft(SHIPPED, dsect)
    first = merge(parse_page(page.aligned().encode(), dsect), SHIPPED)
    own = {name: SHIPPED.fields[name] for name in first.files}

    assert without(first.files, "provenance") == without(own, "provenance")
    assert not (first.contradictions or first.added or first.changed)
    for spell in spellings:
        again = merge(parse_page(spell(page).encode(), dsect), SHIPPED)
        assert (again.files, again.record, again.lengths) == (
            first.files,
            first.record,
            first.lengths,
        )
    check(first, SHIPPED)


@pytest.mark.parametrize("dsect", PAGES)
def test_what_a_page_has_becomes_published(dsect: str):
    found = merge(parse_page(draft(SHIPPED, dsect).aligned().encode(), dsect), SHIPPED)
    doubtful = [r for rows in found.files.values() for r in rows if r["provenance"] != "published"]
    assert [r for r in doubtful if not r["until"] and r["type"] != "reserved"] == []
    assert found.record["provenance"] == "published"


@pytest.mark.parametrize("dsect", ["sytrsp", "sytcup", "mtrsys", "iodvon", "stoasc"])
def test_a_page_alone_gives_the_same_bytes_the_same_names(dsect: str):
    kept = [r for r in SHIPPED.records if r["dsect"] == dsect]
    alone = merge(
        parse_page(draft(SHIPPED, dsect).aligned().encode(), dsect), Sources(kept, [], {})
    )
    want = [
        (r["offset"], r["length"], r["name"], r["of"], r["code"], r["meaning"])
        for r in SHIPPED.fields[dsect]
        if r["offset"].isdigit() and not r["until"]
    ]
    got = [
        (r["offset"], r["length"], r["name"], r["of"], r["code"], r["meaning"])
        for r in alone.files[dsect]
    ]
    assert [r for r in got if r[2] != "*"] == [
        (o, n, name, "" if of.startswith("iodvon") else of, code, said)
        for o, n, name, of, code, said in want
        if name != "*"
    ]


def test_fields_behind_the_end_are_added_with_the_release_of_the_page():
    page = draft(known(), "xmplrc", "5.4.0")
    page.lines[-1:] = [
        Line(56, "Unsigned", 4, "XMPLRC_NEWER", "New things"),
        Line(60, "Character", 6, "XMPLRC_PATHS", "", "(2)"),
        Line(60, "Unsigned", 2, "XMPLRC_PATHID"),
        Line(62, "Unsigned", 4, "XMPLRC_PATHQ"),
        Line(72, "Unsigned", 4, "*"),
    ]
    page.lines[0].length = 76
    found = merged(page, known())

    assert found.added == ["xmplrc.newer", "xmplrc.paths"]
    assert ",".join(row(found, "newer").values()) == (
        "56,4,,unsigned,newer,,,gauge,,5.4.0,,published,New things"
    )
    assert [row(found, "paths")[k] for k in ("offset", "length", "count", "since")] == [
        "60", "6", "2", "5.4.0",
    ]  # fmt: skip
    assert [r["name"] for r in found.files["xmplrc_paths"]] == ["pathid", "pathq"]
    assert found.files["xmplrc"][-1]["type"] == "reserved"
    assert found.lengths == [{"dsect": "xmplrc", "release": "5.4.0", "length": "76"}]
    assert "xmplrc.newer" in found.doubts
    check(found, known())


def test_a_field_behind_the_end_is_as_old_as_the_oldest_record_of_that_length():
    layouts = known()
    layouts.lengths.append({"dsect": "xmplrc", "release": "6.1.0", "length": "60"})
    page = draft(layouts, "xmplrc", "6.4.0")
    page.lines[-1:] = [Line(56, "Unsigned", 4, "XMPLRC_NEWER")]
    page.lines[0].length = 60
    assert row(merged(page, layouts), "newer")["since"] == "6.1.0"


def test_reserved_bytes_that_begin_in_the_known_record_may_end_behind_it():
    """Those of 7.3 begin where fields of expanded storage were, and end where 7.3's record does."""
    page = draft(SHIPPED, "useact", "7.3.0", 508)
    assert (page.lines[-2].name, page.lines[-2].offset) == ("*", 184)
    found = merged(page, SHIPPED)
    check(found, SHIPPED)
    useact = next(made for made in build(after(found, SHIPPED)) if made.name == "useact")
    assert useact.length == 508
    last = found.files["useact"][-1]
    assert (last["offset"], last["length"], last["type"]) == ("196", "312", "reserved")


def test_reserved_bytes_that_get_a_name_are_cut_out_of_the_reserved_row():
    page = draft(known(), "xmplrc", "5.4.0")
    page.lines.insert(-1, Line(50, "Unsigned", 2, "XMPLRC_LATER"))
    page.lines[-3].length = 2
    page.lines.insert(-1, Line(52, "Unsigned", 4, "*"))
    found = merged(page, known())
    places = ("offset", "length", "name", "since", "until")
    assert [tuple(r[at] for at in places) for r in found.files["xmplrc"][-4:]] == [
        ("48", "2", "*", "", ""),
        ("50", "2", "later", "5.4.0", ""),
        ("50", "2", "*", "", "5.3.0"),
        ("52", "4", "*", "", ""),
    ]
    check(found, known())
    # A record of 5.3.0 is long enough and has no value there; a page of 5.1.0 may know better.
    (layout,) = build(after(found, known()))
    assert layout.absent("5.3.0") == {"later"} and not layout.absent("7.3.0")
    layouts = after(found, known())
    page.release = "5.1.0"
    layouts.lengths.append({"dsect": "xmplrc", "release": "5.0.0", "length": "56"})
    found = merged(page, layouts)
    assert [(r["since"], r["until"]) for r in found.files["xmplrc"][-3:-1]] == [
        ("5.1.0", ""),
        ("", "5.0.0"),
    ]
    check(found, layouts)


def test_a_page_leaves_readings_that_bits_of_callevel_tell_apart():
    text = LAYOUT.replace(
        "24,4,,unsigned,many,,counter,count,,",
        """
        24,4,,unsigned,many,,counter,count,,7.3.0-callevel.5
        24,4,,unsigned,most,,gauge,count,7.3.0+callevel.5,""",
    )
    layouts = sources(xmplrc=text, xmplrc_slot=SLOT)
    page = draft(known(), "xmplrc", "7.3.0")
    found = merged(page, layouts)
    assert not found.contradictions
    assert row(found, "many")["until"] == "7.3.0-callevel.5"
    assert row(found, "most")["since"] == "7.3.0+callevel.5"
    page.line("many").name = "XMPLRC_FEWER"
    assert problems(merged(page, layouts)) == ["offset 24 is fewer"]


def test_an_older_page_that_names_reserved_bytes_ends_the_field():
    page = draft(known(), "xmplrc", "4.4.0")
    page.lines[-2:-1] = [Line(48, "Unsigned", 8, "XMPLRC_FORMER")]
    layouts = known()
    layouts.lengths += SHIPPED.lengths
    found = merged(page, layouts)
    assert [(r["name"], r["since"], r["until"]) for r in found.files["xmplrc"][-2:]] == [
        ("former", "", "4.4.0"),
        ("*", "5.1.0", ""),
    ]
    check(found, layouts)


def test_a_field_that_an_older_page_does_not_have_is_newer():
    page = draft(known(), "xmplrc", "4.4.0")
    page.lines[-2:] = []
    page.lines[0].length = 48
    page.line("used").name = "*"
    layouts = known()
    layouts.lengths += SHIPPED.lengths
    found = merged(page, layouts)
    assert not found.contradictions
    assert row(found, "used")["since"] == "5.1.0"
    assert found.changed == ["xmplrc.used: since 5.1.0, not in 4.4.0"]


def test_a_release_that_has_a_field_is_within_its_span():
    layouts = known()
    layouts.fields["xmplrc"][4]["since"] = "5.2.0"
    found = merged(draft(known(), "xmplrc", "4.4.0"), layouts)
    assert row(found, "many")["since"] == "4.4.0"
    assert found.changed == ["xmplrc.many: since 4.4.0, was 5.2.0"]


def test_a_reserved_row_that_tells_of_the_old_field_ends_it():
    page = draft(known(), "xmplrc", "6.1.0")
    page.line("used").text = "Previous field is no longer meaningful. (XMPLRC_USED)"
    page.line("used").name = "*"
    layouts = known()
    layouts.lengths += SHIPPED.lengths
    found = merged(page, layouts)
    assert not found.contradictions
    assert row(found, "used")["until"] == "5.4.0"


def test_other_words_of_a_reserved_row_do_not_end_a_field_whose_name_is_in_them():
    page = draft(known(), "xmplrc", "6.1.0")
    page.line("used").text = "Previous field is no longer misused."
    page.line("used").name = "*"
    layouts = known()
    layouts.lengths += SHIPPED.lengths
    assert problems(merged(page, layouts)) == ["used is missing"]


WITHDRAWN = """MRSTOXSG Prolog
 DSECT NAME - STOXSG
 DESCRIPTIVE NAME - Monitor Sample Record
                    Domain 3 - Storage
                    Record 9 - Expanded storage
 DESCRIPTION - This record is no longer generated.
This information is based on z/VM V7R3.0.
"""


def test_a_page_of_a_record_no_longer_written_ends_it_with_the_release_before():
    before = copy.deepcopy(SHIPPED)
    row = next(r for r in before.records if r["dsect"] == "stoxsg")
    page = parse_page(WITHDRAWN.encode(), "page")
    known = merge(page, before)
    assert (known.record["until"], known.confirmed, known.changed) == ("6.3.0", 1, [])
    row["until"] = ""
    found = merge(page, before)
    assert (found.record["until"], found.confirmed) == ("7.2.0", 0)
    assert found.changed == ["stoxsg: not written from 7.3.0 on"]
    assert found.files == {"stoxsg": before.fields["stoxsg"]}


def test_a_page_of_an_unknown_record_no_longer_written_gives_its_name():
    text = WITHDRAWN.replace("STOXSG", "STOZZZ").replace("Record 9 ", "Record 99 ")
    found = merge(parse_page(text.encode(), "page"), SHIPPED)
    check(found, SHIPPED)
    assert (found.record["record"], found.record["until"]) == ("99", "7.2.0")
    assert found.files == {"stozzz": []}


def test_a_second_view_of_a_known_field_is_added():
    page = draft(known(), "xmplrc")
    at = page.lines.index(page.line("used"))
    page.lines.insert(at + 1, Line(28, "Unsigned", 4, "XMPLRC_USEDHI"))
    found = merged(page, known())
    assert (row(found, "usedhi")["of"], found.contradictions) == ("used", [])
    check(found, known())


def test_new_bits_of_a_known_field_are_added():
    page = draft(known(), "xmplrc")
    page.line("flags").bits.append(("......11", "XMPLRC_MODE", "How it runs"))
    found = merged(page, known())
    assert [row(found, "mode")[k] for k in ("offset", "of", "code", "role")] == [
        "22", "flags", "03", "flag",
    ]  # fmt: skip
    check(found, known())


def test_codes_of_a_known_field_are_added_confirmed_and_contradicted():
    page = draft(known(), "xmplrc")
    page.line("many").bits = [("X'01'", "XMPLRC_ONE", "Just one"), ("X'10'", "XMPLRC_LOTS", "")]
    found = merged(page, known())
    assert [row(found, "lots")[k] for k in ("offset", "length", "type", "of", "code", "role")] == [
        "24", "4", "code", "many", "00000010", "flag",
    ]  # fmt: skip
    assert found.changed == ["xmplrc.many: one names a value", "xmplrc.many: lots names a value"]
    check(found, known())
    layouts = after(found, known())
    again = merged(page, layouts)
    assert (again.changed, again.contradictions, again.files) == ([], [], found.files)
    page.line("many").bits[0] = ("X'01'", "XMPLRC_UNO", "")
    assert problems(merged(page, layouts)) == ["value 00000001 of many is uno"]
    page.line("many").bits = []
    page.line("flags").bits = [("X'80'", "XMPLRC_UP", "A bit, says the layout")]
    assert problems(merged(page, layouts)) == [
        "bit up of flags is missing",
        "value 80 of flags is up",
    ]


def test_an_array_may_have_a_prefix_that_the_group_lacks_or_be_one_field():
    page = draft(known(), "xmplrc")
    page.line("slot").name = "XMPLRC_PLSSLOT"
    assert merged(page, known()).added == []
    page.line("plsslot").length, page.line("plsslot").dim = 12, ""
    found = merged(page, known())
    assert (found.added, found.contradictions) == ([], [])
    assert row(found, "slot")["provenance"] == "published"
    assert found.files["xmplrc_slot"][0]["provenance"] == "inferred"


def test_a_view_of_ours_need_not_be_on_the_page():
    layouts = known()
    layouts.fields["xmplrc"].insert(
        6, layouts.fields["xmplrc"][5] | {"name": "usedhi", "of": "used"}
    )
    found = merged(draft(known(), "xmplrc"), layouts)
    assert not found.contradictions
    assert row(found, "usedhi")["provenance"] == "inferred"


def test_named_bits_confirm_a_name_of_ours_for_a_field_that_the_page_does_not_name():
    page = draft(known(), "xmplrc")
    page.line("flags").name = "*"
    found = merged(page, known())
    assert (found.added, found.contradictions) == ([], [])
    assert row(found, "up")["provenance"] == "published"
    alone = merged(page, Sources(known().records, [], {}))
    assert (row(alone, "flags22")["type"], row(alone, "up")["of"]) == ("bits", "flags22")


@pytest.mark.parametrize(
    ("change", "problem", "expected"),
    [
        ({"name": "XMPLRC_FEW"}, "offset 24 is few", "many"),
        ({"word": "Signed"}, "many is Signed", "a type that unsigned can be"),
        ({"name": "*"}, "many is missing", "many at offset 24, length 4"),
    ],
)
def test_another_name_or_type_or_none_is_a_contradiction(
    change: dict[str, str], problem: str, expected: str
):
    page = draft(known(), "xmplrc", "5.4.0")
    vars(page.line("many")).update(change)
    found = merged(page, known())
    (only,) = found.contradictions
    assert (problems(found), only.expected) == ([problem], expected)
    assert "24 18" in str(only.found)


def test_another_length_is_a_contradiction():
    page = draft(known(), "xmplrc")
    page.line("many").length = 2
    page.lines.insert(page.lines.index(page.line("used")), Line(26, "Unsigned", 2, "XMPLRC_MORE"))
    assert problems(merged(page, known())) == ["many has length 2", "more overlaps many"]


def test_another_offset_is_a_contradiction():
    page = draft(known(), "xmplrc")
    page.lines[-2:-1] = [Line(48, "Unsigned", 4, "XMPLRC_MANY"), Line(52, "Unsigned", 4, "*")]
    page.line("many").name = "XMPLRC_OTHER"
    assert problems(merged(page, known())) == ["offset 24 is other", "many is at offset 48"]


def test_other_elements_of_an_array_are_a_contradiction():
    page = draft(known(), "xmplrc")
    page.line("slot").length, page.line("slot").dim = 2, "(6)"
    assert problems(merged(page, known())) == ["slot has length 12"]


def test_other_bits_are_contradictions():
    page = draft(known(), "xmplrc")
    page.line("flags").bits = [("1.......", "XMPLRC_DOWN", "")]
    assert problems(merged(page, known())) == [
        "bits of flags are down, mask 80",
        "bit up of flags is missing",
    ]


def test_another_record_number_or_kind_or_length_is_a_contradiction():
    layouts = known()
    layouts.lengths.append({"dsect": "xmplrc", "release": "5.3.0", "length": "52"})
    page = draft(layouts, "xmplrc")
    page.record, page.kind = 7, "event"
    assert problems(merged(page, layouts)) == [
        "the record of xmplrc is 7",
        "the kind of xmplrc is event",
        "the length of xmplrc in 5.3.0 is 56",
    ]


def test_a_later_page_whose_record_is_shorter_contradicts():
    page = draft(known(), "xmplrc", "5.4.0", 36)
    assert problems(merged(page, known())) == ["slot is missing"]


def test_nothing_of_the_known_layout_is_touched():
    layouts = known()
    before = copy.deepcopy(layouts)
    page = draft(layouts, "xmplrc", "5.4.0")
    page.line("many").name = "XMPLRC_OTHER"
    merged(page, layouts)
    assert layouts == before


def test_a_contradicting_page_replaces_the_layout_when_asked():
    page = draft(known(), "xmplrc")
    page.line("many").name = "XMPLRC_OTHER"
    found = merged(page, known(), replace=True)
    assert not found.contradictions
    assert [r["name"] for r in found.files["xmplrc"]][:4] == ["id", "flags", "up", "*"]
    assert row(found, "other")["offset"] == "24"
    assert row(found, "used")["type"] == "timer"
    check(found, known())


def test_replacing_keeps_groups_that_the_record_locates():
    page = draft(SHIPPED, "sytcup")
    found = merge(parse_page(page.aligned().encode(), "page"), SHIPPED, replace=True)
    assert [r["name"] for r in found.files["sytcup"] if r["type"] == "group"] == ["cpu"]
    assert "lcucpuid" in [r["name"] for r in found.files["sytcup_cpu"]]
    check(found, SHIPPED)


def test_replacing_keeps_types_roles_and_units_of_fields_that_stay(subtests: pytest.Subtests):
    for dsect in RECORDS:
        with subtests.test(dsect=dsect):
            page = draft(SHIPPED, dsect).aligned()
            found = merge(parse_page(page.encode(), dsect), SHIPPED, replace=True)
            for name, rows in found.files.items():
                before, after = _semantics(SHIPPED.fields.get(name, ())), _semantics(rows)
                both = before.keys() & after.keys()
                assert [after[field] for field in both] == [before[field] for field in both]


def _semantics(rows: Iterable[Row]) -> dict[tuple[str, str], tuple[str, str, str]]:
    """(type, role, unit) by name and length."""
    named = [r for r in rows if r["type"] != "reserved"]
    return {(r["name"], r["length"]): (r["type"], r["role"], r["unit"]) for r in named}


def test_an_unknown_part_gets_a_file_and_a_note():
    page = draft(known(), "xmplrc")
    page.tables.append(
        [Line(0, "Structure", 4, "XMPLRC_ITEM"), Line(0, "Unsigned", 4, "XMPLRC_ITID")]
    )
    found = merged(page, known())
    assert [r["name"] for r in found.files["xmplrc_item"]] == ["itid"]
    assert "name item, in xmplrc.csv" in found.notes[0]


def test_roles_of_a_new_record_follow_from_fields_of_the_same_name():
    layouts = known()
    layouts.records.append(layouts.records[0] | {"dsect": "other", "record": "99"})
    text = draft(known(), "xmplrc")
    text.dsect, text.record = "OTHER", 99
    for line in text.lines:
        line.name = line.name.replace("XMPLRC", "OTHER")
    found = merged(text, layouts)
    assert [row(found, n, "other")["role"] for n in ("id", "many", "used")] == [
        "key", "counter", "counter",
    ]  # fmt: skip
    assert row(found, "used", "other")["type"] == "timer"
    assert found.record["keys"] == "id"
    check(found, layouts)


def test_a_second_release_builds_on_the_first():
    page = draft(known(), "xmplrc", "5.4.0")
    page.lines[-1:] = [Line(56, "Unsigned", 4, "XMPLRC_NEWER")]
    page.lines[0].length = 60
    layouts = after(merged(page, known()), known())
    assert merged(page, layouts).added == []
    later = copy.deepcopy(page)
    later.release = "6.1.0"
    later.lines.append(Line(60, "Unsigned", 4, "XMPLRC_NEWEST"))
    later.lines[0].length = 64
    found = merged(later, layouts)
    assert found.added == ["xmplrc.newest"]
    assert (row(found, "newer")["since"], row(found, "newest")["since"]) == ("5.4.0", "6.1.0")


WORDS = st.sampled_from(
    [
        "count",
        "of",
        "the",
        "things",
        "4",
        "18",
        "24",
        "0",
        "Unsigned",
        "(see",
        "X'80')",
        "1...",
        "(4)",
    ]
)
TEXT = (
    st.lists(WORDS, max_size=14)
    .map(lambda words: [word for word, _ in groupby(words)])  # two of 1... are a row of bits
    .map(lambda words: " ".join(words).removeprefix("(4)").strip())
)


@st.composite
def random_rows(
    draw: st.DrawFn, start: int, *, arrays: bool
) -> tuple[list[Row], dict[str, list[Row]]]:
    """Rows of a table that a page can say in full, and the files of its groups."""
    rows: list[Row] = []
    files: dict[str, list[Row]] = {}
    at = start
    for number in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["unsigned", "signed", "char", "bits", "reserved", "group"]))
        if kind == "group" and not arrays:
            kind = "char"
        length = draw(
            st.sampled_from([1, 2, 4, 8] if kind in ("unsigned", "signed") else [1, 3, 4])
        )
        name = "*" if kind == "reserved" else f"f{start}x{number}"
        role = {"char": "text", "bits": "flag", "reserved": "", "group": ""}.get(kind, "gauge")
        # The description of an array without parts is both the group's and the value's.
        new = _row(at, length, kind, name, role, draw(TEXT))
        rows.append(new)
        if kind == "group":
            count = draw(st.integers(2, 4))
            entry, _ = draw(random_rows(0, arrays=False))
            for part in entry:
                part["name"] = part["name"].replace("f0x", f"p{at}x")
                part["of"] = part["of"].replace("f0x", f"p{at}x")
            stride = max(int(r["offset"]) + int(r["length"]) for r in entry)
            if len([r for r in entry if not r["of"]]) == 1:
                entry = [_row(0, stride, "char", name, "text", new["meaning"])]
            new |= {"length": str(stride), "count": str(count)}
            files[f"xmplrc_{name}"] = entry
            at += stride * count
            continue
        if kind == "bits":
            rows += [_bit(new, at, mask, f"{name}b{mask}") for mask in draw(MASKS)]
            rows += [_code(new, value, f"{name}_c{value}") for value in draw(VALUES)]
        if kind == "char" and length == 4 and draw(st.booleans()):
            rows += [
                _row(at + n, 2, "char", f"{name}v{n}", "text", "") | {"of": name} for n in (0, 2)
            ]
        at += length
    return rows, files


MASKS = st.sampled_from([[], [0x80], [0x80, 0x40], [0xC0, 0x3F], [0x01]])


VALUES = st.sampled_from([[], [0], [1, 0x10], [0xFF, 2]])


def _row(at: int, length: int, kind: str, name: str, role: str, meaning: str) -> Row:
    said = {
        "offset": str(at), "length": str(length), "type": kind, "name": name, "role": role,
        "provenance": "published", "meaning": meaning,
    }  # fmt: skip
    return {column: said.get(column, "") for column in COLUMNS}


def _bit(field: Row, at: int, mask: int, name: str) -> Row:
    return _row(at, 1, "bit", name, "flag", "") | {"of": field["name"], "code": f"{mask:02X}"}


def _code(field: Row, value: int, name: str) -> Row:
    size = int(field["length"])
    place = {"of": field["name"], "code": f"{value:0{2 * size}X}"}
    return _row(int(field["offset"]), size, "code", name, "flag", "") | place


@given(random_rows(20, arrays=True), st.sampled_from([lambda d: d.aligned(), *SPELLINGS]))
@settings(max_examples=150)
def test_any_layout_comes_back_from_its_page(
    table: tuple[list[Row], dict[str, list[Row]]], spell: Callable[[Draft], str]
):
    rows, files = table
    record = known().records[0]
    layouts = Sources([record], [], {"xmplrc": rows, **files})
    page = parse_page(spell(draft(layouts, "xmplrc")).encode(), "page")

    alone = merge(page, Sources([record], [], {}))
    assert alone.files == layouts.fields
    confirmed = merge(page, layouts)
    assert confirmed.files == layouts.fields
    assert not (confirmed.contradictions or confirmed.added or confirmed.changed)
