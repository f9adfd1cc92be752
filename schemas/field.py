"""The vocabulary of one field: its place, type, role and provenance.

Everything that knows offsets is derived from it: the wire dtype, the construct Struct, the column
plan, the Arrow schema, the views of the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Type(StrEnum):
    """How the bytes of a field are written."""

    UNSIGNED = "unsigned"
    SIGNED = "signed"
    CHAR = "char"
    """EBCDIC text, padded with blanks on the right."""
    GUEST = "guest"
    """Text that a guest wrote: ASCII where it starts with an ASCII letter or digit, else EBCDIC; in
    hexadecimal digits where that has control characters, and so is no text."""
    BITS = "bits"
    """Flags, or bytes without a number in them."""
    BIT = "bit"
    """A named bit of a field, or several side by side: a boolean, or a small number."""
    CODE = "code"
    """The name of a value that a field can have, or some bits of it."""
    PACKED = "packed"
    """Decimal digits, two a byte, without a sign."""
    TOD = "tod"
    """A point in time: 8-byte TOD clock."""
    TIMER = "timer"
    """A duration or running time in TOD units, 4096 of them a microsecond."""
    CLOCK = "clock"
    """A point in time by a guest's clock: seconds since 1970, or a TOD clock, whose highest bit is
    set. Lands as microseconds since 1970."""
    COUNTED = "counted"
    """UTF-8 text behind two bytes that hold how many it has. What follows it stands behind it."""
    PART = "part"
    """Bytes that the record locates by two of its numbers; their fields land in the same row."""
    RESERVED = "reserved"
    GROUP = "group"
    """Repeated entries: `length` bytes each, `count` of them."""


class Role(StrEnum):
    """What a field is for; deltas, rules and report headings follow from it."""

    KEY = "key"
    SLOT = "slot"
    """Tells rows of one key and time apart, such as the buffer that a guest wrote into. It says
    nothing of what they are about: the next sample may have it elsewhere."""
    COUNTER = "counter"
    """Only grows, from IPL or logon on."""
    COUNTDOWN = "countdown"
    """A counter that runs downwards."""
    GAUGE = "gauge"
    """A level, as it was when the sample was taken."""
    FLAG = "flag"
    SYNC = "sync"
    """A count raised before, and another raised after, a guest writes a block: where they differ
    the block was being written, and its figures are of no one time."""
    TIME = "time"
    TEXT = "text"


class Provenance(StrEnum):
    """How sure we are of an offset."""

    PUBLISHED = "published"
    DERIVED = "derived"
    INFERRED = "inferred"
    ASSUMED = "assumed"
    """Of a generated dump: its scenario chose the place."""


@dataclass(frozen=True, slots=True)
class Field:
    """One row of a layout: bytes `offset` to `end` of the record, header included.

    `of` names the field that this one is a second view of, or the group whose entry it labels.
    A `length` of 0 is that of text or bytes up to the end of the record, however long it is.
    Other fields share bytes only if no release has both. `code` is the mask of a bit in its byte,
    as two hexadecimal digits, or what a label says. `since` and `until` are releases ("4.3.0"),
    empty where no difference is known. `behind` names the part that the field is in, or the counted
    text that it follows: then its offset counts from there.
    """

    offset: int
    length: int
    type: Type
    name: str
    of: str = ""
    code: str = ""
    role: Role | None = None
    unit: str = ""
    since: str = ""
    until: str = ""
    provenance: Provenance = Provenance.INFERRED
    meaning: str = ""
    behind: str = ""

    @property
    def place(self) -> str:
        """The offset as layout files have it: `24`, or `fs_type+24` behind a text."""
        return f"{self.behind}+{self.offset}" if self.behind else str(self.offset)

    @property
    def end(self) -> int:
        """Offset of the first byte behind the field."""
        return self.offset + self.length

    @property
    def is_number(self) -> bool:
        """Whether the field lands as a number (bits of machine width included)."""
        return self.type in NUMBERS or (self.type is Type.BITS and self.length in WIDTHS)

    @property
    def is_text(self) -> bool:
        """Whether the field lands as text."""
        return self.type in (Type.CHAR, Type.GUEST, Type.PACKED, Type.COUNTED)

    @property
    def is_cumulative(self) -> bool:
        """Whether only differences between samples mean something."""
        return self.role in (Role.COUNTER, Role.COUNTDOWN)

    def end_in(self, length: int) -> int:
        """Offset of the first byte behind the field in a record of `length` bytes."""
        return length if self.is_open else self.end

    def is_inside(self, length: int) -> bool:
        """Whether a record of `length` bytes has the field."""
        return self.offset < length if self.is_open else self.end <= length

    @property
    def is_open(self) -> bool:
        """Whether the field takes all bytes up to the end of its record."""
        return self.length == 0

    @property
    def limit(self) -> int | None:
        """The largest value that a number of 64 bits can have; None where any value is possible.

        What is counted since IPL or logon, and how long something takes, keeps its highest bit
        free: 2^63 TOD units are 71 years. A level of frames or bytes stays below 2^53, which is
        8 PiB, and the last number that a DOUBLE holds exactly. Clocks, keys and flags use all of
        their bits, and so may a level whose unit is not known, or is that of a clock.
        """
        if self.type is Type.CLOCK:
            return LARGEST_COUNT
        if self.length != WIDEST or self.type not in (Type.UNSIGNED, Type.TIMER):
            return None
        if self.is_cumulative or self.type is Type.TIMER:
            return LARGEST_COUNT
        measured = self.role is Role.GAUGE and self.unit not in UNBOUNDED_UNITS
        return LARGEST_LEVEL if measured else None

    def landed(self, value: int) -> int:
        """A value as it lands: one of 64 bits as the signed number of the same bits."""
        return value - (1 << 64) if value > LARGEST_COUNT else value

    @property
    def mask(self) -> int:
        """Which bits of its byte a bit row stands for: 0x80 is the leftmost."""
        return int(self.code, 16)

    @property
    def shift(self) -> int:
        """How far to the right the bits of a bit row are moved to make a number."""
        return (self.mask & -self.mask).bit_length() - 1

    @property
    def is_boolean(self) -> bool:
        """Whether a bit row is one bit, and not a number of several."""
        return self.mask.bit_count() == 1

    @property
    def named_value(self) -> tuple[int, int]:
        """The value that a code row names, and the mask of its bits in the field: 40/C0, or 1F."""
        value, _, mask = self.code.partition("/")
        return int(value, 16), int(mask, 16) if mask else (1 << 8 * self.length) - 1

    @property
    def wire(self) -> str:
        """NumPy format of the bytes as written: big-endian number, or opaque bytes."""
        if not self.is_number:
            return f"V{self.length}"
        return f">{'i' if self.type is Type.SIGNED else 'u'}{self.length}"


NUMBERS = frozenset({Type.UNSIGNED, Type.SIGNED, Type.TOD, Type.TIMER, Type.CLOCK})
WIDTHS = (1, 2, 4, 8)

COUNT_LENGTH = 2
"""Bytes in front of a counted text."""

WIDEST = 8
"""Bytes of the widest numbers. A counter of that width never wraps."""
LARGEST_COUNT = 2**63 - 1
LARGEST_LEVEL = 2**53 - 1
UNBOUNDED_UNITS = ("tod", "unknown", "")

LONGEST_RECORD = 0xFFFF
"""Bytes of a record at most: its header has two bytes for the length."""

EPOCH_US = 0x7D91048BCA000000 >> 12
"""1970-01-01 as microseconds of the TOD clock, which starts in 1900."""
CLOCK_S = 1 << 43
"""Seconds from 1970 on that no guest's clock shows."""


