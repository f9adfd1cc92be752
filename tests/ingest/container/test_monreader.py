"""monreader streams: a capture of a dump lands the rows of the MONWRITE file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cpmon.core.errors import DumpError
from cpmon.generate import load_scenario, write_run
from cpmon.ingest import Code, ingest
from cpmon.ingest.codec import U8
from cpmon.ingest.container import monreader
from cpmon.ingest.container.source import open_source
from cpmon.ingest.inspect.inventory import take_inventory
from cpmon.store import Store
from tests.dumps import FRAME, fields, frame, frame_end, interval, record
from tests.ingest.rewrite.test_slicing import rows
from tests.scenarios import CONFIG, FIRST_SET, LATER_SET, capture, captured


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The run of the fixture `generated`, as a capture."""
    folder = tmp_path_factory.mktemp("captured")
    scenario = load_scenario("timer")
    return write_run(
        scenario, "2600P", folder, intervals=6, container="monreader"
    ).dump.read_bytes()


def test_a_generated_capture_is_that_of_the_generated_file(generated: bytes, stream: bytes):
    assert stream == capture(generated)
    assert stream[:1] == b"\xc5" and len(stream) % FRAME != 0


def test_a_capture_lands_the_rows_of_the_file(generated: bytes, stream: bytes, tmp_path: Path):
    assert rows(stream, tmp_path / "stream") == rows(generated, tmp_path / "file")


def test_bytes_of_a_capture_are_accounted_for(stream: bytes, tmp_path: Path, store: Store):
    file = tmp_path / "a.cap"
    file.write_bytes(stream)

    landed = ingest(file, store)

    parts = landed.about["bytes"]
    assert parts.pop("size") == sum(parts.values()) == len(stream)
    assert parts["quarantined"] == 0
    assert not landed.findings.counts


@pytest.mark.parametrize("cut", [1, 100, 5000])
def test_a_set_that_is_not_complete_does_not_count(cut: int, tmp_path: Path, store: Store):
    file = tmp_path / "a.cap"
    data = FIRST_SET + capture(interval(120, *[fields("sytrsp", 120)] * 9))
    data += captured(("S", 0x40000, frame(fields("sytrsp", 180), frame_end()) + bytes(FRAME)))
    file.write_bytes(data[:-cut])

    landed = ingest(file, store)

    assert landed.about["rows"]["sytrsp"] == 10
    assert set(landed.findings.counts) == {Code.TRUNCATED}
    assert landed.about["bytes"]["quarantined"] == 12 + 2 * FRAME - cut


