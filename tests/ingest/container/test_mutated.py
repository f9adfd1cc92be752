"""Archives, compressed files and transfers with changed bytes: findings or a refusal."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from cpmon.core.errors import DumpError
from cpmon.ingest.container.source import open_source
from cpmon.ingest.container.windows import windows
from cpmon.ingest.decode.reader import Reader
from tests.ingest.container.test_compression import DATA, WRAPPED
from tests.ingest.container.test_framing import BLOCKS, LINES, WORDS, blocked, frames
from tools.fuzz_readers import BESIDE

BLOCKED = [("none", LINES), *((block, WORDS) for block in ("none", "BDW", "extended BDW"))]
STORED = {
    **{kind: stored for kind, (stored, _) in WRAPPED.items()},
    **{
        f"{block}, {word}": blocked([*map(around, frames(DATA))], BLOCKS[block], 30_000)
        for block, words in BLOCKED
        for word, around in words.items()
    },
}


def changed(data: bytes, random: np.random.Generator) -> bytes:
    """Some bytes are others, missing, repeated or put in; heads and ends more often than others."""
    bent = bytearray(data)
    for _ in range(random.integers(1, 4)):
        size = int(random.choice([1, 1, 2, 4, 64, 5000]))
        ends = [random.integers(0, 64), len(bent) - random.integers(1, 200)]
        at = int(max(0, random.choice([*ends, random.integers(0, len(bent) + 1)])))
        piece = bytes(bent[at : at + size])
        match random.integers(0, 5):
            case 0:
                bent[at : at + size] = random.bytes(len(piece))
            case 1:
                bent[at : at + size] = random.choice([b"\0", b"\xff", b"\x80"]) * len(piece)
            case 2:
                del bent[at : at + size]
            case 3:
                bent[at:at] = piece
            case _:
                del bent[int(random.integers(0, len(bent) + 1)) :]
    return bytes(bent)


def read(file: Path) -> int:
    """Number of records that a reader finds in a file; its books must balance."""
    rows = 0
    with open_source(file) as source:
        reader = Reader(source)
        for window in windows(reader.source, reader.framer):
            rows += sum(len(table) for name, table in reader.tables(window) if name not in BESIDE)
        rows += sum(len(table) for name, table in reader.rest() if name not in BESIDE)
        reader.finish()
        books = reader.bytes.as_dict()
        assert books.pop("size") == sum(books.values()) == source.size
        assert min(books.values()) >= 0
    return rows


@pytest.mark.parametrize("times", [2, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", STORED)
def test_changed_bytes_around_a_dump_are_findings_or_a_refusal(
    kind: str, tmp_path: Path, times: int
):
    random, file = np.random.default_rng(sum(kind.encode())), tmp_path / "a"
    file.write_bytes(STORED[kind])
    assert read(file) > 0
    for _ in range(times):
        file.write_bytes(changed(STORED[kind], random))
        with suppress(DumpError):
            read(file)
