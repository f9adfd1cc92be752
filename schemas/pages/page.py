"""IBM's page of a monitor record: its prolog, and the structures of its contents table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ...core.errors import LayoutError
from ..field import LONGEST_RECORD
from ..layout import Kind
from .page_file import PageLine, PageText
from .page_rows import NAME, BitRow, PageRow, close_offsets, read_rows

HEADING = re.compile(r"\bMR[A-Z0-9]+\s+Cross\s+Reference\b")
BEHIND = re.compile(r"(?i:This\s+information\s+is\s+based\s+on)")
LISTED = re.compile(
    rf"(?<!\S)(?P<name>{NAME})(?:\s?\([^)\n]{{0,40}}\))?\s+(?:X')?(?P<hex>[0-9A-Fa-f]+)'?"
    r"\s+(?P<length>\d+)\+?(?!\S)"
)


def _check_reference(source: PageText, rows: Sequence[PageRow]) -> Iterator[str]:
    """Compare the rows of a contents table with the page's cross reference; yields notes.

    Bits and codes are compared if the cross reference has any of them.
    """
    heading = HEADING.search(source.text)
    start = heading.end() if heading else len(source.text)
    behind = BEHIND.search(source.text, start)
    stop = behind.start() if behind else len(source.text)
    entries = list(LISTED.finditer(source.text, start, stop))
    if not entries:
        yield "the page has no cross reference: nothing tells whether a name or a row was lost"
        return
    by_name: dict[str, list[PageRow]] = defaultdict(list)
    for row in rows:
        by_name[row.name].append(row)
    inside = {bit.name: bit for row in rows for bit in row.bits if bit.name}
    for entry in entries:
        name, place = entry["name"], (int(entry["hex"], 16), int(entry["length"]))
        if name in by_name or name not in inside:
            _check_entry(name, place, source.line_at(entry.start()), by_name[name], rows)
    listed = {entry["name"] for entry in entries}
    named: Iterable[PageRow | BitRow] = (row for row in rows if row.name)
    has_bits = listed & (inside.keys() - by_name.keys())
    for missing in (*named, *(inside.values() if has_bits else ())):
        if missing.name not in listed:
            raise missing.line.error(
                f"{missing.name} is in the contents table, and not in the cross reference",
                code="record-page-field-missing-from-cross-reference",
                expected="the same names in both",
                remedy="compare the line with IBM's page, and save the whole page",
            )


def _check_entry(
    name: str,
    place: tuple[int, int],
    line: PageLine,
    same: Sequence[PageRow],
    rows: Sequence[PageRow],
) -> None:
    """Check an entry of the cross reference; only the offset for an array.

    Args:
        place: offset and length. same: the rows of that name. rows: all.
    """
    offset, length = place
    if any(r.offset == offset and (r.length == length or r.dimensioned) for r in same):
        return
    if same:
        row = same[0]
        expected = f"offset X'{row.offset:X}', length {row.length}, as on line {row.line.number}"
        raise line.error(f"the cross reference has another place for {name}", expected=expected)
    there = [row for row in rows if (row.offset, row.length) == place]
    instead = f"; line {there[-1].line.number} has {there[-1].name or '*'} there" if there else ""
    raise line.error(
        f"{name} is in the cross reference, and not in the contents table{instead}",
        code="record-page-field-missing-from-contents",
        expected=f"a row for {name} at offset X'{offset:X}', length {length}",
        remedy="compare the lines with IBM's page, and save the whole page",
    )


WITHDRAWN = (
    r"(?:^|[.:;]|(?<= )-+) ?"
    r"(?:(?:as of|since|with|in|from|(?:beginning|starting) (?:in|with)) z/VM[^,]{0,40}, )?"
    r"(?:(?:the|this) )?(?:(?:monitor|event|sample|configuration|and|(?:MR)?%s) )*record "
    r"(?:\(?(?:MR)?%s\)? )?(?:is|was|has been) no longer (?:\w+ ){0,3}?"
    r"(?:written|generated|produced|created|collected|reported|available|supported|used|valid)\b"
    r"(?! (?:when|if|unless|while|until|by|on|to|for(?! z/VM)))"
)
"""The sentence that a record is withdrawn; sentences about its fields do not match."""

PROLOG = re.compile(r"\bMR([A-Z][A-Z0-9]*)\s+Prolog\b")
SECTION = re.compile(
    r"\bMR([A-Z][A-Z0-9]*)\s+"
    r"(?:Control\s+Block\s+Contents|Storage\s+Layout|Cross\s+Reference|Constants)\b"
)
CONTENTS = re.compile(r"Control\s+Block\s+Contents\s+Offsets\b")
END = re.compile(
    r"(?i:based\s+on\s+z/VM\s+V(?:ersion)?\s*(\d+)\s*R(?:elease)?\s*(\d+)(?:\.(\d+))?)"
)
"""The parts of a page, in their order, and the sentence that ends it."""

KINDS = (
    ("sample configuration", (Kind.CONFIG,)),
    (("event and sample", "sample and event"), (Kind.EVENT, Kind.SAMPLE, Kind.CONFIG)),
    ("sample", (Kind.SAMPLE,)),
    ("event", (Kind.EVENT,)),
    ("configuration", (Kind.CONFIG,)),
)
"""DESCRIPTIVE NAME - Monitor ... Record; the first match counts."""


@dataclass(frozen=True)
class Structure:
    """One structure of a page, the record or a part of it, with the rows inside."""

    head: PageRow
    rows: tuple[PageRow, ...]


@dataclass(frozen=True)
class Page:
    """A parsed page.

    `kinds` are the possible kinds of the record, likeliest first; `release` is like "5.2.0".
    `structures` are the record itself, then the parts that its fields locate; empty for a withdrawn
    record. `notes` are about inconsistencies of the page.
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


