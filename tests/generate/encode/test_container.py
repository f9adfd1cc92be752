"""Packing of records into frames, and the addresses of sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.core.errors import CpmonError
from cpmon.generate.encode.container import (
    END_OF_DATA,
    FRAME,
    HEADER,
    SAMPLE_FLAG,
    SEGMENT,
    Block,
    Ring,
    control_record,
    entry,
    event_block,
    sample_frames,
)
from tests.generate.plain_reader import records, sets


def block(count: int, length: int, first: int) -> Block:
    """Records of domain 4 with running TODs and bodies that tell them apart."""
    rows = np.zeros((count, length), dtype=np.uint8)
    tods = np.arange(first, first + count, dtype=np.uint64)
    for row, tod in enumerate(tods.tolist()):
        rows[row, :20] = np.frombuffer(HEADER.pack(length, 0, 4, 3, tod), dtype=np.uint8)
        rows[row, 20:] = tod % 251
    return Block(4, rows, tods)


def file_of(blocks: list[Block], end_tod: int) -> bytes:
    frames = sample_frames(blocks, end_tod)
    announced = entry(SAMPLE_FLAG, {1, 4}, SEGMENT + FRAME, frames.size)
    return control_record(1, [announced]) + frames.tobytes() + END_OF_DATA


runs = st.lists(st.tuples(st.integers(0, 60), st.integers(20, 4076)), max_size=6)


@given(runs=runs)
def test_every_record_comes_back_in_order_and_none_crosses_a_frame(runs: list[tuple[int, int]]):
    blocks, tod = [], 1
    for count, length in runs:
        blocks.append(block(count, length, tod))
        tod += count
    read = list(records(file_of(blocks, tod)))
    wanted = [bytes(row) for b in blocks for row in b.records]
    assert [r.data for r in read if r.domain == 4] == wanted
    assert (read[-1].domain, read[-1].number, read[-1].tod) == (1, 11, tod)
    tods = [r.tod for r in read]
    assert tods == sorted(tods)


@pytest.mark.parametrize("length", [1019, 4076])
def test_a_frame_may_be_full_to_the_byte_before_the_end_of_frame_record(length: int):
    dump = file_of([block(3 * (4076 // length), length, 1)], 99)
    ends = [r for r in records(dump) if r.domain == 1]
    assert [r.number for r in ends] == [13, 13, 11]
    assert all(r.offset % FRAME == 4076 for r in ends)


def test_a_sample_without_records_is_one_frame_with_its_end():
    assert [(r.domain, r.number, r.tod) for r in records(file_of([], 7))] == [(1, 11, 7)]


def test_masks_of_an_entry_name_domains_from_the_left():
    assert entry(SAMPLE_FLAG, {0, 6, 8, 10}, 0x1000, FRAME).hex() == "e282a0000000100000001fff"


def test_event_data_is_filled_up_to_whole_frames():
    assert len(event_block(b"x" * 24)) == FRAME
    assert len(event_block(b"x" * FRAME)) == FRAME
    assert len(event_block(b"x" * (FRAME + 1))) == 2 * FRAME


def test_a_set_that_does_not_fit_the_rest_of_its_ring_begins_at_its_front():
    ring = Ring(SEGMENT, 1 << 20)
    first, second, third = (ring.take(400 * 1024) for _ in range(3))
    assert second == first + 400 * 1024
    assert third == first


def test_a_set_larger_than_the_segment_is_an_error_that_says_what_would_do():
    with pytest.raises(CpmonError) as error:
        Ring(SEGMENT + 2 * FRAME, (1 << 20) - 2 * FRAME).take(2 << 20)
    assert error.value.expected == "at least 3"
    assert error.value.place == "monitor.segment_mib"


def test_the_last_record_of_a_file_has_no_entries():
    assert list(sets(END_OF_DATA)) == []
