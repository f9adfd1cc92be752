"""Every kind of damage, done to a generated dump: what is told of it, and what lands all the same.

The dump has five samples of 36 frames and more. Places are chosen with the plain reader, so that
neither the damage nor its readers say where the damage is.
"""

from __future__ import annotations

import functools
import gzip
import io
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

from cpmon.cli.dump.diagnosis import check_dump
from cpmon.core.errors import DumpError
from cpmon.generate import (
    DamageError,
    damaged,
    dump_frames,
    load_scenario,
    parse_damage,
    parse_scenario,
    write_run,
)
from cpmon.generate.damage.kinds import KINDS
from cpmon.ingest import Code, ingest
from cpmon.ingest.container.source import Source
from cpmon.ingest.inspect.inventory import take_inventory
from cpmon.store import Store
from tests.examples import few_or_many, tried
from tests.generate.figures import dump_of
from tests.generate.plain_reader import FRAME, Record, Set, records, sets
from tests.generate.scenario.test_scenario import SMALL
from tests.ingest.reading import deltas_of

BESIDE = {"interval", "finding", "quarantine"}
HOUR = 3600
PIECE = 100_000

Offsets = np.ndarray[Any, np.dtype[np.int64]]
Back = Callable[[Offsets], Offsets]


@functools.cache
def whole() -> bytes:
    return dump_of("timer", "2600P", 4)


@functools.cache
def every_record() -> list[Record]:
    return list(records(whole()))


def sample(number: int) -> Set:
    return [part for part in sets(whole()) if part.flag == 0xE2][number]


def behind(part: Set) -> int:
    """Offset behind a set's last frame."""
    return part.offset + part.end - part.start + 1


FRAME_3 = 3 * FRAME
"""A frame in the midst of a sample."""


def victim(place: int, length: int = 0) -> Record:
    """The first record at a place or behind that closes nothing and is at least so long."""
    closing = {(1, 11), (1, 13)}
    return next(
        r
        for r in every_record()
        if r.offset >= place and (r.domain, r.number) not in closing and len(r.data) >= length
    )


def do(*kinds: str, data: bytes | None = None, seed: int = 1) -> bytes:
    """The dump with damage; it comes in pieces that have nothing to do with its frames."""
    data = whole() if data is None else data
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    return b"".join(damaged(pieces, [parse_damage(kind) for kind in kinds], seed, len(data)))


@dataclass(frozen=True)
class Seen:
    """A dump through ingest, check and list. `told`: code -> offset of the first, and count."""

    tables: dict[str, pa.Table]
    told: dict[Code, tuple[int, int]]
    about: dict[str, Any]


FEW = "useact", "sytprp", "ioddev"
"""Tables whose deltas are judged of most dumps."""


def look(
    data: bytes, folder: Path, *, stored: bytes | None = None, all_deltas: bool = False
) -> Seen:
    """Read a dump in three ways, which must agree and account for every byte."""
    file = folder / "damaged.mon"
    file.write_bytes(data if stored is None else stored)
    store = Store(folder / "store", create=True)
    landed = ingest(file, store)
    parts = dict(landed.about["bytes"])
    assert parts.pop("size") == sum(parts.values()) == len(data)
    landing = store.find(landed.dump)
    assert landing is not None
    tables = {f.stem: pq.ParquetFile(f).read() for f in landing.glob("*.parquet")}

    with nullcontext() if all_deltas else deltas_of(*FEW):
        again = check_dump(Source(io.BytesIO(file.read_bytes()), "damaged.mon"))
    assert again.bytes.as_dict() == landed.about["bytes"]
    assert set(landed.findings.counts) <= set(again.findings.counts)
    listed = take_inventory(Source(io.BytesIO(file.read_bytes()), "damaged.mon"))
    assert listed.size == len(data)
    cut = Code.COMPRESSED_CUT
    assert listed.findings.counts[cut] == again.findings.counts[cut]
    rows = {n: len(t) for n, t in tables.items() if n == "record_raw" or "_" not in n}
    many = sum(count for name, count in rows.items() if name not in BESIDE)
    assert sum(count for count, _ in listed.records.values()) == many

    if "quarantine" in tables:
        kept = tables["quarantine"].to_pylist()
        assert all(data[q["record_offset"] :].startswith(q["data"]) for q in kept)
        assert sum(len(q["data"]) for q in kept) == parts["quarantined"]
    else:
        assert parts["quarantined"] == 0
    told = {
        code: (next(f.offset for f in again.findings.kept if f.code is code), count)
        for code, count in again.findings.counts.items()
        if code is not Code.SAMPLE_MISSING  # of a lost record that its object misses
    }
    return Seen(tables, told, landed.about)


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    seen = look(whole(), tmp_path_factory.mktemp("intact"), all_deltas=True)
    assert seen.told == {}
    return seen


