"""Nests the rows of a page's structure: fields, second views of them, arrays, bits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ..field import HEADER_LENGTH
from ..loader import COMMON
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


@dataclass(frozen=True)
class NamedBits:
    """The named bits and values of one field; `notes` are about uncertain ones."""

    bits: tuple[BitItem, ...]
    codes: tuple[CodeItem, ...]
    notes: tuple[str, ...]


def named_bits(row: PageRow, prefixes: tuple[str, ...]) -> NamedBits:
    """The named bits and values below a row.

    Raises:
        LayoutError: a pattern or value has more bits than the field, or cannot be read.
    """
    notes = list[str]()
    is_value = _values(row)
    bits = [bit for bit, value in zip(row.bits, is_value, strict=True) if not value]
    values = [bit for bit, value in zip(row.bits, is_value, strict=True) if value]
    items = tuple(_bits(row, bits, prefixes, notes))
    codes = tuple(_codes(row, values, prefixes))
    read = [f"{v.name} X'{_number(v.pattern):X}'" for v in values if v.name and not v.is_value]
    if read:
        notes.append(f"patterns below {row.name or '*'} are read as its values: {', '.join(read)}")
    if _left(row, prefixes):
        notes.append(f"the description of {row.name or '*'} tells of values; they stay in it")
    return NamedBits(items, codes, tuple(notes))


def stripped(name: str, prefixes: tuple[str, ...]) -> str:
    """IBM's name in lower case without the DSECT prefix."""
    for prefix in prefixes:
        if name.startswith(prefix) and len(name) > len(prefix):
            name = name.removeprefix(prefix)
            break
    plain = name.lower().replace("@", "a").replace("#", "n").replace("$", "s")
    return f"{plain}_" if plain in COMMON else plain


def _values(row: PageRow) -> list[bool]:
    """For each pattern below a field, whether it is a value and not a mask of bits.

    A pattern with a zero is a value of its bits, and so are other patterns of the same bits.
    Ascending patterns are values, too, since masks are listed from the left.
    """
    patterns = [bit.pattern for bit in row.bits if not bit.is_value]
    masks = {_mask(pattern) for pattern in patterns if "0" in pattern}
    numbers = [_number(pattern) for pattern in patterns if "0" not in pattern]
    rises = len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))
    return [rises or bit.is_value or _mask(bit.pattern) in masks for bit in row.bits]


def _left(row: PageRow, prefixes: tuple[str, ...]) -> bool:
    """Whether the description contains something like a value."""
    names = "|".join(map(re.escape, prefixes))
    value = rf"[XxBb]'[^']*'|'[0-9A-F]+'[XB]|(?<!\S)[01]{{4}} ?[01]{{4}}(?!\S)|\b\d+ (?:{names})\w"
    return re.search(value, row.meaning) is not None


def _number(pattern: str) -> int:
    return int(pattern.replace(".", "0"), 2)


def _mask(pattern: str) -> str:
    return pattern.replace("0", "1")


def _codes(row: PageRow, values: Sequence[BitRow], prefixes: tuple[str, ...]) -> Iterator[CodeItem]:
    """Named values of the field, or of the bits that the patterns have."""
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
            yield CodeItem(f"{number:0{digits}X}{mask}", stripped(bit.name, prefixes), bit)


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
            items.append(BitItem(at, mask, stripped(bit.name, prefixes), bit))
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
    end: int
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
    top = _nested(kept, prefixes, notes)
    fields = list(_flat(top, start, notes))
    _check_cover([f for f in fields if not f.of], start, end, structure)
    _check_unique(fields)
    name = stripped(structure.head.name, prefixes)
    tail = Item(end, 0, 1, stripped(rest.name, prefixes), rest) if rest and is_record else None
    return Items(name, end, tuple(fields), tuple(notes), structure.head, tail)


@dataclass
class _Node:
    """A row with the rows inside its bytes."""

    row: PageRow
    name: str
    bits: tuple[BitItem, ...]
    codes: tuple[CodeItem, ...]
    inside: list[_Node]

    @property
    def end(self) -> int:
        return self.row.offset + self.row.size

    @property
    def has_array(self) -> bool:
        return any(n.row.count > 1 or n.has_array for n in self.inside)


def _nested(rows: Sequence[PageRow], prefixes: tuple[str, ...], notes: list[str]) -> list[_Node]:
    """The rows as a forest; a row that begins inside another one must end inside it."""
    top: list[_Node] = []
    open_: list[_Node] = []
    for row in sorted(rows, key=lambda r: (r.offset, -r.size)):
        below = named_bits(row, prefixes)
        notes += below.notes
        has_names = below.bits or below.codes
        name = stripped(row.name, prefixes) or (f"flags{row.offset}" if has_names else "")
        node = _Node(row, name, below.bits, below.codes, [])
        while open_ and open_[-1].end <= row.offset:
            open_.pop()
        if open_:
            around = open_[-1].row
            limit = around.offset + around.length
            if node.end > limit:
                raise row.line.error(
                    f"{row.name or '*'} overlaps {around.name or '*'} without being a part",
                    expected=f"an end of at most {limit}, as line {around.line.number} says",
                )
        (open_[-1].inside if open_ else top).append(node)
        open_.append(node)
    return top


def _flat(nodes: Iterable[_Node], start: int, notes: list[str]) -> Iterator[Item]:
    """The fields of a forest, each followed by its views; `start` is the forest's first byte."""
    for node in nodes:
        if node.inside and not node.row.count > 1 and (not node.name or node.has_array):
            if node.name:
                notes.append(f"{node.row.name} is a name for several fields")
            inner = _flat(node.inside, start, notes)
            yield from _with_gaps(inner, node, node.row.offset, node.end)
            continue
        whole = _item(node)
        if node.row.count > 1:
            inner = _flat(node.inside, node.row.offset, notes)
            parts = [part for item in inner for part in _numbered(item, node.row.offset)]
            parts = list(_with_gaps(parts, node, 0, whole.length)) if parts else []
            yield replace(whole, parts=tuple(parts))
        else:
            yield whole
            yield from (replace(v, of=whole.name) for v in _views(node))


def _with_gaps(items: Iterable[Item], node: _Node, start: int, end: int) -> Iterator[Item]:
    """The fields inside a node, from `start` to `end`, with reserved bytes between them."""
    row = replace(node.row, meaning="", bits=())
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
        if inner.name:
            yield _item(inner)
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


def _item(node: _Node) -> Item:
    row = node.row
    name, bits, codes = node.name, node.bits, node.codes
    return Item(row.offset, row.length, row.count, name, row, bits=bits, codes=codes)


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


def _check_unique(fields: Sequence[Item]) -> None:
    earlier: dict[str, PageRow] = {}
    for item in fields:
        if item.name and item.name in earlier:
            raise item.row.line.error(
                f"{item.row.name} is on the page twice",
                expected=f"other names than on line {earlier[item.name].line.number}",
            )
        earlier[item.name] = item.row
