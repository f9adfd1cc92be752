"""Record pages in the form of IBM's, written from layouts: aligned, collapsed, HTML."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cpmon.schemas.loader import Row, Sources
from cpmon.schemas.pages.page import Page, split_pages
from cpmon.schemas.pages.page import parse_page as parse_one
from cpmon.schemas.pages.page_file import PageFile, read_page
from cpmon.schemas.pages.page_import import PageImport
from cpmon.schemas.registry import reload, shipped, use
from cpmon.schemas.release import release_key

WORDS = {
    "unsigned": "Unsigned",
    "signed": "Signed",
    "char": "Character",
    "guest": "Character",
    "bits": "Bitstring",
    "packed": "Bitstring",
    "tod": "Character",
    "timer": "Character",
    "reserved": "Unsigned",
}
KINDS = {
    "sample": "Monitor Sample Record",
    "event": "Monitor Event Record",
    "config": "Monitor Sample Configuration Record",
}
HEADER = (
    (0, "Character", 20, "MRHDR", ""),
    (0, "Unsigned", 2, "MRHDRLEN", "length of the record, in bytes"),
    (2, "Unsigned", 2, "MRHDRZER", ""),
    (4, "Unsigned", 1, "MRHDRDM", ""),
    (5, "Unsigned", 1, "*", ""),
    (6, "Unsigned", 2, "MRHDRRC", ""),
    (8, "Character", 8, "MRHDRTOD", "Time stamp. See MRRECHDR\nfor what 1 2 3 mean."),
    (16, "Character", 4, "*", ""),
    (20, "Character", 0, "MRHDR_END", ""),
)  # fmt: skip


@dataclass
class Line:
    """A row of a contents table; `bits` are (pattern or X'01', name, description)."""

    offset: int
    word: str
    length: int
    name: str
    text: str = ""
    dim: str = ""
    bits: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass
class Draft:
    """A page before it is spelled. `tables` are structures: the record, then its parts."""

    dsect: str
    domain: int
    record: int
    kind: str
    title: str
    release: str
    tables: list[list[Line]]

    @property
    def lines(self) -> list[Line]:
        return self.tables[0]

    def line(self, name: str) -> Line:
        return next(
            line for t in self.tables for line in t if line.name.endswith(f"_{name.upper()}")
        )

    def aligned(self, *, bars: bool = False, narrow: bool = False, apart: bool = False) -> str:
        """In columns. `narrow`: dimensions lose their end; `apart`: a blank stands before them."""
        out = [
            *self._prolog(),
            "Offsets",
            "Dec  Hex  Type        Len  Name (Dim)             Description",
            " ",
        ]
        for line in (line for table in self.tables for line in table):
            name = f"{line.name}{' ' * (apart and bool(line.dim))}{line.dim}"
            head = f"{line.offset:4}{line.offset:5X}  {line.word:<10}{line.length:5}  {name:<22} "
            if narrow and ":" in line.dim:
                head = head.rstrip()[: -1 if len(name) % 2 else -2]
            out += _described(head, line.text, 51)
            for pattern, bit, said in line.bits:
                nibbles = _spelled(pattern)
                out += _described(f"{'':13}{nibbles:<12} {bit:<24} ", said, 51)
        text = [*out, "", *self._reference(), *self._end()]
        return (
            "\n".join(f"|{line}" if bars and n % 3 == 0 else line for n, line in enumerate(text))
            + "\n"
        )

    def collapsed(self, width: int = 0) -> str:
        """White space collapsed: the table on one line, or broken anywhere at a width."""
        words = ["Offsets Dec Hex Type Len Name (Dim) Description"]
        for line in (line for table in self.tables for line in table):
            said = (
                f"{line.offset}",
                f"{line.offset:X}",
                line.word,
                f"{line.length}",
                line.name + line.dim,
                line.text,
            )
            words.append(" ".join(" ".join(said).split()))
            for pattern, bit, text in line.bits:
                words.append(" ".join((_spelled(pattern), bit, *text.split())))
        prolog = "\n".join(" ".join(line.split()) for line in self._prolog())
        reference = " ".join(" ".join(self._reference()[1:]).split())
        table = (
            "\n".join(textwrap.wrap(" ".join(words), width, break_on_hyphens=False))
            if width
            else " ".join(words)
        )
        return "\n".join([prolog, table, self._reference()[0], reference, *self._end()]) + "\n"

    def html(self, *, collapsed: bool = False) -> str:
        """As a browser saves it: entities, links on names, the table in pre."""
        text = html.escape(self.collapsed() if collapsed else self.aligned(bars=True))
        for line in self.lines:
            if line.name != "*" and line.length:
                text = text.replace(
                    f" {line.name} ", f' <a href="#{line.name}">{line.name}</a> ', 1
                )
        body = text.replace("\n", "<br>\n") if collapsed else f"<pre>\n{text}</pre>"
        head = "<head><title>MR</title>\n<style>p {}</style></head>"
        return f"<!DOCTYPE html>\n<html>{head}\n<body>{body}</body></html>\n"

    def _prolog(self) -> list[str]:
        page = f"MR{self.dsect}"
        return [
            "Programming Interface Information:", "Words of a standing paragraph.", "", page, "",
            "Prolog", "Control Block Contents", "Cross Reference", "", f"{page} Prolog", "",
            f" DSECT NAME - {self.dsect}", " REFERENCED CONTROL BLOCKS -",
            "        MRRECHDR    Monitor Record Header", f" NAME - {page}",
            f" DESCRIPTIVE NAME - {KINDS[self.kind]}",
            f"                    Domain {self.domain}  - Invented Domain",
            f"                    Record {self.record}- {self.title}",
            " DESCRIPTION - What an invented record is for.", " NOTES:", "    - 1 1 of them.", "",
            f"{page} Control Block Contents", "",
        ]  # fmt: skip

    def _reference(self) -> list[str]:
        named = {line.name: line for table in self.tables for line in table if line.name != "*"}
        rows = [
            f"{line.name:<24}{line.offset:5X}{line.length:7}" for _, line in sorted(named.items())
        ]
        return [
            f"MR{self.dsect} Cross Reference",
            "",
            "Name    Hex Offset  Length  Hex Value",
            "",
            *rows,
        ]

    def _end(self) -> list[str]:
        version, release, level = self.release.split(".")
        return [
            "",
            f"This information is based on z/VM V{version}R{release}.{level}.",
            "Last updated.",
            "",
        ]


def _spelled(pattern: str) -> str:
    """A pattern in groups of four; X'01' as it is."""
    return pattern if "'" in pattern else " ".join(textwrap.wrap(pattern, 4))


def _described(head: str, text: str, column: int) -> Iterator[str]:
    first, *rest = textwrap.wrap(text, 29, break_on_hyphens=False) or [""]
    yield f"{head}{first}"
    yield from (" " * column + line for line in rest)


def draft(sources: Sources, dsect: str, release: str = "5.3.0", length: int = 0) -> Draft:
    """The page that IBM would have for a record of these layouts, in a release."""
    record = next(r for r in sources.records if r["dsect"] == dsect)
    upper = dsect.upper()
    lines, parts = _lines(sources, dsect, upper, release)
    end = length or max((line.offset + line.length * _count(line) for line in lines), default=20)
    lines = list(_filled(lines, end))
    lines = [line for line in lines if line.offset + line.length * _count(line) <= end]
    head = [
        Line(0, "Structure", end, upper, "Start of the record"),
        Line(0, "Character", 0, f"{upper}_MRHDR", "Header. See MRRECHDR for\ndetails."),
        *(Line(*row) for row in HEADER),
    ]
    return Draft(
        upper, int(record["domain"]), int(record["record"]), record["kind"], record["title"],
        release, [[*head, *lines, Line(end, "Character", 0, f"{upper}_END")], *parts],
    )  # fmt: skip


def _filled(lines: list[Line], end: int) -> Iterator[Line]:
    """With reserved bytes where other releases have a field."""
    reached = 20
    for line in lines:
        if line.offset > reached:
            yield _free(reached, line.offset)
        reached = max(reached, line.offset + line.length * _count(line))
        yield line
    if reached < end:
        yield _free(reached, end)


def _free(start: int, end: int) -> Line:
    """Reserved bytes: words are an array."""
    words, rest = divmod(end - start, 4)
    if rest or words < 3:
        return Line(start, "Character", end - start, "*")
    return Line(start, "Unsigned", 4, "*", dim=f"(0:{words - 1})")


def _count(line: Line) -> int:
    low, _, high = line.dim.strip("()").partition(":")
    return int(high) - int(low) + 1 if high else int(low or 1)


def _lines(
    sources: Sources, file: str, upper: str, release: str
) -> tuple[list[Line], list[list[Line]]]:
    rows = [r for r in sources.fields[file] if _is_in(r, release)]
    groups = {r["name"] for r in rows if r["type"] == "group"}
    lines: list[Line] = []
    parts: list[list[Line]] = []
    for row in rows:
        if row["type"] in ("bit", "code") or row["of"] in groups:
            continue
        if row["length"] == "rest" and row["type"] != "group":
            name = f"{upper}_{row['name'].upper()}"
            lines.append(Line(int(row["offset"]), "Character", 0, name, row["meaning"]))
            continue
        if row["type"] != "group":
            lines.append(_line(row, upper, rows, int(row["offset"])))
            continue
        entry = row["of"] or f"{file}_{row['name']}"
        if any(r["type"] == "part" for r in sources.fields[entry]):
            continue  # what a guest writes, which no page of CP describes
        inside, further = _lines(sources, entry, upper, release)
        labels = {r["offset"]: r for r in rows if r["of"] == row["name"] and r["type"] != "bit"}
        if not row["offset"].isdigit() or not row["length"].isdigit() or not row["count"].isdigit():
            size = max(line.offset + line.length * _count(line) for line in inside)
            head = Line(0, "Structure", size, f"{upper}_{row['name'].upper()}", row["meaning"])
            if not any(head.name == part[0].name for part in parts):
                parts.append([head, *inside])
            parts += further
        elif labels:
            lines += _labelled(row, labels, upper)
        else:
            lines += _array(row, inside, upper)
    return lines, parts


def _is_in(row: Row, release: str) -> bool:
    now = release_key(release)
    return (not row["since"] or release_key(row["since"]) <= now) and (
        not row["until"] or now <= release_key(row["until"])
    )


def _line(row: Row, upper: str, rows: Sequence[Row], offset: int) -> Line:
    name = "*" if row["type"] == "reserved" else f"{upper}_{row['name'].upper()}"
    bits = [
        (_pattern(bit, row), f"{upper}_{bit['name'].upper()}", bit["meaning"])
        for bit in rows
        if bit["type"] == "bit" and bit["of"] == row["name"]
    ]
    bits += [
        (f"X'{code['code']}'", f"{upper}_{code['name'].upper()}", code["meaning"])
        for code in rows
        if code["type"] == "code" and code["of"] == row["name"]
    ]
    return Line(offset, WORDS[row["type"]], int(row["length"]), name, row["meaning"], bits=bits)


def _pattern(bit: Row, row: Row) -> str:
    length, byte = int(row["length"]), int(bit["offset"]) - int(row["offset"])
    ones = f"{int(bit['code'], 16):08b}".replace("0", ".")
    return "." * 8 * byte + ones + "." * 8 * (length - byte - 1)


def _labelled(group: Row, labels: dict[str, Row], upper: str) -> Iterator[Line]:
    start, stride, count = (int(group[k]) for k in ("offset", "length", "count"))
    for offset in range(start, start + stride * count, stride):
        label = labels.get(str(offset))
        name = f"{upper}_{label['name'].upper()}" if label else "*"
        yield Line(offset, "Unsigned", stride, name, label["meaning"] if label else "")


def _array(group: Row, inside: list[Line], upper: str) -> Iterator[Line]:
    start, stride = int(group["offset"]), int(group["length"])
    plain = len(inside) == 1 and not inside[0].bits and inside[0].name != "*"
    word = inside[0].word if plain else "Character"
    count = int(group["count"])
    dim = (f"({count})", f"(1:{count})", f"(0:{count - 1})")[start // 4 % 3]
    yield Line(start, word, stride, f"{upper}_{group['name'].upper()}", group["meaning"], dim)
    if not plain:
        for line in inside:
            line.offset += start
            yield line


def parse_page(data: bytes, place: str, release: str = "") -> Page:
    """The one page in a file."""
    (source,) = split_pages(read_page(data, place))
    return parse_one(source, release)


def import_pages(folder: Path, *pages: Draft) -> None:
    """Imports pages into a folder of layouts, as `cpmon schema import` does, and uses it."""
    imported = PageImport(folder)
    for page in pages:
        (found,) = imported.add(PageFile(page.dsect, page.aligned().encode()))
        assert not found.outcome.is_refused, found.problem or found.merged
    for change in imported.changes():
        change.path.parent.mkdir(parents=True, exist_ok=True)
        change.path.write_text(change.after, encoding="utf-8")
    use(folder)
    reload()


def grown(dsect: str, release: str, *lines: Line) -> Draft:
    """The page of a shipped record of a later release, with fields behind its end."""
    page = draft(shipped(), dsect, release, lines[0].offset)
    for line in lines:
        line.name = line.name if line.name == "*" else f"{page.dsect}_{line.name}"
        page.lines.insert(-1, line)
        end = line.offset + line.length * _count(line)
        page.lines[0].length = page.lines[-1].offset = max(end, page.lines[0].length)
    return page