def test_a_set_too_long_to_be_held_counts_as_it_comes(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(monreader, "SET_LIMIT", 2 * FRAME)
    monkeypatch.setattr("cpmon.ingest.container.windows.CHUNK", 3 * FRAME)
    start = 0x40000 + 4000
    first = (fields("mtrepr", 1, config=1) + frame_end(1)).ljust(96, b"\0")
    frames = [frame(fields("mtrepr", n, config=n), frame_end(n)) for n in range(2, 20)]
    whole = captured(("E", start, b"".join([first, *frames])))
    file = tmp_path / "a.cap"
    file.write_bytes(FIRST_SET + whole + LATER_SET)

    landed = ingest(file, store)

    assert landed.about["rows"]["mtrepr"] == 19
    assert landed.about["rows"]["sytrsp"] == 2
    assert not landed.findings.counts
    parts = landed.about["bytes"]
    assert parts.pop("size") == sum(parts.values())

    file.write_bytes(FIRST_SET + whole[: 12 + 96 + 11 * FRAME])
    cut = ingest(file, store)
    assert cut.about["rows"]["mtrepr"] == 12
    assert set(cut.findings.counts) == {Code.TRUNCATED}


def test_a_record_that_says_too_much_does_not_hide_the_next_set(tmp_path: Path, store: Store):
    """The set is cut, and its record says the length of all that is left of it but a zero."""
    said = record(0, 4, bytes(FRAME - 24), 60, claimed=FRAME - 1)
    cut = captured(("S", 0x40000, said[:-100].ljust(FRAME, b"\0")))[:-100]
    file = tmp_path / "a.cap"
    file.write_bytes(cut + FIRST_SET + LATER_SET)

    landed = ingest(file, store)

    assert landed.about["rows"]["sytrsp"] == 2
    assert Code.CONTROL_CUT in landed.findings.counts


def test_a_set_without_bytes_is_cut_where_it_begins(tmp_path: Path, store: Store):
    """An element stands where the record set of another should begin."""
    file = tmp_path / "a.cap"
    file.write_bytes(FIRST_SET[:12] + FIRST_SET + LATER_SET)

    landed = ingest(file, store)

    assert landed.about["rows"]["sytrsp"] == 2
    assert set(landed.findings.counts) == {Code.CONTROL_CUT}


def test_a_set_that_is_cut_does_not_hide_one_that_nothing_follows(tmp_path: Path, store: Store):
    """Its end falls among the zeros of the next set, which stands behind the end of a frame."""
    first = (fields("mtrepr", 1, config=1) + frame_end(1)).ljust(96, b"\0")
    second = frame(fields("mtrepr", 2, config=2), frame_end(2))
    last = fields("mtrepr", 3, config=3) + frame_end(3)
    cut = captured(("E", 0x40000 + FRAME - 96, first + second + last))[: 12 + 96 + 1000]
    file = tmp_path / "a.cap"
    file.write_bytes(cut + FIRST_SET + b"\x5a" * 100 + LATER_SET)

    landed = ingest(file, store)

    assert landed.about["rows"]["mtrepr"] == landed.about["rows"]["sytrsp"] == 2
    assert set(landed.findings.counts) == {Code.CONTROL_CUT, Code.FRAME_LOST}


def test_a_set_that_is_cut_by_a_frame_of_its_own_does_not_hide_the_next_one(
    tmp_path: Path, store: Store
):
    """Behind its first frame stands the same set again, whole: all of its frames seem to be there.

    Nothing follows either of them in its place.
    """
    first = (fields("mtrepr", 1, config=1) + frame_end(1)).ljust(96, b"\0")
    second = frame(fields("mtrepr", 2, config=2), frame_end(2))
    last = fields("mtrepr", 3, config=3) + frame_end(3)
    whole = captured(("E", 0x40000 + FRAME - 96, first + second + last))
    file = tmp_path / "a.cap"
    file.write_bytes(FIRST_SET + whole[:FRAME] + whole + b"\x5a" * 100 + LATER_SET)

    landed = ingest(file, store)

    assert landed.about["rows"]["mtrepr"] == 5
    assert landed.about["rows"]["sytrsp"] == 2


def test_a_set_that_claims_too_much_does_not_hide_one_that_nothing_follows(
    tmp_path: Path, store: Store
):
    data = bytearray(FIRST_SET + LATER_SET + b"\x5a" * 100)
    data[8] = 0x7F
    file = tmp_path / "a.cap"
    file.write_bytes(data)

    landed = ingest(file, store)

    assert landed.about["rows"]["sytrsp"] == 2
    assert set(landed.findings.counts) == {Code.CONTROL_CUT, Code.FRAME_LOST}


def test_who_knows_the_container_can_say_so(tmp_path: Path):
    """The first control element is damaged, and the other set: nothing is sure."""
    file = tmp_path / "a.cap"
    file.write_bytes(b"\xff" + FIRST_SET[1:] + LATER_SET[:-1] + b"\1" * 41)
    store = Store(tmp_path / "store", create=True)
    with pytest.raises(DumpError):
        ingest(file, store)

    landed = ingest(file, store, container="monreader")
    with open_source(file, "monreader") as source:
        found = take_inventory(source)

    assert found.records[0, 4][0] == landed.about["rows"]["sytrsp"] == 1
    assert set(found.findings.counts) == {Code.FRAME_LOST, Code.CONFIG_MISSING}


def test_an_element_needs_a_kind_a_domain_and_an_end_above_its_start():
    good = captured(("S", 0x1000, CONFIG))
    assert monreader.read_element(_array(good), 0) is not None
    for bad in (
        b"\xe3" + good[1:],
        good[:1] + b"\0\0" + good[3:],
        good[:8] + good[4:8] + good[12:],
        good[:11],
    ):
        assert monreader.read_element(_array(bad), 0) is None


def _array(data: bytes) -> U8:
    return np.frombuffer(data, np.uint8)
