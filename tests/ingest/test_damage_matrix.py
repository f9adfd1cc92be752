"""Every kind of damage through every reader: the finding and its place, the books, what survives.

The dump has a set of event data, and four samples of three frames, a kind of record in each.
Places are chosen with the plain reader.
"""

from __future__ import annotations

import functools
import gzip
import io
import itertools
import json
import struct
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpmon.cli.dump.diagnosis import check_dump
from cpmon.cli.main import Status, run
from cpmon.generate import damaged, parse_damage
from cpmon.generate.damage.kinds import CUT_COMPRESSED, KINDS
from cpmon.ingest import ingest
from cpmon.ingest.container.source import Source
from cpmon.ingest.findings import Code
from cpmon.store import Store, connect
from tests import dumps
from tests.dumps import control, fields, frame, frame_end, interval_end
from tests.generate.plain_reader import FRAME, Record, Set, records, sets
from tests.ingest.damaged import FEW, Back, Offsets, Seen, at_home, check_rows, shifted
from tests.ingest.reading import deltas_of, read
from tests.scenarios import CONFIG, capture


@functools.cache
def whole() -> bytes:
    event = fields("mtrepr", config=1)
    sets = [control(("E", 0x80000, 0x80000 + len(event) - 1)) + frame(event)]
    for number in range(1, 5):
        at, head = 60 * number, CONFIG if number == 1 else b""
        storage = [
            fields("sytrsp", at - 3 + n / 10, pfxcpuad=n, plsmvb2g=number << n) for n in range(9)
        ]
        users = [
            fields(
                "useact", at - 2 + n / 10, vmduser=f"USER{n}", vmdttime=(n * 7919 * number) << 19
            )
            for n in range(9)
        ]
        devices = [
            fields("ioddev", at - 1 + n / 10, rdevdev=0x500 + n, scgssch=n * 6271 * number)
            for n in range(9)
        ]
        sets.append(
            dumps.samples(
                frame(head, *storage, frame_end(at - 2.1)),
                frame(*users, frame_end(at - 1.1)),
                frame(*devices, interval_end(at)),
            )
        )
    return b"".join([*sets, bytes(FRAME)])


@functools.cache
def samples() -> list[Set]:
    return [part for part in sets(whole()) if part.flag == 0xE2]


PART = samples()[1]
FIRST = PART.offset + FRAME
"""The second frame of the second sample."""
NEXT = FIRST + FRAME
BEHIND = PART.offset + PART.end - PART.start + 1
END = len(whole())
LAST = samples()[-1]


def victim() -> Record:
    """A record of that frame that is neither its first nor its last, and long."""
    return next(r for r in records(whole()) if r.offset > FIRST + 500 and len(r.data) > 180)


HIT = victim().offset
LENGTH = len(victim().data)


def swapped(first: int) -> Back:
    """Where rows were before a frame and the next one changed places."""

    def back(offsets: Offsets) -> Offsets:
        inside = (offsets >= first) & (offsets < first + 2 * FRAME)
        return np.where(inside, (offsets - first + FRAME) % (2 * FRAME) + first, offsets)

    return back


@dataclass(frozen=True)
class Case:
    """A damage and what must come of it.

    `codes`: exactly these, with the place of the first. `lost`: offsets whose records are not
    compared. `back`: where rows were before. `without`: columns that differ. `captured`: whether a
    capture can be damaged in the same way. `counts`: of the codes that are found more than once.
    """

    damage: str
    status: Status
    codes: dict[Code, int]
    lost: range = range(0)
    back: Back = at_home
    without: tuple[str, ...] = ()
    captured: bool = False
    counts: dict[Code, int] = field(default_factory=dict)


