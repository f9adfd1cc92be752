"""Dumps made to take long: what a byte costs is bounded, whatever stands in it.

Each is read at three sizes. What is compared is processor time, four times the bytes against once:
a reader that looks at everything again for every set or frame takes sixteen times as long.
"""

from __future__ import annotations

import gzip
import struct
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from cpmon.ingest.container.source import Container
from tests.dumps import FRAME, control, fields, record
from tests.ingest.reading import check, inventory, read

SMALLEST = 48 * 1024
"""Bytes of a stream; it is also read twice and four times as long."""
MOST, TWICE = 10.0, 6.0
"""Time that four times, and twice, the bytes may take, against once."""
FIXED_S = 0.03
"""Time that any dump may take: tables are made, and threads are started."""
TRIES = 4

Build = Callable[[int], bytes]
ROW = record(0, 1, at=60)
NOISE = np.random.default_rng(3).integers(0, 256, 1 << 20, np.uint8).tobytes()


def element(length: int, start: int = 0x1000) -> bytes:
    """A control element that announces a set of so many bytes."""
    return struct.pack(">BBBxII", 0xE2, 0x40, 0, start, start + length - 1)


def repeated(part: bytes) -> Build:
    return lambda size: part * (size // len(part))


def nested(size: int) -> bytes:
    """Every set claims all that follows, but for one byte: none ends where another begins."""
    count = size // (12 + len(ROW))
    sets = [element((count - n) * (12 + len(ROW)) - 13) + ROW for n in range(count)]
    return b"".join(sets)


def hidden(size: int) -> bytes:
    """Sets inside of the records of one another; each can be read to its end."""
    part = element(1 << 20) + record(0, 1, element(1 << 20) + ROW[:20], 60)
    return part * (size // len(part))


CAPTURES: dict[str, Build] = {
    "a byte behind every set": repeated(element(len(ROW)) + ROW + b"\5"),
    "sets that claim all that follows": nested,
    "sets that claim too much": repeated(element(1 << 24) + ROW),
    "sets that claim more than is held": repeated(element(1 << 30) + ROW),
    "sets of no bytes": repeated(element(220) + element(220) + ROW),
    "sets inside of records": hidden,
    "elements without records": repeated(element(4096)),
    "elements that overlap": repeated(b"\xe2" * 7 + b"\0\x14\0\0"),
    "small good sets": repeated(element(len(ROW)) + ROW),
    "a zero behind every set": repeated(element(len(ROW)) + ROW + b"\0"),
    "noise behind every set": repeated(element(len(ROW)) + ROW + NOISE[:900]),
    "noise": lambda size: NOISE[:size],
}
EVENTS = control(*[("E", 0x80000 + 100 * n, 0x80000 + 100 * n + 60) for n in range(338)])
FILES: dict[str, Build] = {
    "noise": lambda size: NOISE[:size],
    "control records of 338 entries": repeated(EVENTS),
    "control records off every frame": repeated(control(("S", 0, 1 << 24)) + NOISE[:7]),
    "cut control records": repeated(control(("E", 5, 1 << 24))[:100]),
    "event data off every frame": repeated(control(("E", 100, 1 << 24)) + bytes(50) + ROW * 100),
    "records of two kinds by turns": repeated((ROW + record(0, 2, at=60)) * 100 + bytes(96)),
    "one record in every frame": repeated(ROW.ljust(FRAME, b"\0")),
    "one record and noise in every frame": repeated((ROW + NOISE)[:FRAME]),
    "no record in any frame": repeated(b"\1" * FRAME),
    "an end of data in every frame": repeated(b"\1".ljust(FRAME, b"\0")),
    "a new system in every record": repeated(fields("mtrsys", 60, systmid="A")),
}
WRAPPED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda part: gzip.compress(part, 1),
    "zstd": lambda part: pa.compress(part, codec="zstd", asbytes=True),
}


def seconds(reader: Callable[[bytes, Container], object], data: bytes, how: Container) -> float:
    began = time.process_time()
    reader(data, how)
    return time.process_time() - began


def ratio(reader: Callable[[bytes, Container], object], build: Build, how: Container) -> float:
    """Time of four times the bytes against once, or of twice the bytes, if that is worse."""
    once, twice, four = (seconds(reader, build(SMALLEST * times), how) for times in (1, 2, 4))
    least = max(once, FIXED_S)
    return max(four / least, twice / least * MOST / TWICE)


def bounded(reader: Callable[[bytes, Container], object], build: Build, how: Container) -> None:
    """Compare times; a busy machine gets some more tries."""
    ratios: list[float] = []
    while len(ratios) < TRIES and not (ratios and min(ratios) <= MOST):
        ratios.append(ratio(reader, build, how))
    assert min(ratios) <= MOST, ratios


DUMPS = [
    *[pytest.param(b, Container.MONREADER, id=f"capture: {name}") for name, b in CAPTURES.items()],
    *[pytest.param(b, Container.MONWRITE, id=f"file: {name}") for name, b in FILES.items()],
]


@pytest.mark.slow
@pytest.mark.parametrize(("build", "how"), DUMPS)
def test_a_byte_costs_a_list_no_more_in_a_longer_dump(build: Build, how: Container):
    bounded(inventory, build, how)


@pytest.mark.long
@pytest.mark.parametrize(
    "reader", [pytest.param(read, id="ingest"), pytest.param(check, id="check")]
)
@pytest.mark.parametrize(("build", "how"), DUMPS)
def test_a_byte_costs_no_reader_more_in_a_longer_dump(
    build: Build, how: Container, reader: Callable[[bytes, Container], object]
):
    bounded(reader, build, how)


@pytest.mark.parametrize("compress", WRAPPED.values(), ids=WRAPPED)
def test_a_dump_in_many_compressed_parts_costs_no_more(compress: Callable[[bytes], bytes]):
    """Members of gzip and frames of zstd that hold a record each."""
    part = compress(element(len(ROW)) + ROW)
    bounded(inventory, repeated(part), Container.AUTO)
