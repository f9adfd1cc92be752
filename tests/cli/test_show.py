"""`cpmon show`: which records it finds, in which form, and what it says where there is none."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pytest

from cpmon.cli.main import Status
from cpmon.ingest.container.source import open_source
from cpmon.ingest.inspect.record_filter import RecordFilter, select_records
from tests.cli.answer import Answer, Cpmon
from tests.dumps import FRAME, dump, fields, interval, record
from tests.scenarios import CONFIG, SAMPLE

SECOND = fields("sytrsp", 60, pfxcpuad=2, plsmvb2g=5)
LATER = fields("sytrsp", 120, pfxcpuad=1, plsmvb2g=900)
USER = fields("useact", 120, vmduser="LINUX01", calmode=0x48, vmdttime=4096)
RAW = record(9, 42, b"\xc1\xc2", 120)
DATA = dump(interval(60, CONFIG, SAMPLE, SECOND), interval(120, LATER, USER, RAW))
FIRST_AT = FRAME + len(CONFIG)


@pytest.fixture
def mon(tmp_path: Path) -> Path:
    file = tmp_path / "two.mon"
    file.write_bytes(DATA)
    return file


def shown(answer: Answer) -> list[tuple[str, int]]:
    """Name and offset of each record of an answer in JSON."""
    return [(row["name"], row["record_offset"]) for row in answer.rows]


def moves(answer: Answer) -> list[int]:
    fields_ = [f for row in answer.rows for f in row["fields"] if f["field"] == "plsmvb2g"]
    return [field["value"] for field in fields_]


def test_a_record_is_shown_field_by_field(cpmon: Cpmon, mon: Path):
    answer = cpmon("show", mon, "--record", "SYTRSP")
    assert answer.status is Status.DONE
    head, where, _, titles, _, *lines = answer.text.splitlines()
    assert head == "SYTRSP (0.4)  Real storage, per CPU"
    assert where == (
        f"2001-12-18 10:01:00.000000 UTC, offset {FIRST_AT:#x} of two.mon, 72 bytes, sample, "
        "layout derived"
    )
    assert titles.split() == ["field", "offset", "hex", "bytes", "value", "unit", "meaning"]
    (line,) = [line for line in lines if line.startswith("plsmvb2g ")]
    assert line.split()[:6] == ["plsmvb2g", "44", "002C", "000002BC", "700", "pages"]


def test_the_first_record_that_fits_is_shown_unless_more_are_asked_for(cpmon: Cpmon, mon: Path):
    words = ["show", mon, "--record", "0.4", "--format", "json"]
    assert moves(cpmon(*words)) == [700]
    assert moves(cpmon(*words, "--limit", 2)) == [700, 5]
    assert moves(cpmon(*words, "--number", 2)) == [5]
    assert moves(cpmon(*words, "--number", 2, "--limit", 5)) == [5, 900]
    assert moves(cpmon(*words, "--follow")) == [700, 5, 900]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--from", "2001-12-18T10:01:30"], [900]),
        (["--since", "2001-12-18T11:01:59+01:00"], [900]),
        (["--until", "2001-12-18T10:01:00"], [700, 5]),
        (["--where", "pfxcpuad=1"], [700, 900]),
        (["--where", "pfxcpuad=0x1", "--where", "PLSMVB2G=900"], [900]),
        (["--at", FIRST_AT], [700]),
        (["--at", hex(FIRST_AT + 5)], [700]),
    ],
    ids=str,
)
def test_records_are_found_by_time_place_and_value(
    words: list[str], expected: list[int], cpmon: Cpmon, mon: Path
):
    assert moves(cpmon("show", mon, *words, "--follow", "--format", "json", "--record", "0.4")) == (
        expected
    )


@pytest.mark.parametrize(
    "where", ["vmduser=linux01", "calmesa=true", "calmxc=on", "vmdttime=4096", "calmxa=no"]
)
def test_a_value_is_a_number_a_text_or_a_bit(where: str, cpmon: Cpmon, mon: Path):
    answer = cpmon("show", mon, "--where", where, "--record", "useact", "--format", "json")
    assert shown(answer) == [("USEACT", 3 * FRAME + len(LATER))]


def test_a_value_may_be_that_of_an_entry(cpmon: Cpmon, tmp_path: Path):
    def lpar(name: str, *processors: int) -> bytes:
        head = fields("sytcup", 60, lcupname=name, lcupcpct=len(processors), calcpuof=64,
                      calcpuln=40)  # fmt: skip
        whole = head + b"".join(n.to_bytes(2, "big").ljust(40, b"\0") for n in processors)
        return len(whole).to_bytes(2, "big") + whole[2:]

    file = tmp_path / "lpars.mon"
    file.write_bytes(dump(interval(60, CONFIG, lpar("LP1", 0, 1), lpar("LP2", 0, 1, 2))))
    answer = cpmon("show", file, "--where", "lcucpuid=2", "--follow", "--format", "json")
    (row,) = answer.rows
    values = {f["field"]: f["value"] for f in row["fields"]}
    assert values["lcupname"] == "LP2" and values["cpu[2].lcucpuid"] == 2


def test_bits_are_named_under_their_flag(cpmon: Cpmon, mon: Path):
    lines = cpmon("show", mon, "--record", "4.3").text.splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("calmode "))
    assert "X'48'" in lines[place]
    bits = [line.split() for line in lines[place + 1 :] if line.startswith("  calm")]
    said = {words[0]: words[4] for words in bits}
    assert said == {
        "calmesa": "yes", "calmxa": "no", "calm370": "no", "calmxc": "yes", "calmesam": "no"
    }  # fmt: skip


def test_a_record_without_layout_is_shown_as_bytes(cpmon: Cpmon, mon: Path):
    text = cpmon("show", mon, "--record", "9.42").text
    assert text.startswith("unknown record (9.42)\n") and "no layout known" in text
    assert text.splitlines()[-1].split()[:4] == ["data", "20", "0014", "C1C2"]


def test_a_hexdump_marks_the_fields(cpmon: Cpmon, mon: Path):
    lines = cpmon("show", mon, "--record", "4.3", "--hexdump").text.splitlines()
    assert lines[4].startswith("+0010  00 00 00 00|D3 C9 D5 E4 E7 F0 F1 40|00 00|")
    assert "*....LINUX01 ....*  vmduser vmdcpuad" in lines[4]


def test_the_same_record_comes_in_every_format(cpmon: Cpmon, mon: Path):
    words = ["show", mon, "--record", "sytrsp", "--limit", 2, "--format"]
    csv = pl.read_csv(cpmon(*words, "csv").out)
    parquet = pl.read_parquet(io.BytesIO(cpmon(*words, "parquet").out))
    jsonl = [json.loads(line) for line in cpmon(*words, "jsonl").out.splitlines()]
    assert csv["field"].to_list() == parquet["field"].to_list() == [row["field"] for row in jsonl]
    for table in (csv, parquet):
        found = table.filter(pl.col("field") == "plsmvb2g")["value"].to_list()
        assert [int(value) for value in found] == [700, 5]
    assert "| plsmvb2g |" in cpmon(*words, "markdown").text


def test_a_dump_may_come_compressed_or_from_standard_input(cpmon: Cpmon, mon: Path):
    words = ["--record", "0.4", "--format", "csv"]
    named, piped = cpmon("show", mon, *words), cpmon("show", "-", *words, stdin=gzip.compress(DATA))
    assert piped.text.replace("standard input", "two.mon") == named.text


def test_a_result_can_go_to_a_file(cpmon: Cpmon, mon: Path, tmp_path: Path):
    answer = cpmon("show", mon, "--hexdump", "-o", tmp_path / "first.txt")
    assert answer.out == b""
    assert (tmp_path / "first.txt").read_bytes() == cpmon("show", mon, "--hexdump").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--record", "SYTRS"], "did you mean SYTRSP?"),
        (["--where", "plsmvb2"], "has no ="),
        (["--where", "plsmvb2h=1"], "did you mean plsmvb2g?"),
        (["--where", "vmdttime=1", "--where", "plsmvb2g=1"], "no record has all of these fields"),
        (["--where", "pfxcpuad=many"], "a number such as 12 or 0x0c"),
        (["--where", "pfxcpuad=65536"], "0 to 65535"),
        (["--where", "calmesa=2"], "true or false"),
        (["--at", "1000000"], "the nearest records start at"),
        (["--at", "here"], "write it like 8192 or 0x2000"),
        (["--record", "5.8"], "no record of the dump fits"),
        (["--release", "five"], "write it like 5.3.0"),
        (["--hexdump", "--format", "csv"], "--hexdump is for reading"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_cannot_be_shown_is_a_usage_error(
    words: list[str], said: str, cpmon: Cpmon, mon: Path
):
    answer = cpmon("show", mon, *words)
    assert answer.status is Status.USAGE
    assert said in answer.err and answer.out == b""


def test_the_release_in_the_dump_decides_what_a_record_says(tmp_path: Path):
    file = tmp_path / "old.mon"
    config = fields("mtrsys", systmid="VMTEST", hcpcpeid="05010000")
    file.write_bytes(dump(interval(60, config, SAMPLE)))
    with open_source(file) as source:
        assert [p.release for p in select_records(source, RecordFilter())] == ["5.1.0"] * 3


def test_showing_the_first_record_reads_no_more_than_it_takes(tmp_path: Path):
    file = tmp_path / "long.mon"
    one = interval(60, CONFIG, SAMPLE)
    file.write_bytes(one * 6000)
    with open_source(file) as source:
        first = next(select_records(source, RecordFilter()))
        assert first.offset == FRAME
        assert source.size < len(one) * 6000 / 2


def test_a_record_is_found_at_its_offset_wherever_a_window_ends(mon: Path, cpmon: Cpmon):
    """Each system record opens a window; what was read reaches beyond the first."""
    mon.write_bytes(dump(interval(60, CONFIG, SAMPLE), interval(120, CONFIG, LATER)))
    for at in (FRAME, FIRST_AT, 3 * FRAME, 2 * FRAME + FIRST_AT):
        answer = cpmon("show", mon, "--at", hex(at), "--format", "json")
        assert (answer.status, answer.rows[0]["record_offset"]) == (Status.DONE, at)
