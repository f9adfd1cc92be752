"""Dumps of one system become one dump, and what was sliced into hours is whole again."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cpmon.core.errors import CpmonError
from cpmon.ingest import ingest
from cpmon.ingest.container.source import open_source
from cpmon.ingest.rewrite import Merged, SliceSelection, merge, record_hashes, slice_dump
from cpmon.store import Store
from tests.dumps import dump, fields, frame, interval, samples
from tests.generate.plain_reader import records
from tests.ingest.rewrite.test_monwrite_writer import chosen, numbered
from tests.ingest.rewrite.test_slicing import Rows, at, rows
from tests.scenarios import CONFIG, capture

OTHER = fields("mtrsys", systmid="OTHER")


def sample(minute: int) -> bytes:
    return interval(60 * minute, fields("sytrsp", 60 * minute, pfxcpuad=minute))


def file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def merged(*paths: Path) -> tuple[bytes, list[Merged]]:
    sink = io.BytesIO()
    parts = merge(paths, sink)
    return sink.getvalue(), parts


def processors(found: Rows) -> list[int]:
    return [row["pfxcpuad"] for row in found["sytrsp"]]


@pytest.mark.slow
def test_hours_merge_to_the_rows_of_the_whole(generated: bytes, tmp_path: Path):
    """In any order; every table is the same, the records that end frames included."""
    whole = file(tmp_path, "whole.mon", generated)
    ends = [row["interval_end_us"] for row in rows(generated, tmp_path / "a")["interval"]]
    hours = []
    for number, (since, until) in enumerate(pairwise([None, ends[1], ends[2], ends[5], None])):
        path = tmp_path / f"{number}.mon"
        with open_source(whole) as source, path.open("wb") as sink:
            slice_dump(source, sink, SliceSelection(since_us=since, until_us=until))
        hours.append(path)

    data, parts = merged(hours[2], hours[0], hours[3], hours[1])

    assert [part.path for part in parts] == hours
    assert rows(data, tmp_path / "b") == rows(generated, tmp_path / "c")
    assert [r.data for r in records(data)] == [r.data for r in records(generated)]
    assert parts[0].repeated == 0
    assert all(part.repeated > 0 for part in parts[1:])


def test_a_capture_and_a_file_merge(tmp_path: Path):
    first = file(tmp_path, "b.mon", dump(interval(0, CONFIG, fields("sytrsp")), sample(1)))
    second = file(tmp_path, "a.cap", capture(dump(sample(2), sample(3))))

    data, parts = merged(second, first)

    assert processors(rows(data, tmp_path / "m")) == [0, 1, 2, 3]
    assert [(part.system, part.records) for part in parts] == [("VMTEST", 5), ("", 4)]


def test_configuration_that_changed_is_kept(tmp_path: Path):
    changed = fields("mtrsys", 120, systmid="VMTEST")
    first = file(tmp_path, "1", dump(interval(0, CONFIG, fields("sytrsp")), sample(1)))
    second = file(tmp_path, "2", dump(interval(120, CONFIG, changed, fields("sytrsp", 120))))

    data, parts = merged(first, second)

    found = rows(data, tmp_path / "m")
    assert [row["tod_us"] for row in found["mtrsys"]] == [at(0), at(2)]
    assert parts[1].repeated == 1


def test_configuration_is_kept_where_the_dump_before_has_none(tmp_path: Path):
    first = file(tmp_path, "1", dump(sample(1)))
    second = file(tmp_path, "2", dump(interval(120, CONFIG, fields("sytrsp", 120))))

    assert [r["systmid"] for r in rows(merged(first, second)[0], tmp_path / "m")["mtrsys"]]


def test_samples_that_a_dump_does_not_close_are_no_part_of_the_next_one_s_interval(tmp_path: Path):
    late = samples(frame(fields("sytrsp", 90, pfxcpuad=9)))
    first = file(tmp_path, "1", dump(interval(0, CONFIG, fields("sytrsp")), late))
    second = file(tmp_path, "2", dump(sample(600)))

    data, parts = merged(first, second)

    assert processors(rows(data, tmp_path / "m")) == [0, 600]
    assert [part.left_out for part in parts] == [1, 0]


def refused(*paths: Path) -> CpmonError:
    with pytest.raises(CpmonError) as caught:
        merge(paths, io.BytesIO())
    return caught.value


def test_dumps_of_two_systems_are_refused(tmp_path: Path):
    first = file(tmp_path, "1", dump(interval(0, CONFIG, fields("sytrsp"))))
    second = file(tmp_path, "2", dump(interval(60, OTHER, fields("sytrsp", 60))))

    error = refused(first, second)

    assert error.problem == "these dumps are of different systems"
    assert (error.expected, error.found) == (f"system VMTEST, as in {first}", "system OTHER")


def test_a_system_that_appears_later_is_refused_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("cpmon.ingest.container.windows.CHUNK", 2 * 4096)
    only = interval(0, CONFIG, fields("sytrsp"))
    path = file(tmp_path, "1", dump(only, sample(1), interval(120, OTHER)))

    assert refused(path).problem == "these dumps are of different systems"


def test_dumps_that_overlap_are_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The end that is told is that of the dump, however early the overlap is noticed."""
    monkeypatch.setattr("cpmon.ingest.container.windows.CHUNK", 2 * 4096)
    early = interval(0, CONFIG, fields("sytrsp"))
    first = file(tmp_path, "1", dump(early, sample(2), sample(3)))
    second = file(tmp_path, "2", dump(sample(1), sample(4)))

    error = refused(first, second)

    assert error.problem == "these dumps overlap in time"
    assert error.place == str(second)
    assert "cpmon slice" in (error.remedy or "")
    assert "2001-12-18T10:03:00" in (error.expected or "")
    # A slice has what ends later than a second after that.
    assert "--from 2001-12-18T10:02:59" in (error.remedy or "")


def test_a_dump_of_configuration_only_is_refused(tmp_path: Path):
    first = file(tmp_path, "1", dump(interval(0, CONFIG, fields("sytrsp"))))

    assert refused(first, file(tmp_path, "2", dump(interval(60, OTHER)))).place == str(
        tmp_path / "2"
    )


def test_a_merged_dump_lands_once_as_any_other(tmp_path: Path):
    path = file(tmp_path, "1", dump(interval(0, CONFIG, fields("sytrsp")), sample(1)))
    store = Store(tmp_path / "store", create=True)

    again = file(tmp_path, "2", merged(path)[0])

    assert not ingest(again, store).already
    assert ingest(again, store).already


def test_a_hash_tells_records_apart_by_any_byte():
    pieces = numbered([60] * 40)
    base = record_hashes(chosen(pieces))
    assert len(np.unique(base)) == 40
    for place in range(20, 60):
        data = bytearray(pieces[0][1])
        data[place] ^= 0x80
        assert record_hashes(chosen([(True, bytes(data))]))[0] != base[0]
