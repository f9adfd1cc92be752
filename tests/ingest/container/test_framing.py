"""Whatever a transfer puts around records, a dump in it is read as the dump alone."""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from cpmon.cli.main import Status
from cpmon.core.errors import DumpError
from cpmon.ingest import Code, ingest
from cpmon.ingest.codec import U8
from cpmon.ingest.container.framing import HEAD, Framing, find_framing
from cpmon.ingest.container.source import Source
from cpmon.store import Store
from tests.cli import conftest as commands
from tests.cli.answer import Cpmon
from tests.dumps import FRAME, dump, fields, frame, frame_end, interval, interval_end, samples
from tests.examples import few_or_many, some_of_all, tried
from tests.ingest.container.test_compression import peak_below
from tests.ingest.container.test_source import read
from tests.scenarios import CONFIG, SAMPLE, capture

cpmon = commands.cpmon
USERS = [fields("useact", 60, vmduser=f"U{n}") for n in range(40)]
FULL = [frame(*USERS[at : at + 6]) for at in range(0, 36, 6)]
PLAIN = dump(
    samples(frame(CONFIG, SAMPLE, frame_end(60)), *FULL, frame(interval_end(60))),
    *(interval(60 * n, fields("sytrsp", 60 * n, pfxcpuad=1)) for n in (2, 3, 4)),
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
    records = ["random"] if data == "capture" else ["frames", "pairs"]
    # A few odd lengths that end in the middle could be frames whose zeros were taken off as well.
    records += ["random"] * (data not in ("capture", "cut"))
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


@few_or_many(60, 600)
def test_any_framing_comes_off(examples: int):
    def comes_off(case: Case, size: int) -> None:
        assert unwrapped(case.stored, size) == case.plain, find_framing(case.stored[:HEAD])

    tried(examples, comes_off, case=cases(), size=st.sampled_from([777, 70_000, 1 << 20]))


PAIRS = [
    *itertools.product(WORDS, ("none", "BDW", "extended BDW")),
    *itertools.product(("RDW", "z/OSMF"), [*BLOCKS][3:]),
    *itertools.product(LINES, ("none",)),
]
"""Words before records, and before the blocks that they are in; lines are not blocked."""


@pytest.mark.parametrize(("form", "block"), PAIRS)
def test_each_form_is_read_with_each_kind_of_block(form: str, block: str):
    for records in (frames(PLAIN), stripped(PLAIN)):
        pieces = [*map({**WORDS, **LINES}[form], records)]
        assert unwrapped(blocked(pieces, BLOCKS[block], 30_000)) == PLAIN


@pytest.mark.parametrize("form", ["RDW", "z/OSMF", "FTP", "RDW, CR LF"])
@pytest.mark.parametrize("number", [1, 5, 20])
def test_a_damaged_word_costs_no_byte_of_a_frame(form: str, number: int):
    pieces = [*map({**WORDS, **LINES}[form], frames(PLAIN * 3))]
    pieces[number] = b"\xff\xff\xff\xff"[: len(pieces[number]) - FRAME][:3] + pieces[number][3:]
    source = Source(io.BytesIO(b"".join(pieces)), "a")
    assert read(source, 100_000) == PLAIN * 3
    assert (
        source.words_broken == f"no descriptor word at stored offset 0x{len(pieces[0]) * number:x}"
    )


def test_a_damaged_word_of_a_block_costs_its_block():
    block = BLOCKS["BDW"]
    blocks = [blocked([*map(RDW, frames(PLAIN))], block, 1 << 15) for _ in range(3)]
    damaged = b"\xff" * 4 + blocks[1][4:]
    data = unwrapped(blocks[0] + damaged + blocks[2])
    assert data.startswith(PLAIN) and data.endswith(PLAIN) and not len(data) % FRAME


@pytest.mark.parametrize("form", [*WORDS, *LINES])
@pytest.mark.parametrize("missing", [5, 2 * FRAME + 99])
def test_of_a_cut_dump_is_read_what_came(form: str, missing: int):
    stored = b"".join(map({**WORDS, **LINES}[form], frames(PLAIN)))[:-missing]
    source = Source(io.BytesIO(stored), "a")
    data = read(source, 100_000)
    assert PLAIN.startswith(data) and len(PLAIN) - len(data) <= missing
    assert source.words_broken


@pytest.mark.parametrize("size", [1, 3])
def test_tiny_pieces_take_no_more_steps_than_large_ones(size: int, monkeypatch: pytest.MonkeyPatch):
    stored = b"".join(map(RDW, frames(PLAIN)))
    stored += b"".join(spanned([PLAIN * 2], iter(lambda: size, 0)))
    steps = []
    pieces = Framing.pieces

    def counted(self: Framing, data: U8, block_end: int = 0, *, is_open: bool = False) -> Any:
        steps.append(len(data))
        return pieces(self, data, block_end, is_open=is_open)

    monkeypatch.setattr(Framing, "pieces", counted)
    with peak_below(24 << 20):
        assert unwrapped(stored) == PLAIN * 3
    assert sum(steps) < 4 * len(stored) + 40 * HEAD


def hurt(stored: bytes) -> dict[str, bytes]:
    """A wrapped dump whole, cut, and with bytes changed, added or missing."""
    middle = len(stored) // 2
    return {
        "whole": stored,
        "cut in the first record": stored[:3000],
        "cut": stored[: middle + 77],
        "last byte missing": stored[:-1],
        "first word": b"\xff" * 4 + stored[4:],
        "noise in front": b"\x91" * 5000 + stored,
        "noise in the middle": stored[:middle] + b"\x91" * 3000 + stored[middle + 3000 :],
        "bytes missing": stored[:middle] + stored[middle + 1001 :],
        "mostly noise": stored[:middle] + b"\x91" * 3 * len(stored),
        "bytes behind": stored + b"\x91" * 300,
    }


@some_of_all("form", (*WORDS, *LINES, "VBS", "FTP, in pieces", "plain"), some=("RDW", "plain"))
def test_doctor_and_ingest_agree_on_what_can_be_read(form: str, tmp_path: Path, cpmon: Cpmon):
    """In blocks of each kind a dump is whole, and hurt in two ways of nine: next in others."""
    files = []
    blocks = [*BLOCKS] if form not in LINES and form != "plain" else ["none"] * 5
    kinds = zip(blocks, itertools.cycle(("frames", "stripped")), strict=False)
    for number, (block, records) in enumerate(kinds):
        case = Case("long", records, form, block, (1, 3000, 27_000), 1)
        stored = DUMPS["long"] if form == "plain" else case.stored
        whole, *damages = (every := hurt(stored))
        for name in (whole, *damages[number % 5 :: 5]):
            file = tmp_path / f"{len(files)} {block}, {records}, {name}"
            file.write_bytes(every[name])
            files.append(file)
    pages = cpmon("doctor", *files, "--format", "json").rows
    landed = []
    for number, file in enumerate(files):
        try:
            ingest(file, Store(tmp_path / f"store{number}", create=True))
        except DumpError:
            landed.append(False)
        else:
            landed.append(True)
    read = ["refused" not in page and "not_landed" not in page for page in pages]
    assert [*zip(files, read, strict=True)] == [*zip(files, landed, strict=True)]
    assert all(said for said, file in zip(read, files, strict=True) if file.name.endswith("whole"))


@pytest.mark.parametrize("form", ["z/OSMF", "FTP", "RDW, CR LF", "reversed RDW"])
def test_a_framed_dump_lands_as_the_plain_one(form: str, tmp_path: Path, cpmon: Cpmon):
    file, plain, at = tmp_path / "a.mon", tmp_path / "plain.mon", ("--store", tmp_path / "s")
    file.write_bytes(b"".join(map({**WORDS, **LINES}[form], stripped(PLAIN))))
    plain.write_bytes(PLAIN)
    page = cpmon("doctor", file)
    assert page.status is Status.DONE and "cpmon can read it" in page.text
    assert cpmon("ingest", file, *at).status is Status.DONE
    assert "landed before" in cpmon("ingest", plain, *at).text
    assert cpmon("query", "select code from meta.finding", "--format", "csv", *at).text.split() == [
        "code",
        "UNWRAPPED",
    ]


def test_zeros_of_a_dump_are_no_words_that_stand_before_nothing(tmp_path: Path, store: Store):
    """The first frame is noise with an entry in its place, and a length up to zeros of the dump."""
    entry = struct.pack(">BBBxII", 0xE2, 0xFF, 0, 0x40000, 0x40FFF)
    noise = struct.pack(">H", FRAME + len(CAPTURE) - 102) + b"\x5a" * 40 + entry
    file = tmp_path / "a.mon"
    file.write_bytes(noise.ljust(FRAME, b"\x5a") + CAPTURE)

    landed = ingest(file, store)

    assert landed.about["bytes"]["size"] == file.stat().st_size
    assert set(landed.findings.counts) == {Code.FRAME_LOST}
