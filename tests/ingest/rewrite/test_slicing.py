"""A slice is a valid dump that lands the rows of the part that was chosen."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cpmon.core.errors import CpmonError
from cpmon.ingest import ingest
from cpmon.ingest.container import windows
from cpmon.ingest.container.source import Source
from cpmon.ingest.rewrite import Slice, SliceSelection, slice_dump
from cpmon.store import Store
from tests.dumps import BEGIN_US, control, dump, fields, frame, interval, interval_end, samples
from tests.generate.plain_reader import records as plain_records
from tests.scenarios import CONFIG

Rows = dict[str, list[dict[str, Any]]]
MINUTE = 60_000_000
START_EVENTS = {"mtrecm", "mtrscm"}
"""What a generated dump begins with beside configuration: events, at the moment they tell of."""


def rows(data: bytes, folder: Path) -> Rows:
    """Every table that a dump lands in; without the places of records and the frames' ends."""
    folder.mkdir()
    file = folder / "a.mon"
    file.write_bytes(data)
    store = Store(folder / "store", create=True)
    landed = store.find(ingest(file, store).dump)
    assert landed is not None
    tables = {f.stem: pq.ParquetFile(f).read() for f in sorted(landed.glob("*.parquet"))}
    for name in ("finding", "quarantine", "mtreof"):
        tables.pop(name, None)
    return {
        name: table.drop_columns(
            [c for c in ("record_offset",) if c in table.column_names]
        ).to_pylist()
        for name, table in tables.items()
    }


def cut(data: bytes, **part: Any) -> tuple[bytes, Slice]:
    sink = io.BytesIO()
    found = slice_dump(Source(io.BytesIO(data), "a.mon"), sink, SliceSelection(**part))
    assert found.size == len(sink.getvalue())
    return sink.getvalue(), found


def at(minute: float) -> int:
    return BEGIN_US + round(minute * MINUTE)


def ends(found: Rows) -> list[Any]:
    return sorted({row["interval_end"] for row in found["sytprp"]})


def between(found: Rows, kept: list[Any]) -> Rows:
    """The rows of some intervals, and the configuration, which belongs to none."""
    key = {"interval": "interval_end", "mtrend": "tod"}
    return {
        name: [r for r in table if r[key.get(name, "interval_end")] in (None, *kept)]
        for name, table in found.items()
        if name not in START_EVENTS
    }


def test_a_slice_of_a_generated_dump_is_the_dump(generated: bytes):
    """The generator fills frames by the same rule; only addresses and message numbers differ."""
    data, found = cut(generated)

    assert [r._replace(offset=0) for r in plain_records(data)] == [
        r._replace(offset=0) for r in plain_records(generated)
    ]
    assert found.intervals == 7


def test_a_slice_by_time_has_the_intervals_that_end_in_it(generated: bytes, tmp_path: Path):
    whole = rows(generated, tmp_path / "whole")
    third, fifth = (whole["interval"][n]["interval_end_us"] for n in (2, 4))

    data, found = cut(generated, since_us=third, until_us=fifth)

    assert found.intervals == 2
    part = rows(data, tmp_path / "slice")
    assert part["interval"][0].pop("restated")  # configuration stands at the begin of the slice
    expected = between(whole, ends(whole)[3:5])
    assert not expected["interval"][0].pop("restated")
    assert part == expected


