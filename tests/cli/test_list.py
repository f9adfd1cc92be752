"""`cpmon list`: the summary for a reader, the document for a program, the order of the types."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from cpmon.cli.main import Status
from tests.cli.answer import Cpmon
from tests.dumps import dump, fields, interval, record
from tests.scenarios import SAMPLE

IPL = 0x7D91048BCA000000 + (1_008_600_000_000_000 << 12)  # 2001-12-17 14:40:00
CONFIG = fields(
    "mtrsys", systmid="VMTEST", hcpcpeid="05030000", systodst=IPL, syszone=3600
) + fields("mtrspr", interval=60)
AGAIN = fields(
    "mtrsys", 270, systmid="VMTEST", hcpcpeid="05030000", syszone=3600,
    systodst=IPL + (69_000_000_000 << 12),
)  # fmt: skip
DATA = dump(
    interval(60, CONFIG, SAMPLE),
    interval(120, SAMPLE),
    interval(300, AGAIN, SAMPLE, record(1, 3, bytes(400), 280)),
)


@pytest.fixture
def mon(tmp_path: Path) -> Path:
    file = tmp_path / "one.mon"
    file.write_bytes(DATA)
    return file


def test_the_summary_says_system_release_span_intervals_and_resets(cpmon: Cpmon, mon: Path):
    answer = cpmon("list", mon)
    assert answer.status is Status.WARNINGS
    assert answer.text.splitlines()[:6] == [
        f"one.mon: system VMTEST, {len(DATA):,} bytes",
        "  release    z/VM 5.3.0, loaded 2001-12-18 09:50:00.000 UTC, 1 reset before 2001-12-18 "
        "10:04:30.000",
        "  span       2001-12-18 10:00:00.000 to 2001-12-18 10:05:00.000 UTC",
        "             2001-12-18 11:00:00.000 to 2001-12-18 11:05:00.000 UTC+01:00",
        "  intervals  3 of 60 s, 1 gap",
        "  findings   TOD_DISORDER x 1, INTERVAL_GAP x 1 in frames, headers and times; "
        "cpmon check reads the values too",
    ]


def test_the_document_has_it_all_with_a_version(cpmon: Cpmon, mon: Path):
    (found,) = cpmon("list", mon, "--format", "json").rows
    assert found["schema_version"] == 1
    assert (found["release"], found["zone_s"]) == ("5.3.0", 3600)
    assert found["last_local"] == "2001-12-18 11:05:00.000"
    assert found["gaps"] == 1
    assert found["gap_spans"] == [["2001-12-18 10:02:00.000", "2001-12-18 10:05:00.000"]]
    assert found["starts"] == 2
    assert found["resets"] == [{"at": "2001-12-18 10:04:30.000", "ipl": "2001-12-18 09:50:00.000"}]


def test_what_a_dump_does_not_say_is_said_to_be_missing(cpmon: Cpmon, tmp_path: Path):
    file = tmp_path / "part.mon"
    file.write_bytes(dump(interval(60, SAMPLE)))
    lines = cpmon("list", file).text.splitlines()
    assert lines[0].startswith("part.mon: system not named, ")
    assert lines[1] == "  release    not named"
    assert lines[3] == "  intervals  1, 0 gaps"


def test_types_come_in_the_order_asked_for(cpmon: Cpmon, mon: Path):
    def names(*words: str) -> list[str]:
        found = cpmon("list", mon, *words, "--format", "csv").out
        return pl.read_csv(found)["name"].to_list()

    assert names()[0] == "MTRSUS"
    assert names("--sort", "records")[0] in ("SYTRSP", "MTREND")
    assert names("--sort", "type")[0] == "SYTRSP"
    (document,) = cpmon("list", mon, "--sort", "type", "--format", "json").rows
    assert [row["name"] for row in document["records"]] == names("--sort", "type")


def test_the_sample_dumps_have_one_line_a_record_type(cpmon: Cpmon, dumps: list[Path]):
    for line in cpmon("list", dumps[0], "--format", "jsonl").out.splitlines():
        row = json.loads(line)
        assert row["layout"] in ("published", "derived", "inferred")
        assert 0 < row["share"] < 1
