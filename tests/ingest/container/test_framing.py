"""Whatever a transfer puts around records, a dump in it is read as the dump alone."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpmon.ingest.container.framing import HEAD, find_framing
from cpmon.ingest.container.source import Source
from tests.cli import conftest as commands
from tests.dumps import FRAME, dump, fields, frame, frame_end, interval, interval_end, samples
from tests.ingest.container.test_source import read
from tests.scenarios import CONFIG, SAMPLE, capture

cpmon = commands.cpmon
USERS = [fields("useact", 60 + n, vmduser=f"U{n}") for n in range(40)]
FULL = [frame(*USERS[at : at + 6]) for at in range(0, 36, 6)]
PLAIN = dump(
    samples(frame(CONFIG, SAMPLE, frame_end(60)), *FULL, frame(interval_end(60))),
    *(interval(60 * n, SAMPLE) for n in (2, 3, 4)),
)
CAPTURE = capture(PLAIN)
Around = Callable[[bytes], bytes]


def around(kind: str, counted: int = 0, behind: bytes = b"") -> Around:
    """Puts a word of length in front of a record, and bytes behind it."""
    return lambda record: struct.pack(kind, len(record) + counted) + record + behind


def twice(kind: str) -> Around:
    return lambda record: struct.pack(kind, len(record)) + record + struct.pack(kind, len(record))


RDW = around(">Hxx", 4)
WORDS: dict[str, Around] = {
    "RDW": RDW,
    "RDW without itself": around(">Hxx"),
    "z/OSMF": around(">I"),
    "four bytes, itself": around(">I", 4),
    "little-endian": around("<I"),
    "little-endian RDW": around("<I", 4),
    "reversed RDW": around("<xxH", 4),
    "reversed RDW without itself": around("<xxH"),
    "FTP": lambda record: b"\x80" + struct.pack(">H", len(record)) + record,
    "two bytes": around(">H"),
    "two bytes, itself": around(">H", 2),
    "two bytes, little-endian": around("<H"),
    "two bytes, itself, little-endian": around("<H", 2),
}
BLOCKS: dict[str, Around] = {
    "none": bytes,
    "BDW": around(">Hxx", 4),
    "extended BDW": lambda block: struct.pack(">I", 1 << 31 | len(block) + 4) + block,
    "BDW without itself": around(">Hxx"),
    "extended BDW without itself": lambda block: struct.pack(">I", 1 << 31 | len(block)) + block,
    "little-endian BDW": around("<I", 4),
    "little-endian BDW without itself": around("<I"),
}
LINES: dict[str, Around] = {
    "RDW, CR LF": around(">Hxx", 4, b"\r\n"),
    "RDW, LF": around(">Hxx", 4, b"\n"),
    "RDW without itself, CR LF": around(">Hxx", 0, b"\r\n"),
    "z/OSMF, CR LF": around(">I", 0, b"\r\n"),
    "twice": twice(">I"),
    "twice, little-endian": twice("<I"),
}


def frames(data: bytes) -> list[bytes]:
    return [data[at : at + FRAME] for at in range(0, len(data), FRAME)]


def stripped(data: bytes) -> list[bytes]:
    return [frame.rstrip(b"\0") or b"\0" for frame in frames(data)]


def blocked(pieces: list[bytes], block: Around, most: int) -> bytes:
    """Pieces in blocks of at most so many bytes, or of one piece."""
    blocks, own = list[bytes](), b""
    for piece in pieces:
        if own and len(own) + len(piece) > most:
            blocks.append(own)
            own = b""
        own += piece
    return b"".join(map(block, [*blocks, own]))


def spanned(records: list[bytes], sizes: Iterator[int]) -> list[bytes]:
    """Records in segments: 0 for a whole one, 1, 3 and 2 for the first, others and the last."""
    segments = []
    for record in records:
        rest, first = record, True
        while rest or first:
            size = next(sizes)
            part, rest = rest[:size], rest[size:]
            code = (0 if first else 2) if not rest else 1 if first else 3
            segments.append(struct.pack(">HBx", len(part) + 4, code) + part)
            first = False
    return segments


def unwrapped(stored: bytes, size: int = 100_000) -> bytes:
    return read(Source(io.BytesIO(stored), "a"), size)


def split(data: bytes, sizes: Iterator[int]) -> list[bytes]:
    parts, at = [], 0
    while at < len(data):
        size = next(sizes)
        parts.append(data[at : at + size])
        at += size
    return parts


def ftp(records: list[bytes], sizes: Iterator[int]) -> list[bytes]:
    """Blocks of FTP, the last of each record marked, with a restart marker; then the end."""
    pieces = [b"\x10\0\6marker"]
    for record in records:
        parts = split(record, sizes)
        for number, part in enumerate(parts, 1):
            ends = 0x80 * (number == len(parts))
            pieces.append(bytes([ends]) + struct.pack(">H", len(part)) + part)
    return [*pieces[1:3], pieces[0], *pieces[3:], b"\x40\0\0"]


@dataclass(frozen=True)
class Case:
    """A dump in records, and what a transfer puts around them."""

    data: str
    records: str
    form: str
    block: str
    largest: tuple[int, int, int]
    seed: int

    @property
    def plain(self) -> bytes:
        return DUMPS[self.data]

    @property
    def stored(self) -> bytes:
        seed = np.random.default_rng(self.seed)
        record, segment, block = self.largest

        def sizes(most: int) -> Iterator[int]:
            while True:
                yield int(seed.integers(1, most, endpoint=True))

        data = self.plain
        match self.records:
            case "frames":
                records = frames(data)
            case "stripped":
                records = stripped(data)
            case "pairs":
                records = [data[at : at + 2 * FRAME] for at in range(0, len(data), 2 * FRAME)]
            case _:
                records = split(data, sizes(record))
        if self.form == "VBS":
            pieces = spanned(records, sizes(segment))
        elif self.form == "FTP, in pieces":
            pieces = ftp(records, sizes(segment))
        else:
            pieces = [*map({**WORDS, **LINES}[self.form], records)]
        return blocked(pieces, BLOCKS[self.block], block)


DUMPS = {
    "plain": PLAIN,
    "capture": CAPTURE,
    "no end": PLAIN[:-FRAME],
    "cut": PLAIN[: 2 * FRAME + 1000],
    "long": PLAIN * 8,
}
FORMS = [*WORDS, *LINES, "VBS", "FTP, in pieces"]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    data, form = draw(st.sampled_from([*DUMPS])), draw(st.sampled_from(FORMS))
    records = ["random"] if data == "capture" else ["frames", "pairs", "random"]
    records += ["stripped"] * (data not in ("capture", "cut"))
    largest = [(300, 5000, 32_000), (10, 3000, 30_000), (8, 3000, 32_000)]
    return Case(
        data,
        draw(st.sampled_from(records)),
        form,
        "none" if form in LINES else draw(st.sampled_from([*BLOCKS])),
        tuple(draw(st.sampled_from(some)) for some in largest),
        draw(st.integers(0, 1 << 32)),
    )


@settings(max_examples=200)
@given(case=cases(), size=st.sampled_from([777, 70_000, 1 << 20]))
def test_any_framing_comes_off(case: Case, size: int):
    assert unwrapped(case.stored, size) == case.plain, find_framing(case.stored[:HEAD])


@pytest.mark.parametrize("form", [*WORDS, *LINES])
@pytest.mark.parametrize("block", BLOCKS)
def test_each_form_is_read_with_each_kind_of_block(form: str, block: str):
    if form in LINES and block != "none":
        pytest.skip("lines are not blocked")
    for records in (frames(PLAIN), stripped(PLAIN)):
        pieces = [*map({**WORDS, **LINES}[form], records)]
        assert unwrapped(blocked(pieces, BLOCKS[block], 30_000)) == PLAIN
