"""`cpmon slice` and `cpmon merge`: what is written, what is said, what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from cpmon.cli.main import Status
from tests.cli.answer import Cpmon
from tests.dumps import dump, fields, frame, interval, interval_end, samples
from tests.generate.plain_reader import records
from tests.scenarios import CONFIG, capture

FIRST = interval(0, CONFIG, fields("sytrsp"), fields("useact"))
WHOLE = dump(
    FIRST,
    *[interval(60 * n, fields("sytrsp", 60 * n), fields("useact", 60 * n)) for n in range(1, 6)],
)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    file = tmp_path / "whole.mon"
    file.write_bytes(WHOLE)
    return file


def kinds(data: bytes) -> list[tuple[int, int]]:
    return [(r.domain, r.number) for r in records(data)]


def test_hours_are_cut_and_put_together_again(cpmon: Cpmon, tmp_path: Path, whole: Path):
    first, second, again = (tmp_path / n for n in ("1.mon.gz", "2.mon.zst", "again.mon"))

    one = cpmon("slice", whole, "--until", "2001-12-18T10:02", "-o", first)
    two = cpmon("slice", whole, "--since", "2001-12-18T10:02:00Z", "-o", second)
    put = cpmon("merge", second, first, "-o", again)

    assert (one.status, two.status, put.status) == (Status.DONE,) * 3
    assert one.text.startswith(f"{first}: 3 intervals, 10 records, ")
    assert two.text.startswith(f"{second}: 3 intervals, 10 records, ")
    assert put.text.splitlines() == [f"{first}: 10 records", f"{second}: 9 records, 1 repeated"]
    assert gzip.decompress(first.read_bytes())[:2] == b"\0\1"
    assert [r.data for r in records(again.read_bytes())] == [r.data for r in records(WHOLE)]


def test_a_slice_goes_through_pipes(cpmon: Cpmon):
    answer = cpmon("slice", "-", "--record", "sytrsp", "-o", "-", stdin=gzip.compress(WHOLE))

    assert kinds(answer.out) == [(1, 4), *[(0, 4), (1, 11)] * 6]
    assert "6 intervals, 13 records" in answer.err


def test_a_capture_becomes_a_monwrite_file(cpmon: Cpmon, tmp_path: Path):
    file, out = tmp_path / "a.cap", tmp_path / "a.mon"
    file.write_bytes(capture(WHOLE))

    assert cpmon("slice", file, "--container", "monreader", "-o", out).status is Status.DONE
    assert [r.data for r in records(out.read_bytes())] == [r.data for r in records(WHOLE)]


def test_domains_records_and_thinning(cpmon: Cpmon, tmp_path: Path, whole: Path):
    out = tmp_path / "thin.mon"

    cpmon("slice", whole, "--domain", 4, "--thin", 4, "-o", out)

    assert kinds(out.read_bytes()) == [(1, 4), (4, 3), (1, 11), (4, 3), (1, 11)]


def test_a_part_without_anything_writes_nothing(cpmon: Cpmon, tmp_path: Path, whole: Path):
    out = tmp_path / "none.mon"

    answer = cpmon("slice", whole, "--from", "2030-01-01", "-o", out)

    assert answer.status is Status.USAGE
    assert "records of 2001-12-18 10:00:00 to 2001-12-18 10:05:00 UTC" in answer.err
    assert list(tmp_path.iterdir()) == [whole]


def test_a_mistyped_record_is_named(cpmon: Cpmon, tmp_path: Path, whole: Path):
    answer = cpmon("slice", whole, "--record", "sytrps", "-o", tmp_path / "x")

    assert answer.status is Status.USAGE
    assert "SYTRSP" in answer.err


def test_damage_is_told_and_what_is_good_is_kept(cpmon: Cpmon, tmp_path: Path):
    file, out = tmp_path / "bad.mon", tmp_path / "good.mon"
    bad = frame(CONFIG, fields("sytrsp"), b"\x00\x30\xff\xff" + b"x" * 40)
    file.write_bytes(dump(samples(bad, frame(interval_end(60)))))

    answer = cpmon("slice", file, "-o", out)

    assert answer.status is Status.DAMAGED
    assert "1 damaged frames" in answer.err
    assert kinds(out.read_bytes()) == [(1, 4), (0, 4), (1, 11)]


def test_what_cannot_be_merged_leaves_the_file_that_was_there(
    cpmon: Cpmon, tmp_path: Path, whole: Path
):
    other, out = tmp_path / "other.mon", tmp_path / "out.mon"
    other.write_bytes(dump(interval(120, fields("mtrsys", systmid="OTHER"), fields("sytrsp"))))
    out.write_bytes(b"before")

    systems = cpmon("merge", whole, other, "-o", out)
    overlap = cpmon("merge", whole, whole, "-o", out)
    pipe = cpmon("merge", whole, "-", "-o", out, stdin=WHOLE)

    assert {systems.status, overlap.status, pipe.status} == {Status.USAGE}
    assert "different systems" in systems.err
    assert "overlap" in overlap.err
    assert "pipe" in pipe.err
    assert out.read_bytes() == b"before"
    assert {f.name for f in tmp_path.iterdir()} == {"whole.mon", "other.mon", "out.mon"}


def test_an_output_that_cannot_be_written_is_an_error_of_the_user(
    cpmon: Cpmon, tmp_path: Path, whole: Path
):
    answer = cpmon("slice", whole, "-o", whole / "x.mon")

    assert answer.status is Status.USAGE
    assert "cannot be written" in answer.err


def test_a_capture_is_generated_and_ingested(cpmon: Cpmon, tmp_path: Path):
    args = ("--run", "2600P", "--intervals", 1, "--compress", "zstd")
    cpmon("generate", "timer", *args, "--container", "monreader", "-o", tmp_path)
    file = tmp_path / "2600P.mon.zst"

    assert pa.input_stream(file, compression="zstd").read(1) == b"\xc5"
    answer = cpmon("ingest", file, "--store", tmp_path / "store")
    assert answer.status is Status.DONE
    assert "run 2600P" in answer.text