REST = range(HIT, NEXT)
RECORD = range(HIT, HIT + LENGTH)
OPEN = ("interval_end",)
CASES = [
    Case(
        f"truncate:{HIT + 30}",
        Status.DAMAGED,
        {Code.TRUNCATED: HIT + 30, Code.RECORD_LONG: HIT, Code.INTERVAL_OPEN: PART.offset},
        range(HIT, END),
        without=OPEN,
        counts={Code.INTERVAL_OPEN: 13},  # 9 of storage, the end of their frame, and 3 users
    ),
    Case(f"truncate:{BEHIND}", Status.DONE, {Code.END_MISSING: BEHIND}, range(BEHIND, END)),
    Case(f"flip-bits:{HIT + 2}:2", Status.DAMAGED, {Code.HEADER_BAD: HIT}, REST, captured=True),
    Case(
        f"zero-frames:{FIRST}",
        Status.WARNINGS,
        {Code.FRAME_EMPTY: FIRST},
        range(FIRST, NEXT),
        captured=True,
    ),
    Case(
        f"zero-frames:{PART.offset}:2",
        Status.WARNINGS,
        {Code.FRAME_EMPTY: PART.offset},
        range(PART.offset, NEXT),
        counts={Code.FRAME_EMPTY: 2},
    ),
    Case(
        f"repeat-frames:{FIRST}",
        Status.WARNINGS,
        {Code.FRAME_ORPHAN: BEHIND, Code.TOD_DISORDER: NEXT},
        back=shifted(NEXT, FRAME),
    ),
    Case(
        f"swap-frames:{PART.offset}",
        Status.DONE,
        {Code.TOD_DISORDER: FIRST},
        back=swapped(PART.offset),
        captured=True,
    ),
    Case(
        f"swap-frames:{FIRST}",
        Status.DONE,
        {Code.TOD_DISORDER: NEXT},
        back=swapped(FIRST),
        without=OPEN,
    ),
    Case(f"length-short:{HIT}", Status.DAMAGED, {Code.RECORD_SHORT: HIT}, REST, captured=True),
    Case(
        f"length-long:{HIT}",
        Status.DAMAGED,
        {Code.RECORD_LONGER: HIT, Code.HEADER_BAD: HIT + LENGTH + 4},
        REST,
        captured=True,
    ),
    Case(
        f"length-short:{HIT}:{LENGTH - 100}",
        Status.DAMAGED,
        {Code.RECORD_SHORT: HIT + LENGTH - 100},
        REST,
    ),
    Case(f"length-past-frame:{HIT}", Status.DAMAGED, {Code.RECORD_LONG: HIT}, REST, captured=True),
    Case(f"wrong-domain:{HIT}", Status.DONE, {Code.LAYOUT_UNKNOWN: HIT}, RECORD, captured=True),
    Case(f"unknown-record:{HIT}", Status.DONE, {Code.LAYOUT_UNKNOWN: HIT}, RECORD, captured=True),
    Case(
        f"tod-back:{PART.control}",
        Status.WARNINGS,
        {
            Code.TOD_BACK: next(
                r.offset
                for r in records(whole())
                if r.offset > NEXT and r.number == 11 and r.domain == 1
            )
        },
        without=("tod", "tod_us", "interval_end"),
        captured=True,
    ),
    Case(
        f"control-missing:{PART.control}",
        Status.WARNINGS,
        {Code.FRAME_ORPHAN: PART.control},
        back=shifted(PART.control, -FRAME),
        counts={Code.FRAME_ORPHAN: 3},
    ),
    *[
        Case(
            f"control-missing:{part.control}",
            Status.WARNINGS,
            {Code.FRAME_ORPHAN: part.control},
            back=shifted(part.control, -FRAME),
            counts={Code.FRAME_ORPHAN: 3},
        )
        for part in (samples()[0], LAST)
    ],
    Case("flip-bits:40", Status.DAMAGED, {Code.FRAME_LOST: 0, Code.FRAME_ORPHAN: FRAME}),
    Case(
        f"control-lies:{LAST.control}",
        Status.WARNINGS,
        {Code.TRUNCATED: END, Code.FRAME_EMPTY: END - FRAME},
    ),
    Case(f"control-lies:{PART.control}", Status.WARNINGS, {Code.CONTROL_CUT: BEHIND}),
    Case(f"control-lies:{PART.control}:-1", Status.WARNINGS, {Code.FRAME_ORPHAN: BEHIND - FRAME}),
    Case("end-missing", Status.DONE, {Code.END_MISSING: END - FRAME}),
    *[
        Case(
            f"trailing-garbage::{size}",
            Status.DAMAGED,
            {Code.TRAILING_DATA: END, Code.FRAME_LOST: END},
            counts={Code.FRAME_LOST: -(-size // FRAME)},
        )
        for size in (5000, 10)
    ],
]
REFUSED = {
    "to-ascii": "was transferred as text",
    "line-ends": "was transferred as text",
}

TAKEN_OFF = ("record-prefixes", "block-prefixes")


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


STORED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstd": zstd,
    "stream": bytes,
}
QUICK, OTHERS = "gzip", ("plain", "zstd", "stream")
READERS = [QUICK, *(pytest.param(reader, marks=pytest.mark.slow) for reader in OTHERS)]


def each_by_two() -> list[Any]:
    """Each case by the quick reader and by one of the others, in turn.

    What a file or a pipe holds is the same behind all of them: a few cases by each show that.
    """
    trials = [(case, QUICK, ()) for case in CASES]
    trials += [(c, r, pytest.mark.long) for c, r in zip(CASES, itertools.cycle(OTHERS))]
    return [pytest.param(c, r, marks=m, id=f"{c.damage}-{r}") for c, r, m in trials]


def do(damage: str, data: bytes) -> bytes:
    return b"".join(damaged([data], [parse_damage(damage)], 1, len(data)))


@dataclass
class Bench:
    """Reads a dump by the commands, and looks at what they say and land."""

    folder: Path
    reader: str
    monkeypatch: pytest.MonkeyPatch
    said: pytest.CaptureFixture[str]

    def command(self, stored: bytes, *words: str) -> tuple[Status, str]:
        """A command with the dump as its argument, or on standard input."""
        file = self.folder / "a.mon"
        file.write_bytes(stored)
        if self.reader == "stream":
            self.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stored)))
        self.said.readouterr()
        with deltas_of(*FEW):
            status = run([words[0], "-" if self.reader == "stream" else str(file), *words[1:]])
        told = self.said.readouterr()
        assert "Traceback" not in told.err and "failure of cpmon" not in told.err
        return status, told.out + told.err

    def read(self, data: bytes, *, stored: bytes | None = None) -> tuple[Status, Seen]:
        """Check and ingest; both must find the same, and both keep exact books."""
        stored = STORED.get(self.reader, bytes)(data) if stored is None else stored
        status, told = self.command(stored, "check", "--format", "json")
        (checked,) = json.loads(told)
        check_books(checked["bytes"], len(data))
        codes: dict[Code, tuple[int, int]] = {}
        for found in checked["findings"]:
            code = Code[found["code"]]
            if code is Code.SAMPLE_MISSING:  # of a lost record its object misses: no ingest asks
                continue
            at, count = codes.get(code, (found["record_offset"], 0))
            codes[code] = at, count + found["count"]
        seen = self.land(data, stored, status)
        assert seen.told == codes
        assert seen.about["bytes"] == checked["bytes"]
        return status, seen

    def land(self, data: bytes, stored: bytes, status: Status | None = None) -> Seen:
        """Ingest; what is told must be in the store."""
        store = Store(self.folder / "store", create=True)
        landed, told = self.command(stored, "ingest", "--store", str(store.root))
        assert status is None or landed == status, told
        ((dump, folder),) = [(landed.dump, store.root / landed.folder) for landed in store.dumps()]
        about = store.about(dump)
        assert about is not None
        check_books(about["bytes"], len(data))
        tables = {f.stem: pq.ParquetFile(f).read() for f in folder.glob("*.parquet")}
        codes = findings_of(tables.get("finding"))
        assert {code.name: count for code, (_, count) in codes.items()} == about["findings"]
        assert all(f"{code.name} x " in told and code.remedy in told for code in codes)
        return Seen(tables, codes, about)


