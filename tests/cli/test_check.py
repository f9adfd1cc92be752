"""`cpmon check`: what it prints, and the exit status that follows from the worst finding."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from cpmon.cli.main import Status
from tests.cli.answer import Cpmon
from tests.dumps import FRAME, dump, fields, frame, interval, record, samples
from tests.scenarios import CONFIG, SAMPLE

GOOD = dump(interval(60, CONFIG, SAMPLE))
FELL = dump(
    interval(60, CONFIG, fields("sytrsp", 60, plsalemp=3_000_000_000, plsprqdf=1)),
    interval(120, fields("sytrsp", 120, plsalemp=2_999_999_999, plsprqdf=2)),
)
BROKEN = dump(samples(frame(CONFIG, SAMPLE, record(0, 4, b"x" * 30, claimed=18))))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    contents = {"good": GOOD, "fell": FELL, "broken": BROKEN, "other": b"no dump at all" * 400}
    for name, content in contents.items():
        (tmp_path / f"{name}.mon").write_bytes(content)
    return {name: tmp_path / f"{name}.mon" for name in contents}


@pytest.mark.parametrize(
    ("names", "status"),
    [
        (["good"], Status.DONE),
        (["fell"], Status.WARNINGS),
        (["broken"], Status.DAMAGED),
        (["good", "broken", "fell"], Status.DAMAGED),
        (["other"], Status.DAMAGED),
    ],
    ids=str,
)
def test_the_status_follows_the_worst_finding(
    names: list[str], status: Status, cpmon: Cpmon, files: dict[str, Path]
):
    assert cpmon("check", *(files[name] for name in names)).status is status


def test_a_good_dump_passes_every_pass(cpmon: Cpmon, files: dict[str, Path]):
    lines = cpmon("check", files["good"]).text.splitlines()
    assert lines[0] == "good.mon: system VMTEST, 12,288 bytes, compression none: nothing found"
    assert [line.split()[0] for line in lines[5:]] == ["file", "control", "headers", "values"]
    assert all(line.endswith("none") for line in lines[5:])


def test_a_finding_is_told_with_its_place_and_remedy(cpmon: Cpmon, files: dict[str, Path]):
    text = cpmon("check", files["fell"]).text
    assert f"warning: COUNTER_FELL x 1, first at {3 * FRAME:#x}\n" in text
    assert "\n  SYTRSP.PLSALEMP fell: pfxcpuad=0\n" in text
    assert "\n  remedy: Nothing to do where IBM or Linux documents" in text


def test_json_has_the_byte_accounting_the_passes_and_the_findings(
    cpmon: Cpmon, files: dict[str, Path]
):
    (row,) = cpmon("check", files["broken"], "--format", "json").rows
    sizes = row["bytes"]
    assert sizes.pop("size") == len(BROKEN) == sum(sizes.values())
    assert row["worst"] == "data_loss"
    assert {p["pass"]: p["findings"] for p in row["passes"]}["headers"]["RECORD_SHORT"] == 1
    assert [f["code"] for f in row["findings"]] == ["INTERVAL_OPEN", "RECORD_SHORT"]


def test_findings_of_several_dumps_come_as_one_table(cpmon: Cpmon, files: dict[str, Path]):
    answer = cpmon("check", files["good"], files["fell"], files["broken"], "--format", "csv")
    table = pl.read_csv(answer.out)
    assert table.select("dump", "code").rows() == [
        ("fell.mon", "COUNTER_FELL"),
        ("broken.mon", "INTERVAL_OPEN"),
        ("broken.mon", "RECORD_SHORT"),
    ]


def test_a_dump_may_come_compressed_from_standard_input(cpmon: Cpmon):
    answer = cpmon("check", "-", "--format", "json", stdin=gzip.compress(FELL))
    assert answer.status is Status.WARNINGS
    (row,) = answer.rows
    assert (row["dump"], row["compression"]) == ("standard input", "gzip")


def test_what_is_no_dump_is_told_apart_from_a_damaged_one(cpmon: Cpmon, files: dict[str, Path]):
    answer = cpmon("check", files["other"])
    assert answer.out == b"" and "other.mon is no monitor data" in answer.err


def test_a_sample_dump_is_good(cpmon: Cpmon, dumps: list[Path]):
    assert cpmon("check", dumps[0]).status is Status.DONE
