"""Events of an interval: their order, their frames, and what readers find in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.generate.encode.container import (
    END_OF_DATA,
    EVENT_FLAG,
    FRAME,
    SAMPLE_FLAG,
    Block,
    Ring,
    captured,
    control_record,
    entry,
    event_block,
    event_frames,
    sample_frames,
    set_domains,
)
from cpmon.generate.encode.encoder import EventBatch, encode_events, text_bytes
from cpmon.ingest import ingest
from cpmon.ingest.findings import Code
from cpmon.schemas import layout
from cpmon.store import Store
from tests.dumps import tod
from tests.generate.plain_reader import Record, records

LONGEST = 4076


def stamps(*seconds: float) -> np.ndarray:
    return np.array([tod(second) for second in seconds], dtype=np.uint64)


def encoded(batches: list[EventBatch]) -> list[Block]:
    return encode_events(batches, "5.3.0")


def chunks(batches: list[EventBatch], end: int) -> list[bytes]:
    """A dump of one interval with events, as `captured` wants it."""
    blocks = encoded(batches)
    data, frames = event_frames(blocks), sample_frames([], end)
    entries, pieces = [], []
    if len(data):
        entries.append(entry(EVENT_FLAG, set_domains(blocks), 1 << 24, len(data)))
        pieces.append(event_block(data))
    entries.append(entry(SAMPLE_FLAG, {1}, 2 << 24, frames.size))
    return [control_record(1, entries), *pieces, frames.tobytes(), END_OF_DATA]


def events(batches: list[EventBatch]) -> list[Record]:
    """The records before the interval end, those that end frames left out."""
    every = list(records(b"".join(chunks(batches, 1 << 62))))
    return [r for r in every if (r.domain, r.number) not in {(1, 11), (1, 13)}]


def test_events_of_all_types_are_in_order_of_their_time():
    users = text_bytes(["ALPHA", "BETA"], 8)
    batches = [
        EventBatch("uselon", stamps(30, 10), {"vmduser": users}),
        EventBatch("uselof", stamps(20), {"vmduser": text_bytes("GAMMA", 8)}),
        EventBatch("prcvof", stamps(25), {"pfxcpuad": 3}),
    ]
    found = events(batches)
    assert [(r.domain, r.number) for r in found] == [(4, 1), (4, 2), (5, 2), (4, 1)]
    assert [r.tod for r in found] == [tod(at) for at in (10, 20, 25, 30)]
    assert [r.text(20, 8) for r in (found[0], found[1], found[3])] == ["BETA", "GAMMA", "ALPHA"]
    assert found[2].u2(20) == 3
    assert set_domains(encoded(batches)) == {1, 4, 5}


def test_events_of_one_time_stay_in_the_order_given():
    first = EventBatch("prcvon", stamps(5, 5), {"pfxcpuad": np.array([1, 2])})
    last = EventBatch("prcvof", stamps(5), {"pfxcpuad": 3})
    assert [r.u2(20) for r in events([first, last])] == [1, 2, 3]


@given(
    counts=st.lists(st.tuples(st.integers(0, 90), st.integers(1, LONGEST - 24)), max_size=5),
    seed=st.integers(0, 99),
)
def test_every_event_comes_back_and_none_crosses_a_frame(counts: list[tuple[int, int]], seed: int):
    rng, batches, wanted = np.random.default_rng(seed), [], []
    for count, size in counts:
        tods = rng.permutation(np.arange(1, 401, dtype=np.uint64))[:count]
        texts = rng.integers(0, 256, (count, size), dtype=np.uint8).view(f"V{size}")[:, 0]
        batches.append(EventBatch("mtrecm", tods, {"calcmd": texts}, sizes={"calcmd": size}))
        wanted += [(at, bytes(text)) for at, text in zip(tods.tolist(), texts, strict=True)]
    assert sorted((r.tod, r.data[24:]) for r in events(batches)) == sorted(wanted)
    every = list(records(b"".join(chunks(batches, 1 << 62))))
    assert [r.tod for r in every] == sorted(r.tod for r in every)
    assert all(r.offset % FRAME + len(r.data) <= FRAME for r in every)


def test_only_the_last_frame_of_events_has_no_record_that_ends_it():
    data = event_frames(encoded([EventBatch("prcvof", np.arange(1, 401, dtype=np.uint64))]))
    whole = LONGEST // 24
    assert len(data) == 2 * FRAME + (400 - 2 * whole) * 24
    for frame, last in ((0, whole), (1, 2 * whole)):
        end = data[frame * FRAME + whole * 24 :][: FRAME - whole * 24].tobytes()
        assert end[:16].hex() == "00140000" + "0100000d" + f"{last:016x}"
        assert not any(end[16:])


def test_nothing_happens_in_no_bytes():
    none = EventBatch("prcvof", np.zeros(0, dtype=np.uint64))
    assert len(event_frames(encoded([none]))) == len(event_frames([])) == 0


def test_totals_at_logoff_are_written_as_they_are():
    (found,) = events([EventBatch("uselof", stamps(1), {"vmdttime": 12345})])
    assert found.u8(layout("uselof").field("vmdttime").offset) == 12345


def test_event_sets_go_around_in_a_ring():
    ring = Ring(0x1000, 4 * FRAME)
    starts = [ring.take(length) for length in (FRAME + 24, FRAME, 2 * FRAME)]
    assert starts == [0x1000, 0x1000 + 2 * FRAME, 0x1000]


def test_event_data_goes_on_in_the_frame_that_the_last_ended_in():
    ring = Ring(0, 4 * FRAME)
    starts = [ring.take(length) for length in (100, 3976 - 1, 24, FRAME, 60)]
    assert starts == [0, 100, FRAME, 2 * FRAME, 3 * FRAME]


@pytest.mark.parametrize("container", ["monwrite", "monreader"])
def test_events_land_with_their_values(container: str, tmp_path: Path):
    count = 700
    names = np.array([f"USER{n:04}" for n in range(count)])
    tods = stamps(*range(count))
    batches = [
        EventBatch("uselon", tods[::-1], {"vmduser": text_bytes(names, 8)}),
        EventBatch("prcvof", stamps(0.5), {"pfxcpuad": 3}),
    ]
    pieces = chunks(batches, tod(count))
    dump = captured(pieces) if container == "monreader" else pieces
    (tmp_path / "a.mon").write_bytes(b"".join(dump))
    store = Store(tmp_path / "store", create=True)
    landed = ingest(tmp_path / "a.mon", store)
    assert set(landed.findings.counts) <= {Code.CONFIG_MISSING}
    folder = store.find(landed.dump)
    assert folder is not None
    users = pq.ParquetFile(folder / "uselon.parquet").read()
    assert users["vmduser"].to_pylist() == names[::-1].tolist()
    assert pq.ParquetFile(folder / "prcvof.parquet").read()["pfxcpuad"].to_pylist() == [3]
