"""What findings advise: done, and the finding is gone, or what was promised is there."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cpmon.cli.main import Status
from cpmon.ingest.findings import Code
from cpmon.schemas.registry import reload
from tests.cli.answer import Cpmon
from tests.dumps import FRAME, dump, fields, frame, interval, record, samples
from tests.remedies.conftest import dump_of
from tests.remedies.trying import Attempt
from tests.schemas.test_page import example

AGAIN = {
    "RECORD_SHORT": "length-short:50%",
    "RECORD_LONG": "length-past-frame:50%",
    "FRAME_EMPTY": "zero-frames:50%",
    "TRUNCATED": "truncate:-5000",
    "COMPRESSED_CUT": "cut-compressed:-100",
}
"""Findings behind which a dump is to be transferred again, with damage that makes them."""
ELSEWHERE = {
    "MOSTLY_LOST": "an ingest says the same; tried in test_dump.py",
    "BLOCK_TORN": "a query; torn blocks are in tests/ingest/decode/test_appldata.py",
    "SYSTEMS_SEVERAL": "a file of two systems is cut in tests/ingest/test_systems.py",
    "FRAME_LOST": "the advice is where to look",
    "SETS_MISSED": "the advice is about the guest that reads",
    "GROUP_CUT": "the advice is to compare two layouts",
    "RECORD_WITHDRAWN": "the page to bring is in tests/cli/test_doctor.py",
    "COUNTER_FELL": "the advice is to compare two layouts",
    "SAMPLE_MISSING": "the advice is what to monitor, and where to look",
    "BLOCK_STALE": "the advice is about the guest that writes",
    "WRAPPED_TWICE": "the advice is about the length of intervals",
    "SUM_OPEN": "the advice is to compare two layouts",
}
"""What is not tried here, with the reason."""
HERE = {
    "VALUE_IMPOSSIBLE",
    "WORDS_BROKEN",
    *(
        "INTERVAL_GAP",
        "TOD_BACK",
        "CONFIG_MISSING",
        "INTERVAL_OPEN",
        "LAYOUT_UNKNOWN",
        "HEADER_BAD",
    ),
}
NOTHING = {
    *("FRAME_ORPHAN", "CONTROL_CUT", "END_MISSING", "TRAILING_DATA", "TOD_DISORDER"),
    *("OWNER_RESTARTED", "OWNER_ENDED", "RECORD_LONGER", "UNWRAPPED", "CLOCK_SET"),
    "BLOCK_CLOCK_SET",
}
"""What asks for nothing to be done: it says what became of the data."""


def codes(cpmon: Cpmon, path: Path) -> set[str]:
    (found,) = json.loads(cpmon("check", path, "--format", "json").text)
    return {finding["code"] for finding in found["findings"]}


@pytest.mark.parametrize("code", AGAIN)
def test_a_dump_that_is_transferred_again_has_the_finding_no_more(
    code: str, tried: Attempt, tmp_path: Path
):
    path, cut = tmp_path / "day.mon", code == "COMPRESSED_CUT"
    path.write_bytes(dump_of(intervals=20))
    arrived = tmp_path / ("arrived.mon.gz" if cut else "arrived.mon")
    tried.works("damage", path, AGAIN[code], "-o", arrived)
    assert code in codes(tried.cpmon, arrived)
    assert "again" in Code[code].remedy
    arrived.write_bytes(path.read_bytes())
    assert codes(tried.cpmon, arrived) == set()


def test_words_that_are_broken_are_whole_in_the_next_transfer(tried: Attempt, tmp_path: Path):
    path, arrived = tmp_path / "day.mon", tmp_path / "arrived.mon"
    path.write_bytes(dump_of(intervals=20))
    tried.works("damage", path, "record-prefixes", "-o", arrived)
    data = bytearray(arrived.read_bytes())
    data[3 * 4100] = 0xFF
    arrived.write_bytes(data)
    assert "WORDS_BROKEN" in codes(tried.cpmon, arrived)
    assert "again in binary" in Code.WORDS_BROKEN.remedy
    arrived.write_bytes(path.read_bytes())
    assert codes(tried.cpmon, arrived) == set()


def test_a_frame_that_is_overwritten_is_whole_in_the_next_transfer(tried: Attempt, tmp_path: Path):
    path, spoilt = tmp_path / "day.mon", tmp_path / "spoilt.mon"
    path.write_bytes(dump_of())
    data = bytearray(path.read_bytes())
    second = FRAME + int.from_bytes(data[FRAME : FRAME + 2])
    data[second + 2 : second + 4] = b"\xa5\xa5"
    spoilt.write_bytes(data)
    assert "HEADER_BAD" in codes(tried.cpmon, spoilt)
    spoilt.write_bytes(path.read_bytes())
    assert codes(tried.cpmon, spoilt) == set()


def test_an_impossible_value_is_printed_as_it_stands_and_gone_with_a_good_transfer(
    tried: Attempt, tmp_path: Path
):
    path = tmp_path / "day.mon"
    start = fields("mtrsys", 60, systmid="VMTEST")
    bad, good = (fields("sytrsg", 60, rsa2gavl=value) for value in (1 << 63 | 700, 700))
    path.write_bytes(dump(interval(60, start, bad)))
    (found,) = json.loads(tried.cpmon("check", path, "--format", "json").text)
    (impossible,) = (f for f in found["findings"] if f["code"] == "VALUE_IMPOSSIBLE")
    assert "sytrsg.rsa2gavl" in impossible["detail"]
    shown = tried.works("show", path, "--at", impossible["record_offset"])
    assert "9223372036854776508" in shown.text.replace(",", "")
    path.write_bytes(dump(interval(60, start, good)))
    assert codes(tried.cpmon, path) == set()


def parts(tried: Attempt, folder: Path) -> list[Path]:
    """Three dumps of one system that follow each other."""
    found = [folder / f"part{number}.mon" for number in range(3)]
    for number, path in enumerate(found):
        path.write_bytes(dump_of(number))
    return found


def test_a_second_dump_closes_a_gap(tried: Attempt, tmp_path: Path):
    first, second, third = parts(tried, tmp_path)
    out = tmp_path / "out.mon"
    tried.works("merge", first, third, "-o", out)
    assert "INTERVAL_GAP" in codes(tried.cpmon, out)
    tried.works("merge", first, second, third, "-o", out)
    assert "INTERVAL_GAP" not in codes(tried.cpmon, out)


def test_dumps_in_the_order_of_their_times_do_not_go_back(tried: Attempt, tmp_path: Path):
    first, second, _ = parts(tried, tmp_path)
    joined, merged = tmp_path / "joined.mon", tmp_path / "merged.mon"
    joined.write_bytes(second.read_bytes() + first.read_bytes())
    assert "TOD_BACK" in codes(tried.cpmon, joined)
    tried.works("merge", second, first, "-o", merged)
    assert codes(tried.cpmon, merged) == set()


def test_a_dump_without_configuration_gets_the_name_of_its_system(tried: Attempt, tmp_path: Path):
    path, store = tmp_path / "rest.mon", tmp_path / "store"
    path.write_bytes(dump(interval(60, fields("sytrsp", 60))))
    assert "CONFIG_MISSING" in codes(tried.cpmon, path)
    tried.works("ingest", path, "--system", "VMPROD", "--store", store)
    assert (store / "records" / "system=VMPROD").is_dir()


def test_samples_of_an_open_interval_are_where_the_finding_says(tried: Attempt, tmp_path: Path):
    path, store = tmp_path / "open.mon", tmp_path / "store"
    start = fields("mtrsys", 60, systmid="VMTEST")
    path.write_bytes(dump(interval(60, start), samples(frame(fields("sytrsp", 90)))))
    assert "INTERVAL_OPEN" in codes(tried.cpmon, path)
    tried.works("ingest", path, "--store", store, status=Status.WARNINGS)
    (table,) = store.rglob("sytrsp.parquet")
    assert pq.read_table(table)["interval_end"].null_count == 1


def test_records_that_were_raw_are_decoded_with_their_layout(
    tried: Attempt, tmp_path: Path, shipped_again: None, monkeypatch: pytest.MonkeyPatch
):
    path, page, store = tmp_path / "day.mon", tmp_path / "MRXMPLRC.TXT", tmp_path / "store"
    page.write_text(example().aligned(), encoding="utf-8")
    start = fields("mtrsys", 60, systmid="VMTEST")
    path.write_bytes(dump(interval(60, start, record(12, 31, bytes(60), 60))))
    tried.works("ingest", path, "--store", store)
    assert not list(store.rglob("xmplrc.parquet")) and list(store.rglob("record_raw.parquet"))
    again = tmp_path / "again"
    tried.works("schema", "import", page, "--into", again / "schemas")
    monkeypatch.setenv("CPMON_SCHEMAS", str(again / "schemas"))
    reload()
    tried.works("ingest", path, "--store", tmp_path / "new")
    new = tmp_path / "new"
    assert list(new.rglob("xmplrc.parquet")) and not list(new.rglob("record_raw.parquet"))


def test_no_finding_is_forgotten_here():
    tried_here = {*AGAIN, *HERE}
    assert not tried_here & (NOTHING | set(ELSEWHERE))
    assert tried_here | NOTHING | set(ELSEWHERE) == {code.name for code in Code}