def check_books(books: dict[str, int], size: int) -> None:
    """All bytes are decoded, raw, in quarantine, or filler."""
    parts = {name: count for name, count in books.items() if name != "size"}
    assert books["size"] == sum(parts.values()) == size
    assert min(parts.values()) >= 0


def findings_of(landed: pa.Table | None) -> dict[Code, tuple[int, int]]:
    """The findings in a store: where the first of each code is, and how many there are."""
    found: dict[Code, tuple[int, int]] = {}
    for row in landed.to_pylist() if landed is not None else []:
        code = Code[row["code"]]
        assert row["severity"] == code.severity
        assert (row["meaning"], row["remedy"]) == (code.meaning, code.remedy)
        at, count = found.get(code, (row["record_offset"], 0))
        found[code] = min(at, row["record_offset"]), count + row["count"]
    return found


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[str], Bench]:
    return lambda reader: Bench(tmp_path, reader, monkeypatch, capfd)


@functools.cache
def intact(captured: bool) -> Seen:
    """The rows of the undamaged dump."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "a.mon"
        file.write_bytes(capture(whole()) if captured else whole())
        store = Store(Path(name) / "store", create=True)
        landed = ingest(file, store)
        assert not landed.findings.counts
        folder = store.find(landed.dump)
        assert folder is not None
        tables = {f.stem: pq.ParquetFile(f).read() for f in folder.glob("*.parquet")}
        return Seen(tables, {}, landed.about)


@pytest.mark.parametrize(("case", "reader"), each_by_two())
def test_damage_is_told_and_costs_no_more_than_it_must(
    case: Case, reader: str, bench: Callable[[str], Bench]
):
    status, seen = bench(reader).read(do(case.damage, whole()))
    assert seen.told == {code: (at, case.counts.get(code, 1)) for code, at in case.codes.items()}
    assert status is case.status
    check_rows(seen, intact(False), case.lost, case.back, case.without)


def places() -> list[tuple[int, int]]:
    """(place in the file, place in the capture) of the data of every set."""
    found, at = [], 0
    for part in sets(whole()):
        found.append((part.offset, at + 12))
        at += 12 + part.end - part.start + 1
    return found


def in_capture(offset: int) -> int:
    """Where a byte of the file's data is in the capture."""
    there, here = max((a, b) for a, b in places() if a <= offset)
    return offset - there + here


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.captured], ids=lambda case: case.damage
)
def test_damage_of_a_capture_is_told_and_costs_no_more_than_it_must(
    case: Case, bench: Callable[[str], Bench]
):
    """The damage is done to the file that the capture is made of: records, not what wraps them."""
    status, seen = bench("monreader").read(capture(do(case.damage, whole())))
    assert {c: at for c, (at, _) in seen.told.items()} == {
        c: in_capture(at) for c, at in case.codes.items()
    }
    assert status is case.status
    lost = range(in_capture(case.lost.start), in_capture(case.lost.stop)) if case.lost else range(0)

    def back(offsets: Offsets) -> Offsets:
        shift = in_capture(FIRST) - FIRST
        return case.back(offsets - shift) + shift

    check_rows(seen, intact(True), lost, back, case.without)