def clock_to_unix_us(clock: int) -> int:
    """Microseconds since 1970 of a guest's clock; `1 << 63`, beyond its limit, where it is none.

    Args:
        clock: seconds since 1970, or a TOD clock, whose highest bit is set.
    """
    if clock > LARGEST_COUNT:
        return (clock >> 12) - EPOCH_US
    return clock * 1_000_000 if clock < CLOCK_S else LARGEST_COUNT + 1


FIRST_EBCDIC, LAST_CONTROL = 0x40, 0xFF
"""Bytes below the first, and the last byte, are controls in EBCDIC."""


def utf8(text: bytes) -> str:
    """UTF-8 text, with what is none spelt out, so that different bytes are different texts."""
    return text.decode("utf-8", "backslashreplace")


HEADER_LENGTH = 20
HEADER = (
    Field(0, 2, Type.UNSIGNED, "mrhdrlen"),
    Field(2, 2, Type.UNSIGNED, "mrhdrzer"),
    Field(4, 1, Type.UNSIGNED, "mrhdrdm"),
    Field(6, 2, Type.UNSIGNED, "mrhdrrc"),
    Field(8, 8, Type.TOD, "mrhdrtod"),
)
"""The header that every record starts with (IBM: MRRECHDR). Bytes 5 and 16 to 19 are reserved."""


REST = "rest"
"""A length, in layout files: all bytes to the end of the record. A group's entries share them."""