def split_pages(source: PageText) -> Iterator[PageText]:
    """Split a file into pages; each begins after the end of the previous one or with its prolog."""
    prologs = [m.start() for m in re.finditer(r"\b(?i:DSECT\s+NAME)\s*-", source.text)]
    starts = [0]
    for before, prolog in pairwise(prologs):
        end = END.search(source.text, before, prolog)
        heading = PROLOG.search(source.text, before, prolog)
        starts.append(end.end() if end else heading.start() if heading else prolog)
    for start, stop in pairwise([*starts, len(source.text)]):
        yield source.part(start, stop)


def parse_page(source: PageText, release: str = "") -> Page:
    """Parse a page from `split_pages`.

    Args:
        release: such as "5.2.0", for a page that does not have it.

    Raises:
        LayoutError: it is no record page, incomplete or inconsistent; the error has the line.
    """
    if number := re.search(r"(?<!\d)\d{100}", source.text):
        expected = "numbers of a record: offsets, lengths, dimensions"
        raise source.line_at(number.start()).error("a number is too long", expected=expected)
    source = close_offsets(source)
    dsect, notes = _dsect(source)
    _check_sections(source, dsect)
    name = re.search(r"\b(?i:DESCRIPTIVE\s+NAME)\b", source.text)
    described = source.part(name.start() if name else 0, len(source.text))
    domain = _prolog_entry(described, r"\b(?i:Domain)\s*(\d{1,3})\s*-", "Domain N - ...")
    record = _prolog_entry(described, r"\b(?i:Record)\s*(\d{1,5})\s*-", "Record N - ...")
    kinds, title = _kinds(described), _title(described.text)
    release, structures = _release(source, release), _contents(source, dsect)
    if table := CONTENTS.search(source.text):
        rows = [row for part in structures for row in (part.head, *part.rows)]
        notes += list(_check_reference(source, rows))
        if any("Constants" in heading[0] for heading in SECTION.finditer(source.text)):
            notes.append("the page has a table of constants, which is not read")
        if _reports_withdrawal(source.text[: table.start()], dsect):
            notes.append("the page says that the record is no longer written, and has its table")
    return Page(
        dsect.lower(), int(domain), int(record), kinds, title, release, structures, tuple(notes)
    )


def _dsect(source: PageText) -> tuple[str, list[str]]:
    """The record's name from the headings, and a note if the line DSECT NAME differs."""
    line = _prolog_entry(source, r"(?i:DSECT\s+NAME)\s*-\s*([A-Z][A-Z0-9]*)", "DSECT NAME - ...")
    heading = SECTION.search(source.text) or PROLOG.search(source.text)
    if heading is None or heading[1] == line:
        return line, []
    return heading[1], [f"DSECT NAME says {line}, the heading MR{heading[1]}: the heading counts"]


def _check_sections(source: PageText, dsect: str) -> None:
    """Check that all parts are of one record; a copied page can follow half of another one."""
    for heading in (*PROLOG.finditer(source.text), *SECTION.finditer(source.text)):
        if heading[1] != dsect:
            raise source.line_at(heading.start()).error(
                f"the page of MR{dsect} has a part of the page of MR{heading[1]}",
                code="record-page-parts-mixed",
                expected=f"parts of MR{dsect} alone",
                remedy="save each page as a whole, from its first to its last line",
            )


