"""What stands below a field of a page: bits of it that have names, and values that have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..layout_files.checks import COMMON
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
    """The named bits and values of one field; `notes` say what is not certain of them."""

    bits: tuple[BitItem, ...]
    codes: tuple[CodeItem, ...]
    notes: tuple[str, ...]


def named_bits(row: PageRow, prefixes: tuple[str, ...]) -> NamedBits:
    """What stands below a row.

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
    """For each pattern below a field, whether it is a value of the field, and no bits of it.

    A pattern with a zero in it is a value of the bits that it has, and so are others of the same
    bits. Patterns that rise are values too: bits are listed from the left.
    """
    patterns = [bit.pattern for bit in row.bits if not bit.is_value]
    masks = {_mask(pattern) for pattern in patterns if "0" in pattern}
    numbers = [_number(pattern) for pattern in patterns if "0" not in pattern]
    rises = len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))
    return [rises or bit.is_value or _mask(bit.pattern) in masks for bit in row.bits]


def _left(row: PageRow, prefixes: tuple[str, ...]) -> bool:
    """Whether something like a value stands in the description."""
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
