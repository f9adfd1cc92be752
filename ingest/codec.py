"""Converts whole arrays: TOD clock to UTC, EBCDIC to text, packed digits to text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..schemas.field import CLOCK_S, EPOCH_US, FIRST_EBCDIC, LARGEST_COUNT, LAST_CONTROL, Type, utf8

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

EPOCH_LENGTH_US = 1 << 52
"""Microseconds until the clock of 64 bits starts again at 0: 2042-09-17 23:53:47.370496 UTC."""
PIVOT = np.uint64(EPOCH_US << 12)
"""Clocks below belong to the epoch that begins in 2042: no monitor data is older than 1970."""

EBCDIC = bytes(range(256)).decode("cp037").encode("latin-1")
"""Code point of each EBCDIC byte. All 256 are below 256, so a byte holds it."""

TO_EBCDIC = np.argsort(np.frombuffer(EBCDIC, np.uint8)).astype(np.uint8)
"""EBCDIC byte of each code point below 256: the inverse of `EBCDIC`."""

ALNUM = np.array([bytes([byte]).isalnum() for byte in range(256)])

CONTROL = np.array([byte < FIRST_EBCDIC or byte == LAST_CONTROL for byte in range(256)])
"""The bytes that are controls in EBCDIC."""

WORD = 8
TEXT = pa.string()

Decoder = Callable[[U8], pa.StringArray]


def tod_to_unix_us(tod: U64) -> I64:
    """Microseconds since 1970-01-01 UTC of TOD clock values.

    Args:
        tod: (records,); bit 51 is 1 us, epoch 1900-01-01, leap seconds not applied. Values below
            `PIVOT` belong to the next epoch, except 0, a clock that was never set.

    Raises:
        TypeError: `tod` is not unsigned; a signed clock would turn dates after 1971 negative.
    """
    if tod.dtype != np.uint64:
        raise TypeError(f"TOD values must be uint64, not {tod.dtype}")
    us = (tod >> np.uint64(12)).astype(np.int64) - EPOCH_US
    us[(tod < PIVOT) & (tod != 0)] += EPOCH_LENGTH_US
    return us


def clock_to_unix_us(clock: U64) -> U64:
    """Microseconds since 1970 of guests' clocks: `schemas.field.clock_to_unix_us` of each.

    Args:
        clock: (records,); seconds since 1970, or a TOD clock, whose highest bit is set.
    """
    us = (clock >> np.uint64(12)) - np.uint64(EPOCH_US)
    seconds = clock * np.uint64(1_000_000)
    seconds[clock >= CLOCK_S] = LARGEST_COUNT + 1
    return np.where(clock > LARGEST_COUNT, us, seconds)


def utf8_texts(raw: pa.BinaryArray) -> pa.DictionaryArray:
    """Texts in UTF-8 as a dictionary; `utf8` escapes bytes that are not UTF-8."""
    encoded = raw.dictionary_encode()
    try:
        texts = encoded.dictionary.cast(TEXT)
    except pa.ArrowInvalid:  # each distinct text once
        texts = pa.array(map(utf8, encoded.dictionary.to_pylist()), TEXT)
    return pa.DictionaryArray.from_arrays(encoded.indices, texts)


def moment(us: int) -> datetime:
    """The UTC moment of a count of microseconds since 1970-01-01, to the microsecond."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)


def utc_text(us: int) -> str:
    """The UTC moment of microseconds since 1970-01-01, for people."""
    return f"{moment(us):%Y-%m-%d %H:%M:%S.%f} UTC"


