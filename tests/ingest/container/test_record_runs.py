"""Runs and the index hold the records that a plain walk finds, in whatever state the dump is."""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.ingest.codec import U8
from cpmon.ingest.container import record_index as runs_module
from cpmon.ingest.container.record_index import (
    FRAME_END,
    INTERVAL_END,
    Frames,
    find_runs,
    index_records,
)
from cpmon.schemas import HEADER_LENGTH
from tests.dumps import FRAME, frame_end, interval_end, record

KINDS = ((0, 4), (4, 3), (9, 42))


def frames_of(data: U8) -> Frames:
    start = np.arange(0, len(data), FRAME, dtype=np.int64)
    limit = np.minimum(start + FRAME, len(data))
    return Frames(start, limit, np.ones(len(start), np.bool_))


def filled(rng: np.random.Generator, frames: int) -> U8:
    """Frames with runs of records of few kinds and lengths, some closed by an end record."""
    data = b""
    for _ in range(frames):
        content = b""
        while True:
            domain, number = KINDS[rng.integers(len(KINDS))]
            one = record(domain, number, bytes(int(rng.integers(0, 60))), 60)
            run = one * int(rng.integers(1, 60))
            if len(content) + len(run) > FRAME - 40:
                break
            content += run
        content += [b"", frame_end(60), interval_end(60)][rng.integers(3)]
        data += content.ljust(FRAME, b"\0")
    return np.frombuffer(data, np.uint8).copy()


@dataclass(frozen=True)
class Walked:
    """(start, length, domain, record, TOD, frame) of each record; where each frame was left."""

    records: list[tuple[int, ...]]
    stop: list[int]
    broken: list[bool]


def walked(data: U8) -> Walked:
    """Record after record, as one would write it down."""
    found = Walked([], [], [])
    for frame, begin in enumerate(range(0, len(data), FRAME)):
        at, limit = begin, min(begin + FRAME, len(data))
        ended = broken = False
        while not ended and not broken and limit - at >= HEADER_LENGTH:
            head = struct.unpack_from(">HHBxHQ", data, at)
            length, zero, domain, number, clock = head
            broken = not HEADER_LENGTH <= length <= limit - at or zero != 0 or clock == 0
            if not broken:
                found.records.append((at, length, domain, number, clock, frame))
                at += length
                ended = (domain, number) in (FRAME_END, INTERVAL_END)
        found.stop.append(at)
        found.broken.append(broken)
    return found


def indexed(data: U8) -> Walked:
    index, frames = index_records(data, frames_of(data))
    columns = (index.start, index.length, index.domain, index.record, index.tod, index.frame)
    records = list(zip(*(column.tolist() for column in columns), strict=True))
    return Walked(records, frames.stop.tolist(), frames.broken.tolist())


@given(seed=st.integers(0, 2**32 - 1), damaged=st.integers(0, 40), cut=st.integers(0, FRAME))
def test_the_index_has_the_records_of_a_plain_walk(seed: int, damaged: int, cut: int):
    rng = np.random.default_rng(seed)
    data = filled(rng, 5)
    data[rng.integers(0, len(data), damaged)] = rng.integers(0, 256, damaged, np.uint8)
    data = data[: len(data) - cut]
    assert indexed(data) == walked(data)


@given(seed=st.integers(0, 2**32 - 1))
def test_a_record_without_time_ends_its_frame(seed: int):
    rng = np.random.default_rng(seed)
    data = filled(rng, 3)
    starts = [found[0] for found in walked(data).records]
    at = starts[int(rng.integers(len(starts)))]
    data[at + 8 : at + 16] = 0
    assert indexed(data) == walked(data)
    assert at not in [found[0] for found in indexed(data).records]


@pytest.mark.parametrize(("block", "longest"), [(1, 1), (2, 2), (3, 7), (1000, 200)])
def test_how_many_are_looked_at_together_changes_nothing(
    block: int, longest: int, monkeypatch: pytest.MonkeyPatch
):
    data = filled(np.random.default_rng(3), 20)
    monkeypatch.setattr(runs_module, "BLOCK", block)
    monkeypatch.setattr(runs_module, "LONGEST", longest)
    assert indexed(data) == walked(data)


def test_an_end_record_stands_alone_and_nothing_behind_it_is_read():
    data = np.frombuffer(
        (record(0, 4, bytes(12), 1) * 50 + record(4, 3, b"", 1) + interval_end(2) * 2).ljust(
            FRAME, b"\0"
        ),
        np.uint8,
    )
    runs, _ = find_runs(data, frames_of(data))
    kinds = list(zip(runs.domain.tolist(), runs.record.tolist(), strict=True))
    assert [kind for kind, again in itertools.groupby(kinds)] == [(0, 4), (4, 3), INTERVAL_END]
    assert runs.count[-2:].tolist() == [1, 1]
    assert runs.starts().tolist() == [*range(0, 1620, 32), 1620]


def test_no_frames_have_no_runs():
    none = np.empty(0, np.uint8)
    assert len(find_runs(none, frames_of(none))[0]) == 0