def at_home(offsets: Offsets) -> Offsets:
    return offsets


def shifted(at: int, by: int) -> Back:
    """Where rows were before bytes were put in at `at`, or taken out; -1 for those put in."""

    def back(offsets: Offsets) -> Offsets:
        moved = np.where(offsets >= at + max(by, 0), offsets - by, offsets)
        return np.where((offsets >= at) & (offsets < at + by), -1, moved)

    return back


def check_rows(
    seen: Seen,
    intact: Seen,
    lost: range = range(0),
    back: Back = at_home,
    without: tuple[str, ...] = (),
) -> None:
    """The rows of records that no damage touched are equal in all tables, and none is missing.

    Args:
        lost: offsets in the intact dump whose records are not compared.
        back: offsets in the intact dump of those in the damaged one; -1 for what is new.
        without: columns that are not compared.
    """
    names = (seen.tables.keys() | intact.tables.keys()) - BESIDE - {"record_raw"}
    for name in names:
        first = next(s.tables[name] for s in (intact, seen) if name in s.tables)
        tables = (s.tables.get(name, first.slice(0, 0)) for s in (intact, seen))
        mine, other = (
            _plain(table, lost, where, without)
            for table, where in zip(tables, (at_home, back), strict=True)
        )
        assert mine.equals(other), name


def _plain(table: pa.Table, lost: range, back: Back, without: tuple[str, ...]) -> pa.Table:
    offsets = back(table["record_offset"].to_numpy().astype(np.int64))
    kept = (offsets >= 0) & ((offsets < lost.start) | (offsets >= lost.stop))
    number = table.column_names.index("record_offset")
    table = table.set_column(number, "record_offset", pa.array(offsets)).filter(pa.array(kept))
    for place, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            text = table[column.name].cast(column.type.value_type)
            table = table.set_column(place, column.name, text)
    keys = [key for key in ("record_offset", "entry") if key in table.column_names]
    ordered = table.sort_by([(key, "ascending") for key in keys])
    return ordered.drop_columns([c for c in without if c in table.column_names])


def before(table: pa.Table, offset: int) -> pa.Table:
    """The rows of records in front of an offset."""
    return table.filter(pa.array(table["record_offset"].to_numpy() < offset))


def check_rows_before(seen: Seen, intact: Seen, offset: int) -> None:
    """The rows of what stands before a cut are equal."""
    check_rows(
        replace(
            seen, tables={n: before(t, offset) for n, t in seen.tables.items() if n not in BESIDE}
        ),
        intact,
        range(offset, len(whole())),
    )


def test_truncation_inside_a_record_keeps_those_before(tmp_path: Path, intact: Seen):
    part = sample(2)
    record = victim(part.offset + FRAME_3)
    seen = look(do(f"truncate:{record.offset + 30}"), tmp_path)

    missing = behind(part) - record.offset - 30
    assert seen.told.keys() == {Code.TRUNCATED, Code.RECORD_LONG, Code.INTERVAL_OPEN}
    assert seen.told[Code.TRUNCATED] == (record.offset + 30, 1)
    assert seen.told[Code.RECORD_LONG] == (record.offset, 1)
    assert seen.told[Code.INTERVAL_OPEN][0] == part.offset
    details = "\n".join(seen.tables["finding"]["detail"].to_pylist())
    assert f"{missing} bytes announced by the last control record are missing" in details
    assert seen.about["bytes"]["quarantined"] == 30
    check_rows_before(seen, intact, part.offset)
    # What is there of the interval that was being written lands too, without its end.
    rest = range(record.offset, len(whole()))
    check_rows(seen, intact, rest, without=("interval_end",))


