"""The vocabulary of one field: its place, type, role and provenance.

The wire dtype, the construct Struct, the column plan, the Arrow schema and the views are derived
from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Type(StrEnum):
    """Encoding of the bytes of a field."""

    UNSIGNED = "unsigned"
    SIGNED = "signed"
    CHAR = "char"
    """EBCDIC text, padded with blanks on the right."""
    GUEST = "guest"
    """Text that a guest wrote: ASCII if it starts with an ASCII letter or digit, else EBCDIC; as
    hexadecimal digits if that has control characters."""
    BITS = "bits"
    """Flags, or bytes that are no number."""
    BIT = "bit"
    """A named bit of a field, a boolean; or several adjacent bits, a small number."""
    CODE = "code"
    """The name of a value of a field or of some of its bits."""
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
    """UTF-8 text after two bytes with its length; the next field follows directly."""
    PART = "part"
    """Bytes that the record locates by two of its numbers; their fields land in the same row."""
    RESERVED = "reserved"
    GROUP = "group"
    """Repeated entries: `length` bytes each, `count` of them."""


class Role(StrEnum):
    """Semantics of a field; deltas, rules and report headings follow from it."""

    KEY = "key"
    SLOT = "slot"
    """Distinguishes rows of one key and time stamp, such as the buffer of a guest. It does not
    identify an object: the next sample can use another slot for it."""
    COUNTER = "counter"
    """Only increases, from IPL or logon on."""
    COUNTDOWN = "countdown"
    """A counter that decreases."""
    GAUGE = "gauge"
    """A level at the time of the sample."""
    FLAG = "flag"
    SYNC = "sync"
    """One of two counts, which a guest increments before and after it writes a block. If they
    differ, the block was being written, and its figures are inconsistent."""
    TIME = "time"
    TEXT = "text"


class Provenance(StrEnum):
    """Evidence for an offset."""

    PUBLISHED = "published"
    DERIVED = "derived"
    INFERRED = "inferred"
    ASSUMED = "assumed"
    """The scenario of a generated dump chose the place."""


@dataclass(frozen=True, slots=True)
class Field:
    """One row of a layout: bytes `offset` to `end` of the record, header included.

    `of` names the field that this one is a second view of, or the group whose entry it labels.
    A `length` of 0 means up to the end of the record. Other fields share bytes only if no release
    has both. `code` is the mask of a bit in its byte, as two hexadecimal digits, or the text of a
    label. `since` and `until` are releases ("4.3.0"), or empty. `behind` names the part that the
    field is in, or the counted text that it follows; its offset counts from there.
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
        """The offset as in layout files: `24`, or `fs_type+24` after a text."""
        return f"{self.behind}+{self.offset}" if self.behind else str(self.offset)

    @property
    def end(self) -> int:
        """Offset of the first byte after the field."""
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
        """Whether the field needs deltas between samples."""
        return self.role in (Role.COUNTER, Role.COUNTDOWN)

    def end_in(self, length: int) -> int:
        """Offset of the first byte after the field in a record of `length` bytes."""
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
        """The largest possible value of a 64-bit number; None if all values are possible.

        Counters and durations never set the highest bit: 2^63 TOD units are 71 years. Levels of
        frames or bytes stay below 2^53, which is 8 PiB and the limit of exact numbers in a
        DOUBLE. Clocks, keys, flags, and levels of clocks or of unknown unit use all bits.
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
        """The value in Parquet; unsigned numbers of 64 bits become signed, with the same bits."""
        return value - (1 << 64) if value > LARGEST_COUNT else value

    @property
    def mask(self) -> int:
        """Mask of a bit row in its byte: 0x80 is the leftmost bit."""
        return int(self.code, 16)

    @property
    def shift(self) -> int:
        """Right shift that makes a number of the bits of a bit row."""
        return (self.mask & -self.mask).bit_length() - 1

    @property
    def is_boolean(self) -> bool:
        """Whether a bit row is a single bit."""
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
"""Bytes of the length before a counted text."""

WIDEST = 8
"""Bytes of the widest numbers. A counter of that width never wraps."""
LARGEST_COUNT = 2**63 - 1
LARGEST_LEVEL = 2**53 - 1
UNBOUNDED_UNITS = ("tod", "unknown", "")

LONGEST_RECORD = 0xFFFF
"""Most bytes of a record: its header has two bytes for the length."""

EPOCH_US = 0x7D91048BCA000000 >> 12
"""1970-01-01 as microseconds of the TOD clock, which starts in 1900."""
CLOCK_S = 1 << 43
"""Upper bound of seconds since 1970 in a guest's clock."""


def clock_to_unix_us(clock: int) -> int:
    """Microseconds since 1970 of a guest's clock; `1 << 63`, beyond the limit, if it is invalid.

    Args:
        clock: seconds since 1970, or a TOD clock, whose highest bit is set.
    """
    if clock > LARGEST_COUNT:
        return (clock >> 12) - EPOCH_US
    return clock * 1_000_000 if clock < CLOCK_S else LARGEST_COUNT + 1


FIRST_EBCDIC, LAST_CONTROL = 0x40, 0xFF
"""Bytes below the first, and the last byte, are controls in EBCDIC."""


def utf8(text: bytes) -> str:
    """Decodes UTF-8 with invalid bytes escaped, so that different bytes are different texts."""
    return text.decode("utf-8", "backslashreplace")


HEADER_LENGTH = 20
HEADER = (
    Field(0, 2, Type.UNSIGNED, "mrhdrlen"),
    Field(2, 2, Type.UNSIGNED, "mrhdrzer"),
    Field(4, 1, Type.UNSIGNED, "mrhdrdm"),
    Field(6, 2, Type.UNSIGNED, "mrhdrrc"),
    Field(8, 8, Type.TOD, "mrhdrtod"),
)
"""The header of every record (IBM: MRRECHDR). Bytes 5 and 16 to 19 are reserved."""


REST = "rest"
"""A length, in layout files: all bytes to the end of the record. A group's entries share them."""
