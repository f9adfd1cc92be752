"""Nests the rows of a page's structure: fields, second views of them, arrays, bits.

`rows_of` makes rows of layout files of them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..field import HEADER_LENGTH, REST, WIDTHS, Role, Type
from ..loader import COLUMNS, COMMON, Row
from ..unplaced import all_unplaced
from .page import Structure
from .page_rows import BitRow, PageRow


@dataclass(frozen=True)
class BitItem:
    """Named bits of one byte: `byte` from the start of their field, mask in that byte."""

    byte: int
    mask: int
    name: str
    row: BitRow


@dataclass(frozen=True)
class CodeItem:
    """A named value of a field: `digits` as a layout file has it, 1F or 40/C0."""

    digits: str
    name: str
    row: BitRow


def _named_bits(
    row: PageRow, prefixes: tuple[str, ...], notes: list[str]
) -> tuple[tuple[BitItem, ...], tuple[CodeItem, ...]]:
    """The named bits and values below a row, with notes about uncertain ones.

    A pattern with a zero is a value of its bits, and so are other patterns of the same bits.
    Ascending patterns are values, too, since masks are listed from the left.
    """
    patterns = [bit.pattern for bit in row.bits if not bit.is_value]
    masks = {_mask(pattern) for pattern in patterns if "0" in pattern}
    numbers = [_number(pattern) for pattern in patterns if "0" not in pattern]
    rises = len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))
    bits, values = list[BitRow](), list[BitRow]()
    for bit in row.bits:
        is_value = rises or bit.is_value or _mask(bit.pattern) in masks
        (values if is_value else bits).append(bit)
    named = tuple(_bits(row, bits, prefixes, notes)), tuple(_codes(row, values, prefixes))
    read = [f"{v.name} X'{_number(v.pattern):X}'" for v in values if v.name and not v.is_value]
    if read:
        notes.append(f"patterns below {row.name or '*'} are read as its values: {', '.join(read)}")
    names = "|".join(map(re.escape, prefixes))
    value = rf"[XxBb]'[^']*'|'[0-9A-F]+'[XB]|(?<!\S)[01]{{4}} ?[01]{{4}}(?!\S)|\b\d+ (?:{names})\w"
    if re.search(value, row.meaning):
        notes.append(f"the description of {row.name or '*'} tells of values; they stay in it")
    return named


def _stripped(name: str, prefixes: tuple[str, ...]) -> str:
    """IBM's name in lower case without the DSECT prefix."""
    for prefix in prefixes:
        if name.startswith(prefix) and len(name) > len(prefix):
            name = name.removeprefix(prefix)
            break
    plain = name.lower().replace("@", "a").replace("#", "n").replace("$", "s")
    return f"{plain}_" if plain in COMMON else plain


def _number(pattern: str) -> int:
    return int(pattern.replace(".", "0"), 2)


def _mask(pattern: str) -> str:
    return pattern.replace("0", "1")


def _codes(row: PageRow, values: Sequence[BitRow], prefixes: tuple[str, ...]) -> Iterator[CodeItem]:
    digits = 2 * row.length
    is_partial = any("0" in bit.pattern and "." in bit.pattern for bit in values)
    for bit in values:
        number, is_masked = _number(bit.pattern), is_partial and "." in bit.pattern
        if number >> 8 * row.length or (is_masked and len(bit.pattern) != 8 * row.length):
            raise bit.line.error(
                f"a value of {row.name or '*'} cannot be read",
                expected=f"one of {8 * row.length} bits, as line {row.line.number} says",
            )
        if bit.name:
            mask = f"/{_number(_mask(bit.pattern)):0{digits}X}" if is_masked else ""
            yield CodeItem(f"{number:0{digits}X}{mask}", _stripped(bit.name, prefixes), bit)


