"""Records packed into frames and sets come back in order, whatever their lengths."""

from __future__ import annotations

import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cpmon.ingest.container.monwrite import Framer
from cpmon.ingest.container.record_index import FRAME_END, RecordIndex
from cpmon.ingest.container.source import Source
from cpmon.ingest.container.windows import windows
from cpmon.ingest.findings import Findings
from cpmon.ingest.monwrite_writer import MonwriteWriter, RecordSelection
from tests.dumps import FRAME, interval_end, record, tod
from tests.generate.plain_reader import records, sets

Pieces = list[tuple[bool, bytes]]


def chosen(pieces: Pieces) -> RecordSelection:
    """Sample (True) and event records, one after the other."""
    data = b"".join(piece for _, piece in pieces)
    length = np.array([len(piece) for _, piece in pieces], np.int64)
    index = RecordIndex(
        np.cumsum(length) - length,
        length,
        np.array([piece[4] for _, piece in pieces], np.uint8),
        np.array([piece[7] for _, piece in pieces], np.uint16),
        np.array([int.from_bytes(piece[8:16], "big") for _, piece in pieces], np.uint64),
        np.zeros(len(pieces), np.int64),
        np.array([sample for sample, _ in pieces], np.bool_),
    )
    return RecordSelection(np.frombuffer(data, np.uint8).copy(), index)


def packed(*parts: Pieces) -> bytes:
    sink = io.BytesIO()
    packer = MonwriteWriter(sink)
    for part in parts:
        packer.put(chosen(part))
    packer.finish()
    assert packer.size == len(sink.getvalue()) and packer.size % FRAME == 0
    return sink.getvalue()


def numbered(lengths: list[int], sample: bool = True) -> Pieces:
    return [(sample, record(4, 3, bytes([n % 251]) * (length - 20), n))
            for n, length in enumerate(lengths, 1)]  # fmt: skip


END: Pieces = [(True, interval_end(999))]
runs = st.lists(
    st.tuples(st.booleans(), st.lists(st.integers(20, 4076), min_size=1, max_size=60)), max_size=6
)


@given(runs=runs, cut=st.integers(0, 400))
def test_every_record_comes_back_in_order_and_none_crosses_a_frame(
    runs: list[tuple[bool, list[int]]], cut: int
):
    pieces = [piece for sample, lengths in runs for piece in numbered(lengths, sample)] + END

    found = packed(*[part for part in (pieces[:cut], pieces[cut:]) if part])

    assert [r.data for r in records(found) if r.number != 13] == [data for _, data in pieces]


def test_a_frame_takes_records_as_long_as_its_end_fits():
    pieces = numbered([1019] * 4 + [1019] * 4 + [20])

    found = list(records(packed(pieces + END)))

    assert [r.number for r in found] == [3] * 4 + [13] + [3] * 4 + [13] + [3, 11]
    assert [r.offset % FRAME for r in found if r.number == 13] == [4076, 4076]
    assert {r.tod for r in found if r.number == 13} == {tod(4), tod(8)}


def test_a_record_that_leaves_no_room_for_an_end_has_a_frame_of_its_own():
    pieces = [*numbered([100, 4096, 4090, 100]), *END]

    source = Source(io.BytesIO(packed(pieces)), "a.mon")
    (window,) = windows(source, Framer(Findings()))

    index = window.index
    kept = ~((index.domain == FRAME_END[0]) & (index.record == FRAME_END[1]))
    assert index.length[kept].tolist() == [100, 4096, 4090, 100, 20]
    assert not window.lost


def test_control_records_say_kind_domains_and_length_of_a_set():
    pieces = [*numbered([50], sample=False), *numbered([4000] * 3), *END]

    event, sample = sets(packed(pieces))

    assert (event.flag, event.masks, event.end - event.start + 1) == (0xC5, (0x48, 0), 50)
    assert (sample.flag, sample.masks, sample.end - sample.start + 1) == (0xE2, (0x48, 0), 12288)
    assert event.start % FRAME == sample.start % FRAME == 0


def test_samples_wait_for_the_end_of_their_interval():
    first, second = numbered([100] * 3), numbered([100] * 2)

    found = packed(first, second + END)

    assert len(list(sets(found))) == 1
    assert len(list(records(found))) == 6