def _prolog_entry(source: PageText, pattern: str, expected: str) -> str:
    match = re.search(pattern, source.text)
    if match is None:
        raise LayoutError(
            f"{source.place} is no page of a monitor record",
            code="record-page-unrecognized",
            place=f"{source.place}, line {source.numbers[0]}",
            expected=expected,
            found=source.text.strip().partition("\n")[0].rstrip()[:60] or "nothing",
            remedy="save the page of one record, as HTML or as text, from its first to last line",
        )
    return match[1]


def _kinds(source: PageText) -> tuple[Kind, ...]:
    # A limited number of words, so that the search is not quadratic in the length of the text.
    pattern = r"(?i:Monitor\s+((?:[A-Z]+\s+){1,8}?)Record\b(?!\s+Header))"
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
    begin = re.search(r"\b(?i:Record)\s*\d+\s*-\s*", text)
    behind = re.compile(
        r"\b(?:DESCRIPTION|NOTES?)\b|\b(?i:DESCRIPTION|NOTES?)\s*[-:]|\bMR\w+\s+Control\s+Block"
        r"|\n\s*\n"
    )
    end = behind.search(text, begin.end()) if begin else None
    return " ".join(text[begin.end() : end.start()].split()) if begin and end else ""


def _release(source: PageText, release: str) -> str:
    """The release on the page, else `release`."""
    match = END.search(source.text)
    if match is None and release:
        return release
    if match is None:
        raise LayoutError(
            "the page does not say its release",
            code="record-page-release-missing",
            place=source.place,
            expected="This information is based on z/VM V5R2.0.",
            remedy="give it with --release 5.2.0",
        )
    return ".".join(str(int(number)) for number in match.groups(default="0"))


def _reports_withdrawal(text: str, dsect: str) -> bool:
    """Whether a text has the sentence that the record is withdrawn."""
    sentence = WITHDRAWN.replace("%s", dsect)
    return bool(re.search(sentence, " ".join(text.split()), re.IGNORECASE))


def _contents(source: PageText, dsect: str) -> tuple[Structure, ...]:
    """The structures of the contents table; empty for a withdrawn record."""
    text = source.text
    start = CONTENTS.search(text)
    had_table = re.search(r"Control\s+Block\s+Contents|Cross\s+Reference", text)
    if not had_table and _reports_withdrawal(text, dsect):
        return ()
    if start is None:
        raise LayoutError(
            "the page has no contents table",
            code="record-page-contents-missing",
            place=f"{source.place}, line {source.numbers[0]}",
            expected="a heading Control Block Contents, then Offsets",
            remedy="copy or save the whole page",
        )
    heading = re.compile(
        r"\bMR[A-Z0-9]+\s+(?:Cross\s+Reference|Storage\s+Layout|Constants)\b"
        r"|(?i:This\s+information\s+is\s+based\s+on)"
    )
    behind = heading.search(text, start.end())
    end = behind.start() if behind else len(text)
    structures = tuple(_structures(list(read_rows(source, start.end(), end))))
    _check_records(structures, dsect)
    return structures


def _completed(row: PageRow, behind: Sequence[PageRow], end: int) -> PageRow:
    """Complete a dimension that was cut off, so that the row ends where a later row begins.

    Its first digits are printed; digits of the description can follow them.
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
        code="record-page-dimension-truncated",
        remedy="complete the dimension from IBM's page",
    )


def _structures(rows: list[PageRow]) -> Iterator[Structure]:
    """Group rows by structure; a Structure row begins one."""
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


def _check_records(structures: Sequence[Structure], dsect: str) -> None:
    """Check that the first structure is the record of the page, and that no other is a record."""
    head = structures[0].head
    if head.name not in (dsect, f"MR{dsect}"):
        raise head.line.error(
            f"the page of MR{dsect} has the structure {head.name}",
            code="record-page-structure-mismatch",
            expected=f"the structure {dsect}",
            remedy="save each page as a whole, from its first to its last line",
        )
    for row in (row for part in structures for row in part.rows):
        if row.name in (dsect, f"{dsect}_"):
            raise row.line.error(
                f"the name {row.name} is broken",
                code="record-page-field-name-broken",
                expected=f"{dsect}_ and a name behind it",
                remedy="compare the line with IBM's page",
            )
    for row in (row for part in structures[1:] for row in part.rows):
        if row.name == "MRHDR" or row.name.endswith("_MRHDR"):
            raise row.line.error(
                f"a second record begins in the contents table of MR{dsect}",
                code="record-page-second-record",
                expected="one header of a record",
                remedy="save each page as a whole, from its first to its last line",
            )
