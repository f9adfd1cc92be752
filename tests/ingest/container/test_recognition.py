"""What is no monitor data is refused with the reason and the remedy, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.core.errors import DumpError
from cpmon.ingest import Code, ingest
from cpmon.store import Store
from tests.dumps import FRAME, dump, fields, frame, frame_end, interval, samples
from tests.scenarios import CONFIG, FIRST_SET, LATER_SET, SAMPLE, capture, captured

DATA = dump(interval(60, CONFIG, SAMPLE), interval(120, SAMPLE))
FRAMES = [DATA[at : at + FRAME] for at in range(0, len(DATA), FRAME)]


def refused(data: bytes, tmp_path: Path, store: Store) -> DumpError:
    file = tmp_path / "odd.mon"
    file.write_bytes(data)
    with pytest.raises(DumpError) as caught:
        ingest(file, store)
    assert list(store.dumps()) == []
    assert list(store.staging.iterdir()) == []
    return caught.value


def test_an_empty_file(tmp_path: Path, store: Store):
    assert refused(b"", tmp_path, store).problem == "odd.mon is empty"


SHORT_TEXT = "hello wörld".encode().ljust(FRAME, b".")
"""A frame of UTF-8, the characters of which are fewer than its bytes."""


@pytest.mark.parametrize(
    "data", [b"hello world\n", bytes(100), bytes(9000), b"\x7fELF" * 5000, SHORT_TEXT]
)
def test_other_data_is_no_monitor_data(data: bytes, tmp_path: Path, store: Store):
    error = refused(data, tmp_path, store)

    assert error.problem == "odd.mon is no monitor data"
    assert error.place == "offset 0x0"


def test_a_dump_translated_to_ascii_was_transferred_as_text(tmp_path: Path, store: Store):
    error = refused(DATA.decode("cp037").encode("latin-1"), tmp_path, store)

    assert error.problem == "odd.mon was transferred as text"
    assert "binary" in (error.remedy or "")


def test_a_dump_written_as_unicode_was_transferred_as_text(tmp_path: Path, store: Store):
    for text in (DATA.decode("latin-1"), DATA.decode("utf-8", errors="replace")):
        error = refused(text.encode(), tmp_path, store)
        assert error.problem == "odd.mon was transferred as text"
        assert "UTF-8" in (error.found or "")


@pytest.mark.parametrize(("end", "name"), [(b"\r\n", "CR and LF"), (b"\n", "LF")])
def test_line_ends_behind_records_come_from_a_text_transfer(
    end: bytes, name: str, tmp_path: Path, store: Store
):
    error = refused(end.join(FRAMES), tmp_path, store)

    assert error.problem == "odd.mon was transferred as text"
    assert name in (error.found or "")


def test_a_damaged_first_control_record_costs_itself(tmp_path: Path, store: Store):
    file = tmp_path / "odd.mon"
    file.write_bytes(b"\x5a" * FRAME + DATA[FRAME:])
    landed = ingest(file, store)

    assert set(landed.findings.counts) == {Code.FRAME_LOST, Code.FRAME_ORPHAN}
    assert landed.about["bytes"]["quarantined"] == FRAME
    assert landed.about["rows"]["sytrsp"] == 2


@pytest.mark.parametrize(
    "front",
    [
        pytest.param(b"\xff" + FIRST_SET[1:], id="its kind"),
        pytest.param(FIRST_SET[4:], id="its first bytes"),
        pytest.param(FIRST_SET[12:], id="all of it"),
        pytest.param(FIRST_SET[500:], id="it and the first record"),
        pytest.param(b"\x5a" * 3 * FRAME + b"\x5b" * 100 + FIRST_SET[1:], id="noise before it"),
    ],
)
def test_a_damaged_front_of_a_capture_costs_its_first_set(
    front: bytes, tmp_path: Path, store: Store
):
    file = tmp_path / "odd.cap"
    file.write_bytes(front + LATER_SET + capture(dump(interval(180, SAMPLE, SAMPLE))))
    landed = ingest(file, store)

    assert landed.about["rows"]["sytrsp"] >= 3
    parts = landed.about["bytes"]
    assert parts.pop("size") == sum(parts.values())


def test_a_frame_of_a_capture_that_stands_as_in_a_file_does_not_make_it_one(
    tmp_path: Path, store: Store
):
    """Zeros up to a second frame, which begins with records; then sets, anywhere."""
    events = [fields("mtrepr", n, config=n) for n in range(1, 20)]
    file = tmp_path / "odd.cap"
    odd = captured(("E", 0x80000, b"".join(events)))
    file.write_bytes(bytes(FRAME) + frame(*events)[:3000] + odd + LATER_SET)
    landed = ingest(file, store)

    assert landed.about["rows"]["mtrepr"] == 19
    assert landed.about["rows"]["sytrsp"] == 1


def test_what_looks_like_a_set_does_not_make_a_file_a_capture(tmp_path: Path, store: Store):
    """The first frames are damaged; bytes in front of a record read like a control element."""
    hidden = captured(("E", 0x80000, fields("mtrepr", 1, config=1)))
    first = bytearray(frame(SAMPLE, fields("sytrsp", 60)))
    second = frame(bytes(100), hidden)
    third = frame(*[fields("sytrsp", 60) for _ in range(3)], frame_end(60))
    data = bytes(first[:72]) + b"\xff" * (FRAME - 72) + b"\x5a" * FRAME
    data += samples(third, second, third) + DATA
    file = tmp_path / "odd.mon"
    file.write_bytes(data)
    landed = ingest(file, store)

    assert landed.about["rows"]["sytrsp"] >= 8
    assert "mtrepr" not in landed.about["rows"]