def test_truncation_behind_a_set_only_lacks_the_end(tmp_path: Path, intact: Seen):
    seen = look(do(f"truncate:{behind(sample(2))}"), tmp_path)
    assert seen.told == {Code.END_MISSING: (behind(sample(2)), 1)}
    check_rows(seen, intact, range(behind(sample(2)), len(whole())))


@pytest.mark.parametrize(("size", "problem"), [(0, "is empty"), (100, "is no monitor data")])
def test_a_dump_cut_in_front_of_any_data_is_refused(size: int, problem: str):
    with pytest.raises(DumpError) as caught:
        check_dump(Source(io.BytesIO(do(f"truncate:{size}")), "a.mon"))
    assert caught.value.problem == f"a.mon {problem}"


def test_a_flipped_bit_in_a_value_changes_that_value_alone(tmp_path: Path, intact: Seen):
    record = next(r for r in every_record() if (r.domain, r.number) == (4, 3) and r.sample == 2)
    data = do(f"flip-bits:{record.offset + 31}")
    assert [at for at in range(len(data)) if data[at] != whole()[at]] == [record.offset + 31]
    assert (data[record.offset + 31] ^ whole()[record.offset + 31]).bit_count() == 1
    seen = look(data, tmp_path)
    assert seen.told == {}
    check_rows(seen, intact, without=("calmode",))
    assert seen.tables["useact"]["calmode"] != intact.tables["useact"]["calmode"]


