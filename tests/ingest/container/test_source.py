from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from cpmon.core.errors import CpmonError, DumpError
from cpmon.ingest import Code, ingest
from cpmon.ingest.container.source import Source, open_source
from cpmon.store import Store
from tests.dumps import END, dump, interval
from tests.ingest.container.failing import fail_behind
from tests.ingest.container.test_compression import tar, zipped
from tests.scenarios import CONFIG, SAMPLE

Pack = Callable[[bytes], bytes]
DATA = dump(interval(60, CONFIG, SAMPLE), interval(120, SAMPLE))


def read(source: Source, size: int = 1000) -> bytes:
    parts, buffer = [], memoryview(bytearray(size))
    while got := source.readinto(buffer):
        parts.append(bytes(buffer[:got]))
    return b"".join(parts)


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_the_same_bytes_have_one_identity(pack: Pack):
    plain, packed = Source(io.BytesIO(DATA), "a"), Source(io.BytesIO(pack(DATA)), "b")

    assert read(packed, 777) == read(plain) == DATA
    assert packed.identity == plain.identity
    assert packed.size == len(DATA)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_compressed_members_may_follow_each_other(pack: Pack):
    assert read(Source(io.BytesIO(pack(DATA[:5000]) + pack(DATA[5000:])), "a")) == DATA


def test_zeros_behind_a_gzip_member_are_padding():
    source = Source(io.BytesIO(gzip.compress(DATA) + bytes(512)), "a")

    assert read(source) == DATA
    assert source.damage is None


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_cut_compressed_file_lands_what_can_be_read(pack: Pack, tmp_path: Path, store: Store):
    noise = bytes(zlib.crc32(n.to_bytes(3, "big")) & 255 for n in range(300_000))
    body = interval(60, CONFIG, SAMPLE) + noise[: len(noise) // 4096 * 4096] + END
    stored = pack(body)
    file = tmp_path / "cut.mon"
    file.write_bytes(stored[: len(stored) * 9 // 10])

    landed = ingest(file, store, accept_damage=True)

    assert landed.about["rows"]["sytrsp"] == 1
    assert Code.COMPRESSED_CUT in landed.findings.counts


def test_the_identity_tells_dumps_apart():
    sources = [Source(io.BytesIO(data), "a") for data in (DATA, DATA + END)]
    for source in sources:
        read(source)

    assert sources[0].identity != sources[1].identity


def test_a_missing_file_is_named_with_a_remedy(tmp_path: Path):
    with pytest.raises(CpmonError) as caught, open_source(tmp_path / "none.mon"):
        pass
    assert not isinstance(caught.value, DumpError), "nothing is known of what is in it"
    assert "none.mon" in caught.value.problem
    assert caught.value.remedy


def test_a_named_pipe_is_opened_once(tmp_path: Path, store: Store):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(DATA,), daemon=True)
    writer.start()

    landed = ingest(pipe, store)
    writer.join()

    assert landed.about["bytes"]["size"] == len(DATA)
    assert landed.about["rows"]["sytrsp"] == 2


READ_ERRORS: dict[str, Pack] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
    "tar": lambda data: tar(("a.mon", data)),
    "gzip in tar": lambda data: tar(("a.mon.gz", gzip.compress(data))),
    "tar in gzip": lambda data: gzip.compress(tar(("a.mon", data))),
    "zip": lambda data: zipped(("a.mon", data)),
}


@pytest.mark.parametrize(
    ("pack", "readable", "number"),
    [
        *((pack, readable, errno.EIO) for pack in READ_ERRORS.values() for readable in (0.0, 0.5)),
        (bytes, 0.5, errno.ESTALE),
    ],
)
def test_what_cannot_be_read_to_its_end_is_no_damage_and_lands_once(
    pack: Pack,
    readable: float,
    number: int,
    tmp_path: Path,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
):
    file = tmp_path / "a.mon"
    file.write_bytes(pack(DATA + dump(interval(180, os.urandom(3000))) * 100))
    with monkeypatch.context() as patch:
        fail_behind(patch, int(file.stat().st_size * readable), number)
        with pytest.raises(CpmonError) as caught:
            ingest(file, store)
    assert not isinstance(caught.value, DumpError), "it may be a good dump"
    assert caught.value.problem == f"a.mon cannot be read to its end: {os.strerror(number)}"
    assert [*store.dumps()] == []
    ingest(file, store, accept_damage=True)
    assert len([*store.dumps()]) == 1
