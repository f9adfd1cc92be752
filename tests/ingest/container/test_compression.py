"""What transfers put around a dump is taken off, or refused by name; its rows are the same."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cpmon.core.errors import DumpError
from cpmon.ingest import Code, ingest
from cpmon.ingest.container import compression
from cpmon.ingest.container import source as sources
from cpmon.ingest.container.source import Source
from cpmon.store import Store
from tests.dumps import FRAME, dump, fields, interval
from tests.ingest.container.test_recognition import refused
from tests.scenarios import CONFIG, SAMPLE

DATA = dump(interval(60, CONFIG, SAMPLE), interval(120, SAMPLE), interval(180, SAMPLE))
FRAMES = [DATA[at : at + FRAME] for at in range(0, len(DATA), FRAME)]


def word(length: int) -> bytes:
    return struct.pack(">HH", length, 0)


def rdw(frames: list[bytes]) -> bytes:
    return b"".join(word(len(frame) + 4) + frame for frame in frames)


def stripped(frames: list[bytes]) -> list[bytes]:
    return [frame.rstrip(b"\0") or b"\0" for frame in frames]


def blocks(frames: list[bytes], most: int) -> bytes:
    parts = (rdw(frames[at : at + most]) for at in range(0, len(frames), most))
    return b"".join(word(len(part) + 4) + part for part in parts)


def tar(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        folder = tarfile.TarInfo("perf")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.mkdir("perf")
        for name, data in files:
            archive.writestr(name, data)
    return out.getvalue()


WRAPPED: dict[str, tuple[bytes, str]] = {
    "RDW": (rdw(FRAMES), "RDW"),
    "RDW, nulls stripped": (rdw(stripped(FRAMES)), "RDW"),
    "RDW, frames of nulls stripped": (rdw([frame.rstrip(b"\0") for frame in FRAMES]), "RDW"),
    "BDW and RDW": (blocks(FRAMES, 6), "BDW and RDW"),
    "BDW and RDW, a record a block": (blocks(FRAMES, 1), "BDW and RDW"),
    "BDW and RDW, nulls stripped": (blocks(stripped(FRAMES), 3), "BDW and RDW"),
    "tar": (tar(("perf/a.mon", DATA)), "tar"),
    "tar in gzip": (gzip.compress(tar(("a.mon", DATA))), "tar"),
    "RDW in tar in xz": (lzma.compress(tar(("a.mon", rdw(FRAMES)))), "RDW in tar"),
    "gzip in tar": (tar(("a.mon.gz", gzip.compress(DATA))), "gzip in tar"),
    "gzip in zip": (zipped(("a.mon.gz", gzip.compress(DATA))), "gzip"),
    "zip of macOS": (zipped(("a.mon", DATA), ("__MACOSX/._a.mon", b"beside")), ""),
    "zip": (zipped(("perf/a.mon", DATA)), ""),
    "zip, stored": (zipped(("a.mon", DATA), method=zipfile.ZIP_STORED), ""),
    "bzip2": (bz2.compress(DATA), ""),
    "bzip2, two streams": (bz2.compress(DATA[:FRAME]) + bz2.compress(DATA[FRAME:]), ""),
    "xz": (lzma.compress(DATA), ""),
    "xz, two streams and padding": (
        lzma.compress(DATA[:FRAME]) + lzma.compress(DATA[FRAME:]) + bytes(8),
        "",
    ),
}


@pytest.mark.parametrize(("stored", "wrapping"), WRAPPED.values(), ids=WRAPPED)
def test_what_is_around_a_dump_is_taken_off(
    stored: bytes, wrapping: str, tmp_path: Path, store: Store
):
    plain, file = tmp_path / "plain.mon", tmp_path / "a.mon"
    plain.write_bytes(DATA)
    file.write_bytes(stored)
    landed = ingest(file, store)
    alone = ingest(plain, Store(tmp_path / "other", create=True))
    for said in ("dump", "bytes", "first_tod", "intervals"):
        assert landed.about[said] == alone.about[said]
    rows, others = landed.about["rows"], alone.about["rows"]
    assert {t: rows[t] for t in rows if t != "finding"} == {
        t: others[t] for t in others if t != "finding"
    }
    further = landed.findings.counts.keys() - alone.findings.counts.keys()
    assert further == ({Code.UNWRAPPED} if wrapping else set())
    (dump,) = store.dumps()
    folder = store.find(dump.dump)
    assert folder is not None
    found = pq.ParquetFile(folder / "finding.parquet").read().to_pylist()
    details = [row["detail"] for row in found if row["code"] == "UNWRAPPED"]
    assert details == ([wrapping] if wrapping else [])


@pytest.mark.parametrize("at", [5, 4100 + 1, 3 * 4100 + 2])
def test_words_that_end_to_fit_cost_no_record_behind_them(at: int, tmp_path: Path, store: Store):
    file, stored = tmp_path / "a.mon", bytearray(rdw(FRAMES))
    if at > FRAME:
        stored[at // 4100 * 4100] = 0xFF
    else:
        del stored[len(stored) - at :]
    file.write_bytes(stored)
    landed = ingest(file, store)
    assert Code.UNWRAPPED in landed.findings.counts
    assert Code.WORDS_BROKEN in landed.findings.counts
    about = landed.about["bytes"]
    assert about["size"] == sum(n for name, n in about.items() if name != "size")


def padded(pieces: list[bytes], fill: bytes = b"\0") -> bytes:
    return b"".join(piece + fill * (-len(piece) % 80) for piece in pieces)


RECORDS = [fields("useact", 60 + n, vmduser=f"U{n}") for n in range(40)]
TAPE = b"".join(
    struct.pack("<HH", len(f), before) + b"\xa0\0" + f
    for f, before in zip(FRAMES, [0, *map(len, FRAMES)], strict=False)
)


@pytest.mark.parametrize(
    ("data", "what", "remedy"),
    [
        (b"\x7a\xc3\xc6\xc6" + bytes(8000), "a VMARC archive", "VMARC UNPK"),
        ("VOL1CPMON1".encode("cp037") + bytes(8000), "a tape with standard labels", "MOVEFILE"),
        ("HDR1".encode("cp037") + bytes(8000), "a tape with standard labels", "MOVEFILE"),
        (TAPE, "an AWSTAPE image", "tape image"),
        (
            b"".join(word(len(record) + 4) + record for record in RECORDS),
            "monitor records, each with a descriptor word",
            "MONWRITE wrote",
        ),
        (
            word(4 + 4 * len(RECORDS) + sum(map(len, RECORDS)))
            + b"".join(word(len(record) + 4) + record for record in RECORDS),
            "monitor records, each with a descriptor word",
            "MONWRITE wrote",
        ),
        (padded(FRAMES, b"\x40"), "a copy in records of 80 bytes", "MONWRITE wrote"),
        (b"\x50\xc0" + "INMR01".encode("cp037") + DATA, "a file in NETDATA format", "RECEIVE"),
        (b"7z\xbc\xaf\x27\x1c" + b"\x91" * 9000, "a 7-Zip archive", "unpack it"),
        (tar(("a.zip", zipped(("a.mon", DATA)))), "a zip archive in another archive", "unpack it"),
        (padded(FRAMES), "a copy in records of 80 bytes", "MONWRITE wrote"),
        (padded(RECORDS), "a copy in records of 80 bytes", "MONWRITE wrote"),
    ],
    ids=[
        *("vmarc", "VOL1", "HDR1", "awstape", "words", "words in blocks", "padded with blanks"),
        *("netdata", "7-Zip", "zip in tar", "padded frames", "padded records"),
    ],
)
def test_what_cannot_be_taken_off_is_named_with_what_to_do(
    data: bytes, what: str, remedy: str, tmp_path: Path, store: Store
):
    error = refused(data, tmp_path, store)
    assert error.problem == f"odd.mon is {what}"
    assert remedy in (error.remedy or "")


@pytest.mark.parametrize("first", [1, 2, 5, 7])
def test_terse_is_thought_of_where_nothing_else_fits(first: int, tmp_path: Path, store: Store):
    error = refused(bytes([first]) + b"\x91" * 9000, tmp_path, store)
    assert "TERSE" in (error.remedy or "")
    assert "COPYFILE" in (refused(b"\x91" * 9000, tmp_path, store).remedy or "")


@pytest.mark.parametrize("pack", [tar, zipped])
def test_an_archive_of_several_files_or_none_is_refused(
    pack: Callable[..., bytes], tmp_path: Path, store: Store
):
    several = refused(pack(("a.mon", DATA), ("b.mon", DATA)), tmp_path, store)
    assert "archive of several files" in several.problem
    assert several.found == "a.mon, b.mon"
    assert "archive of no file" in refused(pack(), tmp_path, store).problem


def test_a_zip_from_a_pipe_asks_for_the_file():
    stored = Source(io.BytesIO(zipped(("a.mon", DATA))), "standard input")
    with pytest.raises(DumpError, match="list at the end"):
        stored.readinto(memoryview(bytearray(100)))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_what_grows_without_end_is_refused(
    pack: Callable[[bytes], bytes],
    tmp_path: Path,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(sources, "FREE_BYTES", 1 << 20)
    error = refused(pack(DATA + bytes(16 << 20)), tmp_path, store)
    assert error.problem == "odd.mon grows too much when it is unpacked"


def test_layers_that_grow_without_end_are_refused(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
):
    """The outer layer grows; what comes out of the inner one is nothing."""
    monkeypatch.setattr(sources, "FREE_BYTES", 1 << 20)
    inner = gzip.compress(b"") * 100_000
    nothing = refused(tar(("a.gz", gzip.compress(inner))), tmp_path, store)
    assert "grows too much" in nothing.problem
    bomb = gzip.compress(gzip.compress(bytes(32 << 20), 9))
    assert "grows too much" in refused(bomb, tmp_path, store).problem


def test_words_of_nulls_that_grow_without_end_are_refused(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
):
    """Four bytes are a frame of 4096, so that 80 KB are 80 MB."""
    monkeypatch.setattr(sources, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(sources, "LARGEST_RATIO", 100)
    with peak_below(64 << 20):
        error = refused(rdw(FRAMES) + word(4) * 20_000, tmp_path, store)
    assert error.problem == "odd.mon grows too much when it is unpacked"


def test_frames_of_nulls_that_are_a_part_of_a_dump_are_not_refused(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sources, "FREE_BYTES", 1 << 20)
    file = tmp_path / "a.mon"
    file.write_bytes(rdw(stripped(FRAMES)) + word(4) * 1000 + rdw(FRAMES) * 20)
    assert ingest(file, store).about["rows"]["sytrsp"] == 3 * 21


@contextmanager
def peak_below(size: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def member(name: str, kind: bytes, size: int) -> bytes:
    """The header of a member of an archive, without its data."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def pax(**keys: str) -> bytes:
    """A pax header, as it stands in front of a member."""
    info = tarfile.TarInfo("a.mon")
    info.pax_headers = {key.replace("_", "."): text for key, text in keys.items()}
    return info.tobuf(tarfile.PAX_FORMAT)[:-512]