def test_flipped_bits_in_a_header_cost_the_rest_of_its_frame(tmp_path: Path, intact: Seen):
    record = victim(sample(2).offset + FRAME_3 + 500)
    seen = look(do(f"flip-bits:{record.offset + 2}:2"), tmp_path)
    end = -(-record.offset // FRAME) * FRAME
    assert seen.told == {Code.HEADER_BAD: (record.offset, 1)}
    check_rows(seen, intact, range(record.offset, end))


def test_a_flipped_bit_in_the_first_control_record_does_not_cost_the_dump(
    tmp_path: Path, intact: Seen
):
    """The type of its first entry: no reader knows it for a control record any more."""
    seen = look(do("flip-bits:40"), tmp_path)
    assert seen.told[Code.FRAME_LOST] == (0, 1)
    assert seen.told[Code.FRAME_ORPHAN][0] == FRAME
    check_rows(seen, intact)


@pytest.mark.parametrize("count", [1, 5])
def test_zeroed_frames_are_told_and_cost_themselves(count: int, tmp_path: Path, intact: Seen):
    first = sample(2).offset + FRAME_3
    seen = look(do(f"zero-frames:{first + 100}:{count}"), tmp_path, all_deltas=True)
    assert seen.told == {Code.FRAME_EMPTY: (first, count)}
    check_rows(seen, intact, range(first, first + count * FRAME))


def test_a_repeated_frame_lands_twice_and_shifts_what_follows(tmp_path: Path, intact: Seen):
    part, first = sample(2), sample(2).offset + FRAME_3
    seen = look(do(f"repeat-frames:{first}"), tmp_path, all_deltas=True)
    assert seen.told == {
        Code.FRAME_ORPHAN: (behind(part), 1),
        Code.TOD_DISORDER: (first + FRAME, 1),
    }
    check_rows(seen, intact, back=shifted(first + FRAME, FRAME))
    offsets = seen.tables["useact"]["record_offset"].to_numpy()
    twice = (offsets >= first + FRAME) & (offsets < first + 2 * FRAME)
    assert twice.sum() == sum(
        first <= r.offset < first + FRAME and (r.domain, r.number) == (4, 3) for r in every_record()
    )


@pytest.mark.parametrize("last", [False, True], ids=["amidst", "with the interval end"])
def test_swapped_frames_are_out_of_order(last: bool, tmp_path: Path, intact: Seen):
    first = behind(sample(2)) - 2 * FRAME if last else sample(2).offset + FRAME_3
    seen = look(do(f"swap-frames:{first}"), tmp_path, all_deltas=True)

    def back(offsets: Offsets) -> Offsets:
        inside = (offsets >= first) & (offsets < first + 2 * FRAME)
        return np.where(inside, (offsets - first + FRAME) % (2 * FRAME) + first, offsets)

    assert seen.told == {Code.TOD_DISORDER: (first + FRAME, 1)}
    check_rows(seen, intact, back=back, without=("interval_end",) if last else ())


@pytest.mark.parametrize(
    ("kind", "code"), [("length-short", Code.RECORD_SHORT), ("length-past-frame", Code.RECORD_LONG)]
)
def test_a_length_that_cannot_be_costs_the_rest_of_the_frame(
    kind: str, code: Code, tmp_path: Path, intact: Seen
):
    record = victim(sample(2).offset + FRAME_3 + 500)
    seen = look(do(f"{kind}:{record.offset}"), tmp_path)
    end = -(-record.offset // FRAME) * FRAME
    assert seen.told == {code: (record.offset, 1)}
    assert seen.tables["quarantine"]["record_offset"].to_pylist() == [record.offset]
    check_rows(seen, intact, range(record.offset, end))


@pytest.mark.parametrize(
    ("kind", "grown", "beside"),
    [("length-long", 4, {Code.RECORD_LONGER}), ("length-short", -100, set())],
)
def test_a_wrong_length_that_could_be_is_met_behind_the_record(
    kind: str, grown: int, beside: set[Code], tmp_path: Path, intact: Seen
):
    record = victim(sample(2).offset + FRAME_3 + 500, 180)
    claimed = len(record.data) + grown
    count = grown if grown > 0 else claimed
    seen = look(do(f"{kind}:{record.offset}:{count}"), tmp_path)
    end = -(-record.offset // FRAME) * FRAME
    broken = {Code.HEADER_BAD, Code.RECORD_SHORT, Code.RECORD_LONG} & seen.told.keys()
    (code,) = broken
    assert seen.told.keys() == broken | beside
    assert seen.told[code] == (record.offset + claimed, 1)
    check_rows(seen, intact, range(record.offset, end))


@pytest.mark.parametrize("kind", ["wrong-domain", "unknown-record"])
def test_a_record_of_no_known_kind_is_kept_raw(kind: str, tmp_path: Path, intact: Seen):
    record = victim(sample(2).offset + FRAME_3 + 500)
    data = do(f"{kind}:{record.offset}")
    seen = look(data, tmp_path)
    end = record.offset + len(record.data)
    assert seen.told == {Code.LAYOUT_UNKNOWN: (record.offset, 1)}
    assert seen.tables["record_raw"]["data"].to_pylist() == [data[record.offset : end]]
    check_rows(seen, intact, range(record.offset, end))


def test_a_clock_set_back_is_told_at_the_interval_that_ends_too_early(tmp_path: Path, intact: Seen):
    part = sample(2)
    seen = look(do(f"tod-back:{part.control}"), tmp_path, all_deltas=True)
    ends = [r for r in every_record() if (r.domain, r.number) == (1, 11)]
    end = ends[2]
    assert seen.told == {Code.TOD_BACK: (end.offset, 1)}
    check_rows(seen, intact, without=("tod", "tod_us", "interval_end"))
    check_rows_before(seen, intact, part.control)
    for name in ("useact", "sytprp", "ioddev"):
        mine, other = (s.tables[name] for s in (intact, seen))
        fell = mine["tod_us"].to_numpy() - other["tod_us"].to_numpy()
        later = mine["record_offset"].to_numpy() > part.control
        assert set(fell[later]) == {HOUR * 1_000_000} and not fell[~later].any()


@pytest.mark.parametrize("number", [0, 2, 4])
def test_data_without_its_control_record_lands(number: int, tmp_path: Path, intact: Seen):
    part = sample(number)
    seen = look(do(f"control-missing:{part.control}"), tmp_path)
    frames = (behind(part) - part.control) // FRAME - 1
    assert seen.told == {Code.FRAME_ORPHAN: (part.control, frames)}
    check_rows(seen, intact, back=shifted(part.control, -FRAME))


def test_a_control_record_that_announces_too_much_ends_at_the_next(tmp_path: Path, intact: Seen):
    part = sample(2)
    seen = look(do(f"control-lies:{part.control}"), tmp_path)
    assert seen.told == {Code.CONTROL_CUT: (behind(part), 1)}
    check_rows(seen, intact)


def test_the_last_control_record_that_announces_too_much_hides_the_end(
    tmp_path: Path, intact: Seen
):
    part = sample(4)
    seen = look(do(f"control-lies:{part.control}"), tmp_path)
    assert seen.told[Code.TRUNCATED] == (len(whole()), 1)
    assert seen.told.keys() == {Code.TRUNCATED, Code.FRAME_EMPTY}
    check_rows(seen, intact)


def test_a_control_record_that_announces_too_little_leaves_orphans(tmp_path: Path, intact: Seen):
    part = sample(2)
    seen = look(do(f"control-lies:{part.control}:-3"), tmp_path)
    assert seen.told == {Code.FRAME_ORPHAN: (behind(part) - 3 * FRAME, 3)}
    check_rows(seen, intact)


def test_a_missing_end_of_data_is_no_loss(tmp_path: Path, intact: Seen):
    data = do("end-missing")
    assert data == whole()[:-FRAME]
    seen = look(data, tmp_path)
    assert seen.told == {Code.END_MISSING: (len(data), 1)}
    check_rows(seen, intact)


@pytest.mark.parametrize("size", [10, 5000, 8192])
def test_garbage_behind_the_end_is_kept_aside(size: int, tmp_path: Path, intact: Seen):
    seen = look(do(f"trailing-garbage::{size}"), tmp_path)
    assert seen.told.keys() == {Code.TRAILING_DATA, Code.FRAME_LOST}
    assert seen.told[Code.TRAILING_DATA] == (len(whole()), 1)
    assert seen.told[Code.FRAME_LOST][0] == len(whole())
    assert seen.about["bytes"]["quarantined"] == size
    check_rows(seen, intact)


@pytest.mark.parametrize(
    ("kinds", "problem", "found"),
    [
        (["to-ascii"], "was transferred as text", "EBCDIC translated to ASCII"),
        (["line-ends"], "was transferred as text", "CR and LF"),
        (["to-ascii", "line-ends"], "was transferred as text", "EBCDIC translated to ASCII"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else "",
)
def test_a_transfer_that_cannot_be_read_says_how_to_do_it_again(
    kinds: list[str], problem: str, found: str, tmp_path: Path, store: Store
):
    file = tmp_path / "a.mon"
    file.write_bytes(do(*kinds))
    readers: list[Callable[[], object]] = [
        lambda: ingest(file, store),
        lambda: check_dump(Source(io.BytesIO(file.read_bytes()), file.name)),
        lambda: take_inventory(Source(io.BytesIO(file.read_bytes()), file.name)),
    ]
    for read in readers:
        with pytest.raises(DumpError) as caught:
            read()
        assert caught.value.problem == f"a.mon {problem}"
        assert found in (caught.value.found or "")
        assert "transfer it again in binary" in (caught.value.remedy or "")
    assert list(store.dumps()) == []


def test_a_text_transfer_is_what_it_says():
    text = do("to-ascii", "line-ends")
    lines = [text[at : at + FRAME + 2] for at in range(0, len(text), FRAME + 2)]
    assert all(line.endswith(b"\r\n") for line in lines)
    back = b"".join(line[:FRAME] for line in lines).decode("latin-1").encode("cp037")
    assert back == whole()


def test_prefixes_hold_lengths_that_count_themselves():
    data, at, content = do("block-prefixes"), 0, b""
    while at < len(data):
        end = at + int.from_bytes(data[at : at + 2], "big")
        assert end <= len(data) and data[at + 2 : at + 4] == b"\0\0"
        at += 4
        while at < end:
            length = int.from_bytes(data[at : at + 2], "big")
            content += data[at + 4 : at + length]
            at += length
        assert at == end
    assert content == whole()


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_cut_compressed_file_lands_what_came_before(
    compression: Any, tmp_path: Path, intact: Seen
):
    written = write_run(
        load_scenario("timer"),
        "2600P",
        tmp_path,
        intervals=4,
        compression=compression,
        damage=[parse_damage("cut-compressed:60%")],
    )
    stored = written.dump.read_bytes()
    complete = write_run(
        load_scenario("timer"), "2600P", tmp_path / "b", intervals=4, compression=compression
    ).dump.read_bytes()
    assert stored == complete[: len(complete) * 60 // 100]

    size = check_dump(Source(io.BytesIO(stored), "a")).bytes.size
    assert sample(0).offset < size < len(whole())
    seen = look(whole()[:size], tmp_path, stored=stored)
    assert seen.told[Code.COMPRESSED_CUT] == (size, 1)
    last = max((p.offset for p in map(sample, range(5)) if behind(p) <= size), default=0)
    assert last > 0, "a sample came through whole"
    check_rows_before(seen, intact, last)


def test_a_generated_run_is_damaged_as_a_dump_that_is_there(tmp_path: Path):
    damage = [parse_damage(kind) for kind in ("zero-frames:50%:3", "flip-bits", "end-missing")]
    scenario = load_scenario("timer")
    written = write_run(scenario, "2600P", tmp_path, intervals=4, seed=5, damage=damage)
    data = b"".join(dump_frames(scenario, "2600P", intervals=4, seed=5))
    assert written.dump.read_bytes() == b"".join(damaged([data], damage, 5, len(data)))


def test_a_capture_is_damaged_in_its_bytes_and_not_in_frames(tmp_path: Path):
    scenario = load_scenario("timer")

    def write(*kinds: str) -> bytes:
        run = write_run(
            scenario,
            "2600P",
            tmp_path,
            intervals=1,
            container="monreader",
            damage=[parse_damage(kind) for kind in kinds],
        )
        return run.dump.read_bytes()

    assert write("truncate:20000") == write()[:20000]
    file = tmp_path / "2600P.mon"
    file.unlink()
    with pytest.raises(DamageError, match="no control record"):
        write("control-missing:0")
    assert not file.exists()


COMMON = [f"{name}:{'30%' if kind.placed else ''}" for name, kind in KINDS.items() if kind.apply]


@pytest.mark.parametrize("kind", COMMON)
def test_the_same_seed_does_the_same_damage_whatever_the_pieces(kind: str):
    damage, data = [parse_damage(kind)], whole()
    once = b"".join(damaged([data], damage, 3, len(data)))
    pieces = (data[at : at + 1000] for at in range(0, len(data), 1000))
    assert b"".join(damaged(pieces, damage, 3, len(data))) == once
    assert once != data


def test_the_seed_picks_places_that_are_not_named():
    assert do("truncate", seed=4) == do("truncate", seed=4)
    assert len({len(do("truncate", seed=seed)) for seed in range(8)}) == 8
    assert max(len(do("truncate", seed=seed)) for seed in range(8)) <= len(whole()) // 2
    assert do("flip-bits:100:50", seed=1) != do("flip-bits:100:50", seed=2)


@pytest.mark.parametrize("kind", COMMON)
def test_memory_does_not_grow_with_the_dump(kind: str):
    """A dump of 18 MB made of one sample again and again, in pieces of 16 KiB."""
    part = sample(2)
    interval = whole()[part.control : behind(part)]

    def pieces() -> Iterator[bytes]:
        for _ in range(120):
            for at in range(0, len(interval), 4 * FRAME):
                yield interval[at : at + 4 * FRAME]
        yield bytes(FRAME)

    size = 120 * len(interval) + FRAME
    tracemalloc.start()
    try:
        for _ in damaged(pieces(), [parse_damage(kind)], 1, size):
            pass
        assert tracemalloc.get_traced_memory()[1] < 9 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("tuncate", "did you mean truncate"),
        ("truncate:half", "is no place"),
        ("truncate:120%", "is no place"),
        ("end-missing:5", "has no place"),
        ("truncate:5:6", "has no count"),
        ("zero-frames:5:0", "is no count of frames"),
        ("zero-frames:5:-1", "at least 1"),
        ("control-lies:5:0", "not 0"),
    ],
)
def test_damage_that_cannot_be_meant_is_refused_with_what_can(kind: str, words: str):
    with pytest.raises(DamageError) as caught:
        parse_damage(kind)
    assert words in str(caught.value)


def test_the_page_says_of_every_kind_what_is_told_of_it():
    page = Path(__file__).parents[3] / "docs" / "generate.md"
    rows = [row for row in page.read_text(encoding="utf-8").splitlines() if row.startswith("| `")]
    for name, kind in KINDS.items():
        form = name + (":PLACE" if kind.placed else ":" if kind.count else "")
        form += ":COUNT" if kind.count else ""
        (row,) = [row for row in rows if row.startswith(f"| `{form}` |")]
        told = row.split("|")[3]
        words = told.replace("`", " ").replace(",", " ").split()
        named = {word for word in words if "_" in word or word == Code.UNWRAPPED.name}
        assert named - {"TOD_"} <= {code.name for code in Code}
        assert named or "refused" in told


def test_a_place_without_anything_to_damage_is_told():
    with pytest.raises(DamageError, match="no control record from byte"):
        do("control-missing:-5000")
    with pytest.raises(DamageError, match="no record from byte"):
        do("wrong-domain:100%")
    with pytest.raises(DamageError, match="no end-of-data record"):
        do("end-missing", "end-missing")
    with pytest.raises(DamageError, match="a pipe does not tell"):
        b"".join(damaged([whole()], [parse_damage("truncate:50%")], 1))


@functools.cache
def small() -> bytes:
    return b"".join(dump_frames(parse_scenario(SMALL, "small.toml"), "A", intervals=3))


def checked(data: bytes) -> dict[str, int] | None:
    """The books of a check, which must balance; None for what is refused with a remedy."""
    refused: DumpError | None = None
    parts: dict[str, int] = {}
    try:
        with deltas_of(*FEW):
            parts = check_dump(Source(io.BytesIO(data), "a.mon")).bytes.as_dict()
    except DumpError as error:
        refused = error
    if refused is not None:
        assert refused.remedy
        return None
    assert parts["size"] == sum(parts.values()) - parts["size"]
    return parts


def survives(data: bytes) -> None:
    """Check and list end with findings, or refuse both."""
    parts = checked(data)
    if parts is None:
        with pytest.raises(DumpError):
            take_inventory(Source(io.BytesIO(data), "a.mon"))
        return
    source = Source(io.BytesIO(data), "a.mon")
    assert take_inventory(source).size == parts["size"]
    assert source.wrapping or parts["size"] == len(data)


@few_or_many(5, 20)
def test_no_truncation_fells_a_reader(examples: int):
    def survived(place: int) -> None:
        survives(do(f"truncate:{place % len(small())}", data=small()))

    tried(examples, survived, place=st.integers(0, 2**20))


@few_or_many(3, 15)
def test_no_flipped_bits_fell_a_reader(examples: int):
    def survived(places: list[int], seed: int) -> None:
        kinds = [f"flip-bits:{place % len(small())}" for place in places]
        survives(do(*kinds, data=small(), seed=seed))

    places = st.lists(st.integers(0, 2**20), max_size=40)
    tried(examples, survived, places=places, seed=st.integers(0, 9))


@few_or_many(3, 15)
def test_no_damage_upon_damage_fells_a_reader(examples: int):
    def survived(data: st.DataObject, seed: int) -> None:
        dump = small()
        for kind in data.draw(st.lists(st.sampled_from(sorted(KINDS)), max_size=5)):
            place = data.draw(st.integers(0, len(dump))) if KINDS[kind].placed else ""
            try:
                dump = do(f"{kind}:{place}", data=dump, seed=seed)
            except DamageError:
                continue
        survives(dump)

    tried(examples, survived, data=st.data(), seed=st.integers(0, 99))


@few_or_many(5, 15)
def test_no_damaged_compression_fells_a_reader(examples: int):
    def survived(place: int, bits: int, seed: int) -> None:
        stored = gzip.compress(small(), mtime=0)
        place = place % len(stored)
        broken = do(f"truncate:{-place or len(stored)}", data=stored)
        if bits:
            broken = do(f"flip-bits:{len(broken) // 2}:{bits}", data=broken, seed=seed)
        checked(broken)

    place, bits = st.integers(0, 2**14), st.integers(0, 20)
    tried(examples, survived, place=place, bits=bits, seed=st.integers(0, 99))