def test_a_truncated_capture_lacks_its_last_set_alone(bench: Callable[[str], Bench]):
    stream = capture(whole())
    begin = in_capture(samples()[-1].offset) - 12
    status, seen = bench("monreader").read(stream[: begin + 5000])
    assert {code: at for code, (at, _) in seen.told.items()} == {Code.TRUNCATED: begin + 5000}
    assert status is Status.WARNINGS
    assert seen.about["bytes"]["quarantined"] == 5000
    check_rows(seen, intact(True), range(begin, len(stream)))


def test_an_element_that_lies_costs_itself_and_not_its_neighbours(bench: Callable[[str], Bench]):
    stream = bytearray(capture(whole()))
    begin = in_capture(PART.offset) - 12
    (end,) = struct.unpack_from(">I", stream, begin + 8)
    struct.pack_into(">I", stream, begin + 8, end + 0x100000)
    status, seen = bench("monreader").read(bytes(stream))
    assert {c: at for c, (at, _) in seen.told.items()} == {
        Code.CONTROL_CUT: in_capture(BEHIND - 1) + 1
    }
    assert status is Status.WARNINGS
    check_rows(seen, intact(True))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("damage", REFUSED)
def test_what_cannot_be_read_is_refused_with_what_to_do(
    damage: str, reader: str, bench: Callable[[str], Bench], tmp_path: Path
):
    stored = STORED[reader](do(damage, whole()))
    store = str(tmp_path / "store")
    for words in (("check",), ("list",), ("ingest", "--store", store)):
        status, told = bench(reader).command(stored, *words)
        assert status is Status.DAMAGED
        assert REFUSED[damage] in told
        assert "nothing was landed" in told and "transfer it again in binary" in told
    assert not Path(store).exists()