def unix_us(moment: datetime | None) -> int | None:
    """Microseconds from 1970-01-01 to a moment; None of none."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return None if moment is None else (moment - epoch) // timedelta(microseconds=1)


def are_within(us: I64, since_us: int | None, until_us: int | None) -> Mask:
    """Whether each is later than the one, if that is given, and not later than the other."""
    within = np.ones(len(us), np.bool_)
    if since_us is not None:
        within &= us > since_us
    if until_us is not None:
        within &= us <= until_us
    return within


def items(data: U8, length: int) -> npt.NDArray[np.void]:
    """The `length` bytes from each byte of an array on, each as one item over the same memory."""
    return np.ndarray((max(len(data) - length + 1, 0),), f"V{length}", data, 0, (1,))


def chain(following: I64, first: int) -> I64:
    """The positions from one on, each followed by the next, up to one that follows itself.

    The first 2^k are followed by the next 2^k: positions are not visited one by one.
    """
    visited, jump = np.array([first]), following
    while jump[visited[-1]] != visited[-1]:
        visited = np.append(visited, jump[visited])
        jump = jump[jump]
    return visited[: int(np.argmax(visited == visited[-1])) + 1]


def as_arrow(values: npt.NDArray[Any], kind: pa.DataType, valid: Mask | None = None) -> pa.Array:
    """Numbers as an Arrow array over the same memory; NULL where not `valid`.

    It costs half of `pa.array`, which matters for layouts with few records.
    """
    bits = None
    if valid is not None and not valid.all():
        bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(values)])


def ebcdic_text(raw: U8) -> pa.StringArray:
    """Text of EBCDIC fields without blanks or zeros on the right. `raw`: (fields, width)."""
    text = raw.tobytes().translate(EBCDIC)
    wide = np.frombuffer(text, np.uint8).reshape(raw.shape) >= 0x80
    lengths = raw.shape[1] + wide.sum(axis=1)
    utf8 = text if text.isascii() else text.decode("latin-1").encode()
    return pc.ascii_rtrim(strings(np.frombuffer(utf8, np.uint8), lengths), characters=" \0")


def guest_text(raw: U8) -> pa.StringArray:
    """Text of fields that a guest wrote, in hexadecimal digits where it is no text.

    ASCII where it starts with an ASCII letter or digit, else EBCDIC, if no byte is a control,
    except zeros that pad it. `raw`: (fields, width) as written.
    """
    ascii_ = ALNUM[raw[:, 0]]
    ebcdic = raw.copy()
    ebcdic[ascii_] = TO_EBCDIC[raw[ascii_]]
    texts = ebcdic_text(ebcdic)
    filled = np.maximum.accumulate(raw[:, ::-1] != 0, axis=1)[:, ::-1]
    binary = ~ascii_ & (CONTROL[raw] & filled).any(axis=1)
    if not binary.any():
        return texts
    return pc.if_else(pa.array(binary), packed_text(raw), texts)


def packed_text(raw: U8) -> pa.StringArray:
    """Digits of packed fields, two a byte. `raw`: (fields, width) as written."""
    digits = np.frombuffer(raw.tobytes().hex().upper().encode(), np.uint8)
    return strings(digits, np.full(len(raw), 2 * raw.shape[1]))


DECODERS: dict[Type, Decoder] = {
    Type.CHAR: ebcdic_text,
    Type.GUEST: guest_text,
    Type.PACKED: packed_text,
}


def dictionary(raw: U8, decode: Decoder) -> pa.DictionaryArray:
    """Fields as a dictionary of their decoded distinct values: each is decoded once.

    Args:
        raw: (fields, width) as written.
        decode: one of `DECODERS`.
    """
    fields, width = raw.shape
    if width > WORD:
        opaque = pa.Array.from_buffers(pa.binary(width), fields, [None, pa.py_buffer(raw)])
    else:
        # A number is found in a hash table more than twice as fast as a string of bytes.
        words = np.zeros((fields, WORD), np.uint8)
        words[:, :width] = raw
        opaque = as_arrow(words.view(np.uint64)[:, 0], pa.uint64())
    encoded = opaque.dictionary_encode()
    stored = max(width, WORD)
    distinct = (encoded.dictionary.buffers()[1] or pa.py_buffer(b"")).to_pybytes()
    distinct = distinct[: len(encoded.dictionary) * stored]
    return pa.DictionaryArray.from_arrays(
        encoded.indices, _decoded(distinct, stored, width, decode)
    )


@functools.lru_cache(maxsize=32)
def _decoded(distinct: bytes, stored: int, width: int, decode: Decoder) -> pa.StringArray:
    """Distinct values, `stored` bytes apart, decoded; cached, since names repeat every interval."""
    return decode(np.frombuffer(distinct, np.uint8).reshape(-1, stored)[:, :width])


def strings(
    data: U8, lengths: npt.NDArray[np.integer[Any]], kind: pa.DataType = TEXT
) -> pa.StringArray | pa.BinaryArray:
    """Values of `kind`, text or binary, that lie end to end in less than 2 GiB of `data`."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(kind, len(lengths), buffers)


@dataclass(frozen=True)
class Rows:
    """Arrays of (rows,) that are selected and concatenated together."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def __getitem__(self, chosen: slice | Mask | I64) -> Self:
        return type(self)(*(getattr(self, f.name)[chosen] for f in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of one or more parts, one after the other."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))