def _bits(
    row: PageRow, bits: Sequence[BitRow], prefixes: tuple[str, ...], notes: list[str]
) -> Iterator[BitItem]:
    """Named bits; patterns of eight follow each other from byte to byte of a longer field.

    A name for several bits that have names, or for bits of two bytes, gets a note.
    """
    items, byte, lowest = list[BitItem](), 0, 256
    for bit in bits:
        used = [n for n, mark in enumerate(bit.pattern) if mark == "1"]
        if len(bit.pattern) % 8 or not used:
            raise bit.line.error("a bit pattern cannot be read")
        mask = sum(0x80 >> n % 8 for n in used if n // 8 == used[0] // 8)
        parts = [item.mask for item in items if item.byte == byte and not item.mask & ~mask]
        if len(bit.pattern) == 8 and byte + 1 == row.length and len(parts) > 1:
            notes.append(f"{bit.name or '*'} is a name for several bits")
            continue
        if len(bit.pattern) == 8:
            highest = 0x80 >> used[0]
            byte, lowest = byte + (highest >= lowest), 0x80 >> used[-1]
            at = byte
        else:
            at = used[0] // 8
        if at >= row.length:
            raise bit.line.error(
                f"there are more bits than {row.name} has",
                expected=f"{8 * row.length} bits at most, as line {row.line.number} says",
            )
        if bit.name and used[0] // 8 == used[-1] // 8:
            items.append(BitItem(at, mask, _stripped(bit.name, prefixes), bit))
        elif bit.name:
            notes.append(f"{bit.name} is a name for bits of two bytes")
    unsure = [item.row.name for item in items if len(item.row.pattern) < 8 * row.length]
    if unsure:
        notes.append(
            f"the page does not say in which byte of {row.name or '*'} these bits are; they are "
            f"taken from the left: {', '.join(unsure)}"
        )
    yield from items


@dataclass(frozen=True)
class Item:
    """A field of a structure. Arrays have `count` elements of `length` bytes.

    `of` names the field that this one is a second view of. `parts` are the fields of an array's
    first element, with offsets from its start; none where the elements are plain values.
    """

    offset: int
    length: int
    count: int
    name: str
    row: PageRow
    of: str = ""
    parts: tuple[Item, ...] = ()
    bits: tuple[BitItem, ...] = ()
    codes: tuple[CodeItem, ...] = ()

    @property
    def end(self) -> int:
        """Offset behind the last element."""
        return self.offset + self.length * self.count

    @property
    def is_array(self) -> bool:
        """Whether it is a table of its own."""
        return self.count > 1

    @property
    def is_reserved(self) -> bool:
        """Whether it has no name."""
        return not self.name


@dataclass(frozen=True)
class Items:
    """The items of a structure, by offset; `notes` are about rows that a layout cannot have."""

    name: str
    fields: tuple[Item, ...]
    notes: tuple[str, ...]
    head: PageRow
    rest: Item | None = None
    """Bytes without a length of their own, up to the end of a record."""

    @property
    def own(self) -> Iterator[Item]:
        """The fields that are no second view: they cover every byte once."""
        return (item for item in self.fields if not item.of)


def nest(structure: Structure, dsect: str, *, is_record: bool) -> Items:
    """The fields of a structure.

    Names of length 0, and names of parts that begin before the record's own bytes, are skipped. A
    field without a name that has named bits gets a name such as `flags32`. A name for several
    fields becomes the field, and they become views of it; it is skipped if one is an array.

    Raises:
        LayoutError: rows overlap without one being a part of the other, or leave bytes out.
    """
    start = HEADER_LENGTH if is_record else 0
    end, notes = structure.head.length, []
    kept: list[PageRow] = []
    rest: PageRow | None = None
    for row in structure.rows:
        if row.offset + row.size > end and (row.offset < end or not structure.head.open):
            raise row.line.error(
                f"{row.name or '*'} ends behind its structure",
                expected=f"an end of at most {end}, as line {structure.head.line.number} says",
            )
        if not row.size and row.offset == end and row.name and not row.name.endswith("END"):
            rest = row
        elif row.dimensioned and row.count == 0 and row.length:
            notes.append(f"{row.name or '*'} repeats to the end of the record; it stays in `tail`")
        elif row.size and row.offset >= start and row.offset < end:
            kept.append(row)
    own = structure.head.name
    prefixes = (f"{dsect.upper()}_", *([] if own.startswith(dsect.upper()) else [f"{own}_"]))
    fields = list(_flat(_nested(kept, prefixes, notes), notes))
    _check_cover([f for f in fields if not f.of], start, end, structure)
    earlier: dict[str, PageRow] = {}
    for item in fields:
        if item.name and item.name in earlier:
            raise item.row.line.error(
                f"{item.row.name} is on the page twice",
                expected=f"other names than on line {earlier[item.name].line.number}",
            )
        earlier[item.name] = item.row
    name = _stripped(structure.head.name, prefixes)
    tail = Item(end, 0, 1, _stripped(rest.name, prefixes), rest) if rest and is_record else None
    return Items(name, tuple(fields), tuple(notes), structure.head, tail)


@dataclass
class _Node:
    """A field with those inside its bytes."""

    item: Item
    inside: list[_Node] = field(default_factory=list)

    @property
    def has_array(self) -> bool:
        return any(node.item.is_array or node.has_array for node in self.inside)


def _nested(rows: Sequence[PageRow], prefixes: tuple[str, ...], notes: list[str]) -> list[_Node]:
    """The rows as a forest; a row that begins inside another one must end inside it."""
    top: list[_Node] = []
    open_: list[_Node] = []
    for row in sorted(rows, key=lambda r: (r.offset, -r.size)):
        bits, codes = _named_bits(row, prefixes, notes)
        name = _stripped(row.name, prefixes) or (f"flags{row.offset}" if bits or codes else "")
        item = Item(row.offset, row.length, row.count, name, row, bits=bits, codes=codes)
        while open_ and open_[-1].item.end <= row.offset:
            open_.pop()
        if open_:
            around = open_[-1].item.row
            limit = around.offset + around.length
            if item.end > limit:
                raise row.line.error(
                    f"{row.name or '*'} overlaps {around.name or '*'} without being a part",
                    expected=f"an end of at most {limit}, as line {around.line.number} says",
                )
        node = _Node(item)
        (open_[-1].inside if open_ else top).append(node)
        open_.append(node)
    return top


def _flat(nodes: Iterable[_Node], notes: list[str]) -> Iterator[Item]:
    """The fields of a forest, each followed by its views."""
    for node in nodes:
        item = node.item
        if item.is_array:
            inner = _flat(node.inside, notes)
            parts = [part for each in inner for part in _numbered(each, item.offset)]
            covered = _with_gaps(parts, item, 0, item.length) if parts else ()
            yield replace(item, parts=tuple(covered))
        elif node.inside and (not item.name or node.has_array):
            if item.name:
                notes.append(f"{item.row.name} is a name for several fields")
            yield from _with_gaps(_flat(node.inside, notes), item, item.offset, item.end)
        else:
            yield item
            yield from (replace(view, of=item.name) for view in _views(node))


def _with_gaps(items: Iterable[Item], around: Item, start: int, end: int) -> Iterator[Item]:
    """The fields inside another one, from `start` to `end`, with reserved bytes between them."""
    row = replace(around.row, meaning="", bits=())
    for item in items:
        if not item.of:
            if item.offset > start:
                yield Item(start, item.offset - start, 1, "", row)
            start = item.end
        yield item
    if start < end:
        yield Item(start, end - start, 1, "", row)


def _views(node: _Node) -> Iterator[Item]:
    for inner in node.inside:
        if inner.item.name:
            yield inner.item
        yield from _views(inner)


def _numbered(item: Item, start: int) -> Iterator[Item]:
    """A part with its offset in the element; an inner array becomes numbered fields."""
    at = item.offset - start
    if not item.is_array:
        yield replace(item, offset=at)
        return
    for number in range(item.count):
        name = f"{item.name}{number + 1}" if item.name else ""
        yield replace(item, offset=at + number * item.length, count=1, name=name, parts=())


def _check_cover(fields: Sequence[Item], start: int, end: int, structure: Structure) -> None:
    """Check that every byte is in one field, which fails for cut or damaged pages."""
    reached, last = start, structure.head
    for item in fields:
        if item.offset > reached:
            raise item.row.line.error(
                f"bytes {reached} to {item.offset - 1} are in no row of the page",
                expected=f"a row at offset {reached}, behind line {last.line.number}",
            )
        reached, last = item.end, item.row
    if reached < end:
        raise last.line.error(
            f"the page ends at offset {reached}, its structure at {end}",
            code="record-page-truncated",
            expected=f"rows up to offset {end}, as line {structure.head.line.number} says",
            remedy="copy or save the whole page",
        )


FITTING: Mapping[str, frozenset[str]] = {
    "Character": frozenset(Type) - {Type.GROUP, Type.BIT, Type.CODE},
    "Bitstring": frozenset({"bits", "unsigned", "packed", "tod", "timer", "guest"}),
    "Unsigned": frozenset({"unsigned", "bits", "packed", "tod", "timer"}),
    "Signed": frozenset({"signed", "timer", "bits"}),
    "Address": frozenset({"unsigned", "bits"}),
}
"""Type on a page -> types of a layout that it does not contradict. IBM writes clocks and numbers of
eight bytes as Character or Bitstring, so only signs, and text for numbers, are contradictions."""

CLOCK = re.compile(r"\btod\b|time[- ]of[- ]day", re.IGNORECASE)
_ROLES = {"char": "text", "guest": "text", "packed": "text", "bits": "flag", "tod": "time"}
"""Roles that follow from the type. A number could be many things; a level
does the least harm."""


MOST = 0.75
"""Share of layouts with the same properties of a field that another record then takes over."""


_TIME_SETS = re.compile("_(mt1|pro)$")
"""Ends of the names of the second and third set of processor times, each like the first."""


class Habits:
    """Properties of fields by name and length in the known layouts."""

    def __init__(self, files: Mapping[str, Sequence[Row]]) -> None:
        self._files = files
        self._rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for rows in files.values():
            for row in rows:
                self._rows[row["name"], row["length"]].append(row)

    def of(self, table: str, item: Item, *, keys: bool) -> tuple[str, str, str] | None:
        """(type, role, unit) of the field in this table, else in most layouts.

        None if they differ. `keys`: whether keys of other records count.
        """
        fitting = FITTING.get(item.row.word, frozenset()) - {Type.RESERVED}
        for row in self._files.get(table, ()):
            is_same = (row["name"], row["length"]) == (item.name, str(item.length))
            if is_same and row["type"] in fitting:
                return row["type"], row["role"], row["unit"]
        name, length = _TIME_SETS.sub("", item.name), str(item.length)
        candidates = [(r["type"], r["role"], r["unit"]) for r in self._rows[name, length]]
        candidates = candidates or [
            (r.type, r.role, r.unit) for r in all_unplaced() if r.name == item.name
        ]
        counts = Counter(row for row in candidates if row[0] in fitting)
        if not counts:
            return None
        (first, times), *_ = counts.most_common(1)
        if times < MOST * counts.total() or (first[1] == Role.KEY and not keys):
            return None
        return first


def rows_of(table: str, item: Item, habits: Habits, *, keys: bool = False) -> dict[str, list[Row]]:
    """The rows for a field, by file: the table's own, and that of entries which it needs.

    A field whose role is a guess has a mark `_doubt`.

    Args:
        keys: whether the table is new, so that a key may follow from other records'.
    """
    if not item.is_array or item.is_reserved:
        return {table: _field_rows(table, item, habits, keys=keys)}
    parts = item.parts or (replace(item, offset=0, count=1, of=""),)
    cells = {"count": str(item.count)}
    group = _row(item.offset, item.length, Type.GROUP, item.name, item.row.meaning, **cells)
    file = f"{table}_{item.name}"
    entry = [row for part in parts for row in _field_rows(file, part, habits, keys=False)]
    return {table: [group], file: entry}


def rest_row(item: Item) -> Row:
    """The row for bytes up to the end of a record: the text of a command, as a rule."""
    kind = Type.BITS if item.row.word == "Bitstring" else Type.CHAR
    return _row(item.offset, REST, kind, item.name, item.row.meaning, role=_ROLES[kind])


def bit_row(bit: BitItem, field: Row) -> Row:
    """The row for named bits of a field."""
    cells = {"of": field["name"], "code": f"{bit.mask:02X}", "role": "flag"}
    offset = int(field["offset"]) + bit.byte
    return _row(offset, 1, Type.BIT, bit.name, bit.row.meaning, **cells)


def code_row(code: CodeItem, field: Row) -> Row:
    """The row for a named value of a field."""
    cells = {"of": field["name"], "code": code.digits, "role": "flag"}
    return _row(field["offset"], field["length"], Type.CODE, code.name, code.row.meaning, **cells)


def _field_rows(table: str, item: Item, habits: Habits, *, keys: bool) -> list[Row]:
    if item.is_reserved:
        length = item.end - item.offset
        return [_row(item.offset, length, Type.RESERVED, "*", item.row.meaning)]
    habit, own = habits.of(table, item, keys=keys), _type(item)
    kind, role, unit = habit or (own, _ROLES.get(own, "gauge"), "")
    cells = {"of": item.of, "role": role, "unit": unit}
    row = _row(item.offset, item.length, kind, item.name, item.row.meaning, **cells)
    if role == Role.KEY or (role == Role.GAUGE and not habit):
        row["_doubt"] = "yes"
    bits, codes = (bit_row(b, row) for b in item.bits), (code_row(c, row) for c in item.codes)
    return [row, *bits, *codes]


def _type(item: Item) -> str:
    word, number = item.row.word, item.length in WIDTHS
    if item.length == 8 and (CLOCK.search(item.row.meaning) or item.name.endswith("tod")):
        return Type.TOD
    if word == "Character":
        return Type.CHAR
    if word in ("Unsigned", "Address") and number:
        return Type.UNSIGNED
    return Type.SIGNED if word == "Signed" and number else Type.BITS


def _row(
    offset: int | str, length: int | str, kind: str, name: str, meaning: str, **cells: str
) -> Row:
    place = {"offset": str(offset), "length": str(length), "type": str(kind), "name": name}
    texts = {"provenance": "published", "meaning": meaning}
    return dict.fromkeys(COLUMNS, "") | place | texts | cells
