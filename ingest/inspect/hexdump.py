"""Renders the bytes of a record, 16 a line, in hexadecimal and EBCDIC, with its fields marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...schemas.field import Type
from .explanation import Line

WIDTH = 16
EBCDIC = "cp037"
PALETTE = ("cyan", "yellow", "green", "magenta")
RESERVED = "bright_black"

Paint = Callable[[str, str], str]
"""Text and colour to coloured text."""


def plain(text: str, _colour: str) -> str:
    """No colour."""
    return text


def hexdump(record: bytes, lines: Sequence[Line], paint: Paint = plain) -> Iterator[str]:
    """The lines of the dump: offset, bytes, EBCDIC, and the fields that begin there.

    A bar stands before the first byte of a field. Second views of a field are not marked.

    Args:
        lines: what `explain` says of the record.
        paint: colours a text; neighbouring fields get different colours.
    """
    starts, colours = _marks(record, lines)
    for first in range(0, len(record), WIDTH):
        cells, letters, names = "", "", []
        for at in range(first, first + WIDTH):
            if at >= len(record):
                cells += "   "
                continue
            cells += "|" if at in starts else " "
            cells += paint(f"{record[at]:02X}", colours[at])
            letters += paint(_letter(record[at]), colours[at])
            names += [paint(name, colours[at]) for name in starts.get(at, ())]
        spare = " " * max(first + WIDTH - len(record), 0)
        yield f"+{first:04X} {cells}  *{letters}{spare}*  {' '.join(names)}".rstrip()


def _marks(record: bytes, lines: Sequence[Line]) -> tuple[dict[int, list[str]], list[str]]:
    """Names of what begins at an offset, and the colour of each byte."""
    starts: dict[int, list[str]] = {}
    colours = [RESERVED] * len(record)
    turn = 0
    for line in lines:
        if line.raw is None or line.is_bit or (line.field and line.field.of):
            continue
        name = f"{line.path}:" if line.is_entry else line.name
        starts.setdefault(line.offset, []).append(name)
        if line.is_entry or (line.field and line.field.type is Type.RESERVED):
            continue
        colours[line.offset : line.offset + line.length] = [PALETTE[turn]] * line.length
        turn = (turn + 1) % len(PALETTE)
    return starts, colours


def _letter(byte: int) -> str:
    letter = bytes([byte]).decode(EBCDIC)
    return letter if letter.isascii() and letter.isprintable() else "."