LARGE = 64 << 20
SPARSE = pax(GNU_sparse_major="1", GNU_sparse_minor="0") + member("a.mon", b"0", LARGE)


@pytest.mark.parametrize(
    "archive",
    [
        member("@", b"L", LARGE) + bytes(LARGE),
        member("@", b"x", LARGE) + bytes(LARGE),
        member("@", b"g", LARGE) + bytes(LARGE),
        pytest.param(SPARSE + b"9999999\n" + b"1\n" * (8 << 20), marks=pytest.mark.slow),
        member("._a", b"0", 1 << 50) + bytes(512),
    ],
    ids=["GNU", "pax", "global pax", "sparse", "passed over"],
)
def test_headers_of_an_archive_are_bounded(
    archive: bytes, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
):
    """By a quarter of what is allowed, which Python traces in a quarter of the time.

    Without the bound each peak is above 84 MB (the last archive is small). With it a peak is up to
    23 MB, and some 4 more when this process lands its first dump and imports what that takes.
    """
    monkeypatch.setattr(compression, "LARGEST_HEADERS", 1 << 20)
    stored = gzip.compress(archive, 1)
    with peak_below(40 << 20):
        error = refused(stored, tmp_path, store)
    assert error.problem == "odd.mon cannot be unpacked"
    assert error.found == "more than 1,048,576 bytes of headers"


