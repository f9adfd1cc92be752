"""What is no monitor data is refused with the reason and the remedy, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.ingest import Code, ingest
from cpmon.schemas import DumpError
from cpmon.store import Store
from tests.dumps import FRAME, dump, interval
from tests.scenarios import CONFIG, SAMPLE

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


@pytest.mark.parametrize("data", [b"hello world\n", bytes(100), bytes(9000), b"\x7fELF" * 5000])
def test_other_data_is_no_monitor_data(data: bytes, tmp_path: Path, store: Store):
    error = refused(data, tmp_path, store)

    assert error.problem == "odd.mon is no monitor data"
    assert error.place == "offset 0x0"


def test_a_dump_translated_to_ascii_was_transferred_as_text(tmp_path: Path, store: Store):
    error = refused(DATA.decode("cp037").encode("latin-1"), tmp_path, store)

    assert error.problem == "odd.mon was transferred as text"
    assert "binary" in (error.remedy or "")


@pytest.mark.parametrize(("end", "name"), [(b"\r\n", "CR and LF"), (b"\n", "LF")])
def test_line_ends_behind_records_come_from_a_text_transfer(
    end: bytes, name: str, tmp_path: Path, store: Store
):
    error = refused(end.join(FRAMES), tmp_path, store)

    assert error.problem == "odd.mon was transferred as text"
    assert name in (error.found or "")


@pytest.mark.parametrize("prefix", [b"\x10\x04\0\0", b"\x10\x08\0\0\x10\x04\0\0"])
def test_record_and_block_prefixes_are_recognised(prefix: bytes, tmp_path: Path, store: Store):
    error = refused(b"".join(prefix + f for f in FRAMES), tmp_path, store)

    assert error.problem == f"odd.mon has {len(prefix)} bytes in front of its records"


def test_a_damaged_first_control_record_costs_itself(tmp_path: Path, store: Store):
    file = tmp_path / "odd.mon"
    file.write_bytes(b"\x5a" * FRAME + DATA[FRAME:])
    landed = ingest(file, store)

    assert set(landed.findings.counts) == {Code.FRAME_LOST, Code.FRAME_ORPHAN}
    assert landed.about["bytes"]["quarantined"] == FRAME
    assert landed.about["rows"]["sytrsp"] == 2