def test_slices_stop_reading_where_they_end(generated: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(windows, "CHUNK", 64 * 1024)
    source = Source(io.BytesIO(generated), "a.mon")
    first = next(r.tod for r in plain_records(generated) if (r.domain, r.number) == (1, 11))

    slice_dump(source, io.BytesIO(), SliceSelection(until_us=(first >> 12) - 2_208_988_800_000_000))

    assert source.size < len(generated) / 2


def test_a_slice_has_an_older_dump_behind_a_newer_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(windows, "CHUNK", 64 * 1024)
    row = fields("sytrsp", 60, pfxcpuad=1)
    newer = dump(*(interval(60 * n, CONFIG, row) for n in range(100, 200)))
    older = dump(*(interval(60 * n, CONFIG, row) for n in range(1, 10)))

    assert cut(newer + older, until_us=at(5))[1].intervals == 5


def test_a_slice_by_record_keeps_configuration_and_interval_ends(generated: bytes, tmp_path: Path):
    whole = rows(generated, tmp_path / "whole")

    found = rows(cut(generated, kinds=frozenset({(0, 2)}))[0], tmp_path / "slice")

    kept = {"sytprp", "interval"} | {n for n in whole if n.startswith("mtr")} - START_EVENTS
    assert set(found) == kept
    assert {n: t for n, t in found.items() if n != "interval"} == {
        n: whole[n] for n in kept if n != "interval"
    }


def test_domains_and_records_add_up(generated: bytes, tmp_path: Path):
    part = {"domains": frozenset({4}), "kinds": frozenset({(0, 2)})}

    found = rows(cut(generated, **part)[0], tmp_path / "slice")

    assert {"sytprp", "useact"} <= set(found)
    assert "ioddev" not in found and "sytrsp" not in found


def test_thinning_keeps_every_nth_interval_whole(generated: bytes, tmp_path: Path):
    whole = rows(generated, tmp_path / "whole")

    found = rows(cut(generated, every=3)[0], tmp_path / "slice")

    kept = between(whole, ends(whole)[::3])
    for name in ("sytprp", "useact", "ioddev", "mtrend", "mtrsys", "mtrepr"):
        assert found[name] == kept[name]


def test_a_thinned_dump_says_how_far_apart_its_samples_are(generated: bytes, tmp_path: Path):
    found = rows(cut(generated, every=3)[0], tmp_path / "slice")

    assert [row["interval"] for row in found["mtrspr"]] == [180]
    assert {row["nominal_s"] for row in found["interval"]} == {180}


def test_events_go_by_their_own_time(tmp_path: Path):
    events = [fields("mtrsus", 60 * n) for n in (1, 2, 3)]
    first = 0x80000
    parts = [control(("E", first, first + len(e) - 1)) + frame(e) for e in events]
    data = dump(interval(0, CONFIG, fields("sytrsp")), *parts, interval(300, fields("sytrsp", 300)))

    found = rows(cut(data, since_us=at(1), until_us=at(2))[0], tmp_path / "slice")

    assert "sytrsp" not in found
    assert [row["tod_us"] for row in found["mtrsus"]] == [at(2)]


def test_configuration_comes_along_whatever_is_chosen(tmp_path: Path):
    later = [interval(60 * n, fields("sytrsp", 60 * n, pfxcpuad=n)) for n in range(1, 5)]
    data = dump(interval(0, CONFIG, fields("sytrsp")), *later)

    found = rows(cut(data, since_us=at(2), domains=frozenset({0}))[0], tmp_path / "slice")

    assert [row["systmid"] for row in found["mtrsys"]] == ["VMTEST"]
    assert [row["pfxcpuad"] for row in found["sytrsp"]] == [3, 4]
    assert len(found["mtrend"]) == 2


def test_a_part_without_anything_is_refused_with_the_span(generated: bytes):
    sink = io.BytesIO()
    with pytest.raises(CpmonError) as caught:
        slice_dump(Source(io.BytesIO(generated), "a.mon"), sink, SliceSelection(since_us=2**60))

    assert "2001-" in (caught.value.found or "") or "UTC" in (caught.value.found or "")
    assert sink.getvalue() == b""


def test_windows_do_not_change_a_slice(generated: bytes, monkeypatch: pytest.MonkeyPatch):
    part = {"domains": frozenset({0}), "every": 2}
    whole = cut(generated, **part)[0]
    monkeypatch.setattr(windows, "CHUNK", 17 * 4096)

    small = cut(generated, **part)[0]

    assert [r._replace(offset=0) for r in plain_records(small)] == [
        r._replace(offset=0) for r in plain_records(whole)
    ]


def test_damaged_frames_are_counted_and_their_good_records_kept():
    bad = frame(CONFIG, fields("sytrsp", 60), b"\x00\x30\xff\xff" + b"x" * 40)
    data, found = cut(dump(samples(bad, frame(interval_end(60)))))

    assert found.damaged == 1
    assert [(r.domain, r.number) for r in plain_records(data)] == [(1, 4), (0, 4), (1, 11)]