BAD_NAME = zipped(("\u00e4.mon", DATA)).replace("\u00e4.mon".encode(), b"\xff\xff.mon")
LINKS = member("@", b"x", 512) + b"9 a=bcde\n".ljust(512, b"\0")


@pytest.mark.parametrize(
    "archive",
    [
        BAD_NAME,
        pax(GNU_sparse_map="abc") + member("a.mon", b"0", len(DATA)) + DATA,
        member("@", b"x", 5120) + (b"9" * 5000 + b" a=b").ljust(5120, b"\n") + DATA,
        SPARSE + b"9\n1",
        LINKS * 2000 + tar(("a.mon", DATA)),
    ],
    ids=["name in zip", "sparse map", "long length", "sparse map, cut", "many headers"],
)
def test_an_odd_archive_is_refused(archive: bytes, tmp_path: Path, store: Store):
    assert refused(archive, tmp_path, store).problem == "odd.mon cannot be unpacked"


def test_an_odd_header_behind_a_dump_of_an_archive_is_damage(tmp_path: Path, store: Store):
    file = tmp_path / "a.mon"
    file.write_bytes(
        member("a.mon", b"0", len(DATA)) + DATA + pax(GNU_sparse_map="abc") + member("b", b"0", 0)
    )
    landed = ingest(file, store)
    assert Code.COMPRESSED_CUT in landed.findings.counts
    assert landed.about["rows"]["sytrsp"] == 3


def test_a_hole_of_an_archive_that_grows_without_end_is_refused(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sources, "FREE_BYTES", 1 << 20)
    hole = pax(GNU_sparse_map=f"0,{len(DATA)}", GNU_sparse_size=str(1 << 50))
    error = refused(hole + member("a.mon", b"0", len(DATA)) + DATA, tmp_path, store)
    assert error.problem == "odd.mon grows too much when it is unpacked"


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_what_precedes_damage_lands(pack: Callable[[bytes], bytes], tmp_path: Path, store: Store):
    file, half = tmp_path / "a.mon", len(FRAMES) // 2 * FRAME
    file.write_bytes(pack(DATA[:half]) + pack(DATA[half:])[:-20])
    landed = ingest(file, store)
    assert Code.COMPRESSED_CUT in landed.findings.counts
    assert landed.about["bytes"]["size"] >= half


def test_a_zip_archive_that_was_cut_is_refused(tmp_path: Path, store: Store):
    error = refused(zipped(("a.mon", DATA))[:-30], tmp_path, store)
    assert error.problem == "odd.mon cannot be unpacked"