def test_a_cut_gzip_file_lands_all_that_can_be_decompressed(bench: Callable[[str], Bench]):
    stored = STORED["gzip"](whole())
    stored = stored[: len(stored) * 3 // 4]
    size = len(zlib.decompressobj(wbits=31).decompress(stored))
    status, seen = bench("gzip").read(whole()[:size], stored=stored)
    assert seen.told[Code.COMPRESSED_CUT] == (size, 1)
    assert status in (Status.WARNINGS, Status.DAMAGED)
    ends = [part.offset + part.end - part.start + 1 for part in samples()]
    kept = max(end for end in ends if end <= size)
    check_rows(seen, intact(False), range(kept, END))


def test_a_cut_zstd_file_lands_all_that_can_be_decompressed(bench: Callable[[str], Bench]):
    """Two frames of zstd, as `cat a.zst b.zst` makes them; the second is cut."""
    first = zstd(whole()[:BEHIND])
    stored = first + zstd(whole()[BEHIND:])[:-100]
    status, seen = bench("zstd").read(whole()[:BEHIND], stored=stored)
    assert {code: at for code, (at, _) in seen.told.items()} == {
        Code.COMPRESSED_CUT: BEHIND,
        Code.END_MISSING: BEHIND,
    }
    assert status is Status.WARNINGS
    check_rows(seen, intact(False), range(BEHIND, END))


def test_a_bit_flipped_in_gzip_costs_nothing_in_front_of_it(bench: Callable[[str], Bench]):
    """The file is smaller than what is decompressed at once."""
    stored = bytearray(STORED["gzip"](whole()))
    place = len(stored) * 2 // 3
    stored[place : place + 8] = b"\xff" * 8
    got = inflated(bytes(stored))
    size = len(got)
    same = next((n for n in range(size) if got[n] != whole()[n]), size)
    seen = bench("gzip").land(got, bytes(stored))
    assert seen.told[Code.COMPRESSED_CUT] == (size, 1)
    good = same // FRAME * FRAME
    assert good > samples()[1].offset
    check_rows(seen, intact(False), range(good, END), without=OPEN)


def inflated(stored: bytes) -> bytes:
    """What zlib gives, byte by byte, before it meets the damage."""
    got, member = b"", zlib.decompressobj(wbits=31)
    try:
        while piece := member.decompress(stored, 1):
            got += piece
            stored = member.unconsumed_tail
    except zlib.error:
        pass
    return got


def test_findings_are_rows_of_the_store(bench: Callable[[str], Bench], tmp_path: Path):
    bench("plain").read(do(f"length-short:{HIT}", whole()))
    with connect(Store(tmp_path / "store")) as connection:
        found = connection.sql(
            "SELECT code, severity, record_offset, meaning, remedy FROM meta.finding"
        ).fetchall()
    code = Code.RECORD_SHORT
    assert found == [(code.name, "data_loss", HIT, code.meaning, code.remedy)]


def test_every_kind_of_damage_is_in_the_matrix():
    done = {case.damage.partition(":")[0] for case in CASES} | set(REFUSED) | {CUT_COMPRESSED}
    assert done | set(TAKEN_OFF) == set(KINDS)


def test_a_cut_tells_how_much_is_missing():
    reading = read(whole()[: HIT + 30])
    (cut,) = [row["detail"] for row in reading.findings if row["code"] == Code.TRUNCATED.name]
    assert f"{BEHIND - HIT - 30} bytes announced by the last control record are missing" in cut
    assert reading.bytes["quarantined"] == 30


@pytest.mark.parametrize("damage", TAKEN_OFF)
def test_words_in_front_of_records_are_taken_off(damage: str):
    with deltas_of(*FEW):
        checked = check_dump(Source(io.BytesIO(do(damage, whole())), "a.mon"))
        plain = check_dump(Source(io.BytesIO(whole()), "a.mon"))
    assert checked.bytes == plain.bytes
    assert checked.findings.counts == plain.findings.counts | {Code.UNWRAPPED: 1}


@pytest.mark.parametrize("code", Code, ids=lambda code: code.name)
def test_every_finding_says_what_it_means_and_what_to_do(code: Code):
    assert code.severity in ("info", "warning", "data_loss")
    assert code.meaning.endswith(".") and len(code.meaning) > 30
    assert code.remedy.endswith(".") and len(code.remedy) > 20
    assert sum(other.meaning == code.meaning for other in Code) == 1
