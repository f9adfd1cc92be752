"""Decoding to Arrow against construct, against C loops, and against copying the bytes."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cpmon.ingest.container.record_index import index_records
from cpmon.ingest.container.source import open_source
from cpmon.ingest.container.windows import ByteWindow, windows
from cpmon.ingest.decode.columns import Decoded, decode
from cpmon.ingest.decode.intervals import row_stamps
from cpmon.ingest.decode.reader import Reader, RecordBuffer, Records
from cpmon.schemas.field import Field, Type
from cpmon.schemas.layout import Kind, Layout
from cpmon.schemas.registry import by_record
from cpmon.schemas.structs import struct

from .machine import MEGA
from .result import Bar, Row, Section
from .timing import Contestant, best_seconds
from .transpose import Column, Columns, Job, Transpose, compiled

USEACT = "useact"
CONSTRUCT_BAR, LOOP_BAR = 1_000.0, 1.0
DECODE, RECORD_LOOP, LAYOUT_LOOP, FIELD_LOOP = "decode", "C by record", "C by layout", "C by field"
NOTES = {
    DECODE: "cpmon: columns, text decoded",
    RECORD_LOOP: "for each record, for each field of a table; text copied",
    LAYOUT_LOOP: "the same, a function compiled for each layout; for information",
    FIELD_LOOP: "field by field in blocks that fit the cache",
}


@dataclass(frozen=True)
class Sizes:
    """How much is measured: bytes of the dump at least, rounds, records that construct parses."""

    dump_bytes: int = 64 * MEGA
    repetitions: int = 9
    sample: int = 30


def measure(dump: Path, sizes: Sizes) -> list[Section]:
    """Sections for all layouts of the dump, for USEACT alone, and for the record index.

    Raises:
        AssertionError: two of the contestants do not give the same columns.
    """
    held = list(first_windows(dump, sizes.dump_bytes))
    work = list(jobs(held))
    active = [job for job in work if job.layout.name == USEACT]
    each = list({job.layout: job for job in work}.values())
    with tempfile.TemporaryDirectory() as folder:
        loops = compiled(Path(folder), work)
        for job in work:
            check_loops(job, loops)
        parsed = {job.layout: _parse(job, sizes) for job in each}
        return [
            _contest("Decoding to Arrow, all layouts", work, held, loops, parsed, sizes),
            _contest("Decoding to Arrow, USEACT alone", active, held, loops, parsed, sizes),
            _index(held, sizes),
        ]


def first_windows(dump: Path, size_bytes: int) -> Iterator[ByteWindow]:
    """Windows of a dump, as ingest sees them, until their records have that many bytes."""
    with open_source(dump) as source:
        reader, seen = Reader(source), 0
        for window in windows(source, reader.framer):
            yield window
            seen += int(window.index.length.sum())
            if seen >= size_bytes:
                return


def jobs(held: Iterable[ByteWindow]) -> Iterator[Job]:
    """What ingest decodes of these windows, call by call."""
    layouts, batches = by_record(), defaultdict[Layout, RecordBuffer](RecordBuffer)
    for window in held:
        index, stamps = window.index, row_stamps(window)
        for kind, chosen in index.by_kind():
            if layout := layouts.get(kind):
                starts, lengths = index.start[chosen], index.length[chosen]
                records = Records(window.data, starts, lengths, stamps[chosen])
                at_once = layout.kind is Kind.CONFIG
                yield from _jobs(layout, records if at_once else batches[layout].add(records))
    for layout, batch in batches.items():
        yield from _jobs(layout, batch.take())


def _jobs(layout: Layout, records: Records | None) -> Iterator[Job]:
    if records:
        if records.lengths.min() != records.lengths.max():
            raise AssertionError(f"{layout}: generated records differ in length")
        yield Job(layout, records.data, records.starts, records.lengths)


def check_loops(job: Job, loops: Transpose | None) -> None:
    """Raise AssertionError unless the columns of a job equal those of every C loop.

    Groups are decoded on top: the loops leave them out.
    """
    decoded = decoded_columns(job)
    for loop in _loops(loops).values():
        columns = loop(job)
        for field in job.fields:
            expected = columns[field.name]
            if not field.is_number:
                expected = _read_bytes(field, expected)
            found = decoded.columns[field.name]
            if not np.array_equal(found.to_numpy(zero_copy_only=False), expected):
                raise AssertionError(f"{job.layout}.{field.name} is not what C reads")


def check_construct(job: Job, rows: Sequence[int]) -> None:
    """Raise AssertionError unless those records of a job are what construct parses."""
    decoded = decoded_columns(job)
    for row, record in zip(rows, _records(job, rows), strict=True):
        values = struct(job.layout).parse(record)
        _check_row(decoded, row, values, f"record {row}")
        for group, entries in zip(job.layout.groups, decoded.entries, strict=True):
            places = np.flatnonzero(entries.record == row)
            for place, entry in zip(places, values[group.name], strict=True):
                _check_row(entries.decoded, int(place), entry, f"record {row}")


def _check_row(decoded: Decoded, row: int, values: Mapping[str, Any], place: str) -> None:
    expected = {name: values[name] for name in (*decoded.columns, "tail")}
    for field in (f for f in decoded.layout.columns if f.is_number):
        if (number := expected[field.name]) is not None:
            expected[field.name] = field.landed(number)
    for name, column in {**decoded.columns, "tail": decoded.tail}.items():
        if column[row].as_py() != expected[name]:
            raise AssertionError(f"{decoded.layout}.{name}, {place}: not what construct reads")


def decoded_columns(job: Job) -> Decoded:
    """The production path."""
    return decode(job.layout, job.window, job.starts, job.lengths)


def _loops(loops: Transpose | None) -> dict[str, Callable[[Job], Columns]]:
    if loops is None:
        return {}
    return {RECORD_LOOP: loops.by_record, LAYOUT_LOOP: loops.known, FIELD_LOOP: loops.by_field}


def _read_bytes(field: Field, copied: Column) -> Column:
    """What the bytes that a C loop copied say; each distinct value is read once, by Python."""
    distinct, places = np.unique(copied, return_inverse=True)
    values: list[object] = [value.tobytes() for value in distinct]
    if field.type is Type.CHAR:
        values = [value.tobytes().decode("cp037").rstrip(" \0") for value in distinct]
    elif field.type is Type.PACKED:
        values = [value.tobytes().hex().upper() for value in distinct]
    return np.array(values, object)[places]


def _records(job: Job, rows: Sequence[int]) -> list[bytes]:
    starts = (int(job.starts[row]) for row in rows)
    return [job.window[start : start + job.length].tobytes() for start in starts]


def _parse(job: Job, sizes: Sizes) -> float:
    """Seconds that construct takes for a record of this layout, the best of three rounds."""
    count = min(sizes.sample, len(job.starts))
    rows = np.linspace(0, len(job.starts) - 1, count).astype(int).tolist()
    check_construct(job, rows)
    parser, records = struct(job.layout), _records(job, rows)

    def parse() -> None:
        for record in records:
            parser.parse(record)

    return best_seconds({"parse": parse}, 3)["parse"] / count


def _contest(
    title: str,
    work: list[Job],
    held: list[ByteWindow],
    loops: Transpose | None,
    parsed: dict[Layout, float],
    sizes: Sizes,
) -> Section:
    def over(function: Callable[[Job], object]) -> Contestant:
        def run() -> None:
            for job in work:
                function(job)

        return run

    functions: dict[str, Callable[[Job], object]] = {DECODE: decoded_columns, **_loops(loops)}
    contestants = {name: over(function) for name, function in functions.items()}
    best = best_seconds({**contestants, **_copies(work)}, sizes.repetitions)
    best["construct"] = sum(len(job.starts) * parsed[job.layout] for job in work)
    size, records = sum(job.bytes for job in work), sum(len(job.starts) for job in work)
    rows = [_row(name, seconds, size, records, best[DECODE]) for name, seconds in best.items()]
    bars = [Bar("decode / construct", best["construct"] / best[DECODE], CONSTRUCT_BAR)]
    remarks: tuple[str, ...] = ()
    if loops:
        for loop in (RECORD_LOOP, FIELD_LOOP):
            bars.append(Bar(f"decode / {loop}", best[loop] / best[DECODE], LOOP_BAR))
    else:
        remarks = ("there is no C compiler here, so the C loops were left out",)
    given = (
        f"{len({job.layout for job in work})} layouts, {records:,} records, {size / MEGA:.1f} MB "
        f"in {len(held)} windows, {len(work)} calls; best of {sizes.repetitions}"
    )
    return Section(title, given, tuple(rows), tuple(bars), remarks)


def _row(name: str, seconds: float, size: int, records: int, decoding: float) -> Row:
    figures = {
        "MB/s": size / MEGA / seconds,
        "krecords/s": records / 1e3 / seconds,
        "decode is": seconds / decoding,
    }
    return Row(name, figures, NOTES.get(name, ""))


def _copies(work: list[Job]) -> dict[str, Contestant]:
    """The bytes of the records side by side, copied piece by piece, a call's bytes at once."""
    size = max(job.bytes for job in work)
    given, taken = np.zeros(size, np.uint8), np.zeros(size, np.uint8)

    def reused() -> None:
        for job in work:
            np.copyto(taken[: job.bytes], given[: job.bytes])

    def fresh() -> None:
        for job in work:
            np.copyto(np.empty(job.bytes, np.uint8), given[: job.bytes])

    return {"copy, new memory": fresh, "copy, memory in use": reused}


def _index(held: list[ByteWindow], sizes: Sizes) -> Section:
    def run() -> None:
        for window in held:
            index_records(window.data, window.frames)

    size = sum(len(window.data) for window in held)
    records = sum(len(window.index) for window in held)
    seconds = best_seconds({"index_records": run}, sizes.repetitions)["index_records"]
    for window in held:
        if len(index_records(window.data, window.frames)[0]) != len(window.index):
            raise AssertionError("the index of a window is not the one that ingest made")
    figures = {"MB/s": size / MEGA / seconds, "krecords/s": records / 1e3 / seconds}
    given = f"{records:,} records, {size / MEGA:.1f} MB in {len(held)} windows"
    return Section("Finding the records", given, (Row("index_records", figures),))
