"""A dump that is none, is not whole, or has not what was asked for: what the message says helps."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from cpmon.cli.main import Status
from cpmon.ingest import landing
from cpmon.ingest.container import source
from tests.dumps import END, dump, fields, frame, interval, samples
from tests.ingest.container.failing import fail_behind
from tests.remedies.conftest import SYSTEM, dump_of
from tests.remedies.trying import Attempt, tries

NO_RECORDS = samples(frame()) + END
CONFIGURATION = dump(samples(frame(fields("mtrsys", systmid=SYSTEM))))


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


@tries("dump-missing")
def test_dumps_of_a_folder_are_named_or_named_themselves(tried: Attempt, mon: Path, tmp_path: Path):
    store, folder = tmp_path / "store", tmp_path / "dumps" / "march"
    folder.mkdir(parents=True)
    other = mon.rename(folder / "MONITOR.DATA")
    for nothing in (folder.parent, f"{tmp_path}/*.mon"):
        assert not tried.fails("ingest", nothing, "--store", store).startswith("Traceback")
    assert tried.works("ingest", other, "--store", store).text.count("landed as") == 1
    other.rename(folder / "a[1].mon")
    (folder / "b.mon").write_bytes(dump_of(1))
    (folder / "notes.txt").write_text("no dump")
    assert tried.works("ingest", folder.parent, "--store", store).text.count("landed") == 2
    assert tried.works("ingest", f"{tmp_path}/**/b.*", "--store", store).text.count("landed") == 1
    assert tried.works("ingest", folder / "a[1].mon", "--store", store).text.count("landed") == 1


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param("to-ascii", marks=tries("dump-transferred-as-text")),
        pytest.param("line-ends", marks=tries("dump-transferred-as-text")),
    ],
)
def test_a_dump_that_is_transferred_again_in_binary_lands(
    damage: str, tried: Attempt, mon: Path, tmp_path: Path
):
    spoilt = tmp_path / "spoilt.mon"
    tried.works("damage", mon, damage, "-o", spoilt)
    said = tried.fails("ingest", spoilt, "--store", tmp_path / "store")
    assert "its size is a multiple of 4096" in said
    spoilt.write_bytes(mon.read_bytes())
    assert spoilt.stat().st_size % 4096 == 0
    tried.works("ingest", spoilt, "--store", tmp_path / "store")


@tries("dump-empty")
def test_an_empty_dump_is_copied_again(tried: Attempt, tmp_path: Path):
    file = tmp_path / "day.mon"
    file.touch()
    tried.fails("ingest", file, "--store", tmp_path / "store")
    file.write_bytes(dump_of())
    tried.works("ingest", file, "--store", tmp_path / "store")


@tries("dump-unrecognized")
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_in_place_of_other_data_a_dump_is_given_plain_or_compressed(
    pack: object, tried: Attempt, tmp_path: Path
):
    file = tmp_path / "letter"
    file.write_bytes(b"Dear Sir or Madam,\n" * 1000)
    tried.fails("check", file)
    assert callable(pack)
    file.write_bytes(pack(dump_of()))
    tried.works("check", file)


@tries("input-read-failed")
def test_a_dump_on_a_disk_that_fails_is_read_again_when_it_is_repaired(
    tried: Attempt, mon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    words = ("ingest", mon, "--store", tmp_path / "store")
    with monkeypatch.context() as patch:
        fail_behind(patch, 5000, errno.EIO)
        assert "stored offset 0x1388" in tried.fails(*words)
    tried.works(*words)


@tries("input-unreadable")
def test_in_place_of_a_file_that_is_not_there_a_path_or_standard_input_is_given(
    tried: Attempt, mon: Path, tmp_path: Path
):
    tried.fails("list", tmp_path / "nothing.mon")
    tried.works("list", mon)
    tried.works("list", "-", stdin=mon.read_bytes())


@tries("dump-mostly-lost")
def test_a_dump_that_is_mostly_lost_lands_when_it_is_good_or_as_it_is(
    tried: Attempt, tmp_path: Path
):
    file, good, store = tmp_path / "day.mon", dump_of(intervals=20), tmp_path / "store"
    file.write_bytes(good[: len(good) // 3] + b"\x91" * len(good))
    said = tried.fails("ingest", file, "--store", store)
    assert f"most of {file.name} is lost" in said
    damaged = Status.DAMAGED
    tried.works("doctor", file, status=damaged)
    (checked,) = json.loads(tried.cpmon("check", file, "--format", "json").text)
    assert "MOSTLY_LOST" in {finding["code"] for finding in checked["findings"]}
    tried.works("ingest", file, "--store", store, "--accept-damage", status=damaged)
    file.write_bytes(good)
    tried.works("ingest", file, "--store", store)


@tries("dump-changed")
def test_a_file_that_grew_lands_when_it_is_complete(
    tried: Attempt, mon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    finish = landing.Reader.rest

    def grow(self: landing.Reader) -> object:
        with mon.open("ab") as end:
            end.write(bytes(4096))
        return finish(self)

    monkeypatch.setattr(landing.Reader, "rest", grow)
    tried.fails("ingest", mon, "--store", tmp_path / "store")
    monkeypatch.setattr(landing.Reader, "rest", finish)
    mon.write_bytes(dump_of(intervals=5))
    tried.works("ingest", mon, "--store", tmp_path / "store")


@tries("run-without-records")
def test_a_run_is_given_a_dump_that_has_records(tried: Attempt, mon: Path, tmp_path: Path):
    empty = tmp_path / "empty.mon"
    empty.write_bytes(NO_RECORDS)
    words = ("--store", tmp_path / "store", "--run-id", "OURS")
    tried.fails("ingest", empty, *words)
    tried.works("ingest", mon, *words)
    assert (tmp_path / "store" / "runs" / "OURS.json").exists()


@tries("dump-without-data")
def test_a_dump_with_nothing_to_merge_is_left_out(tried: Attempt, mon: Path, tmp_path: Path):
    empty, second, out = (tmp_path / f"{name}.mon" for name in ("empty", "second", "both"))
    empty.write_bytes(CONFIGURATION)
    second.write_bytes(dump_of(1))
    tried.fails("merge", mon, empty, second, "-o", out)
    tried.works("merge", mon, second, "-o", out)


@tries("dumps-of-different-systems")
def test_dumps_of_two_systems_are_merged_by_themselves(tried: Attempt, mon: Path, tmp_path: Path):
    ours, theirs, more = (tmp_path / f"{name}.mon" for name in ("ours", "theirs", "more"))
    ours.write_bytes(dump_of(1))
    theirs.write_bytes(dump_of(0, "OTHER"))
    more.write_bytes(dump_of(1, "OTHER"))
    tried.fails("merge", mon, ours, theirs, more, "-o", tmp_path / "all.mon")
    tried.works("merge", mon, ours, "-o", tmp_path / "a.mon")
    tried.works("merge", theirs, more, "-o", tmp_path / "b.mon")


@tries("dumps-overlap")
def test_what_comes_twice_is_cut_as_the_message_says(tried: Attempt, mon: Path, tmp_path: Path):
    """The dump that goes on and the rest of it have the same intervals as one of both times."""
    longer, rest, both = (tmp_path / f"{name}.mon" for name in ("long er", "rest", "both"))
    whole = dump_of(0, intervals=6)
    longer.write_bytes(whole)
    tried.works("slice", longer, "--from", "2001-12-18T10:01:30", "-o", tmp_path / "to o.mon")
    said = tried.fails("merge", mon, tmp_path / "to o.mon", "-o", both)
    tried.as_said(said, REST=rest)
    tried.works("merge", mon, rest, "-o", both)
    found = tried.works("list", both, "--format", "json").text
    assert '"intervals":6' in found.replace(" ", "")


@tries("input-not-seekable")
def test_a_pipe_is_saved_to_a_file_for_merge(tried: Attempt, mon: Path, tmp_path: Path):
    pipe, second = tmp_path / "pipe", tmp_path / "second.mon"
    os.mkfifo(pipe)
    tried.fails("merge", mon, pipe, "-o", tmp_path / "both.mon")
    tried.fails("merge", mon, "-", "-o", tmp_path / "both.mon")
    second.write_bytes(dump_of(1))
    tried.works("merge", mon, second, "-o", tmp_path / "both.mon")


@tries("output-is-terminal")
@pytest.mark.parametrize("command", ["slice", "merge"])
def test_a_dump_is_written_to_a_file_that_is_named(
    command: str, tried: Attempt, mon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    said = tried.fails(command, mon, "-o", "-")
    assert "name a file with -o" in said
    tried.works(command, mon, "-o", tmp_path / "out.mon")


@tries("slice-empty")
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (("--since", "2001-12-19"), ("--since", "2001-12-18")),
        (("--domain", "7"), ("--domain", "0")),
        (("--record", "USEINT"), ("--record", "USEACT")),
    ],
)
def test_another_part_of_the_dump_is_taken(
    wrong: tuple[str, ...], right: tuple[str, ...], tried: Attempt, mon: Path, tmp_path: Path
):
    tried.fails("slice", mon, *wrong, "-o", tmp_path / "part.mon")
    tried.works("list", mon)
    tried.works("slice", mon, *right, "-o", tmp_path / "part.mon")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param(
            ("--where", "vmdusr=U1"),
            ("--where", "vmduser=U1"),
            marks=tries("name-unknown", "did you mean"),
        ),
        pytest.param(
            ("--where", "zzzzzzzzzz=1"),
            ("--where", "pfxcpuad=1", "--record", "SYTRSP"),
            marks=tries("name-unknown", "name the record with --record"),
        ),
        pytest.param(
            ("--record", "USEACT", "--where", "vmdusr=U1"),
            ("--record", "USEACT", "--where", "vmduser=U1"),
            marks=tries("name-unknown", "did you mean"),
        ),
    ],
)
def test_a_field_that_is_named_right_is_found(
    wrong: tuple[str, ...], right: tuple[str, ...], tried: Attempt, mon: Path
):
    tried.fails("show", mon, *wrong)
    tried.works("show", mon, *right)


@tries("record-not-found")
def test_what_is_inside_is_listed_as_the_message_says(tried: Attempt, mon: Path):
    said = tried.fails("show", mon, "--record", "SYTUWT")
    assert "SYTRSP" in tried.as_said(said).text.upper()
    tried.works("show", mon, "--record", "SYTRSP")


@tries("offset-without-record", "the nearest records")
def test_the_nearest_records_are_shown_where_the_message_says(tried: Attempt, mon: Path):
    said = tried.fails("show", mon, "--at", "0")
    (place,) = re.findall(r"start at (0x[0-9a-f]+)", said)
    tried.works("show", mon, "--at", place)


@tries("offset-without-record", "`cpmon list")
def test_where_no_record_is_near_what_is_inside_is_listed(tried: Attempt, tmp_path: Path):
    empty = tmp_path / "empty.mon"
    empty.write_bytes(NO_RECORDS)
    tried.as_said(tried.fails("show", empty, "--at", "10"), Status.WARNINGS)


@tries("dump-wrapped")
def test_an_archive_of_another_system_is_unpacked_there(tried: Attempt, tmp_path: Path):
    file = tmp_path / "day.vmarc"
    file.write_bytes(b"\x7a\xc3\xc6\xc6" + bytes(9000))
    assert "VMARC UNPK" in tried.fails("list", file)
    file.write_bytes(dump_of())
    tried.works("list", file)


def zipped(folder: Path, *names: str) -> Path:
    file = folder / "dumps.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, dump_of())
    return file


@tries("archive-not-one-dump")
@tries("archive-unreadable")
def test_an_archive_of_several_dumps_or_a_damaged_one_is_unpacked(tried: Attempt, tmp_path: Path):
    file = zipped(tmp_path, "one.mon", "two.mon")
    tried.fails("list", file)
    with zipfile.ZipFile(file) as archive:
        archive.extractall(tmp_path)
    tried.works("list", tmp_path / "one.mon", tmp_path / "two.mon")
    file.write_bytes(file.read_bytes()[:-30])
    tried.fails("list", file)
    tried.works("list", tmp_path / "one.mon")


@tries("archive-not-streamable")
def test_a_zip_archive_is_named_or_unpacked_into_a_pipe(tried: Attempt, tmp_path: Path):
    file = zipped(tmp_path, "one.mon")
    said = tried.fails("list", "-", stdin=file.read_bytes())
    assert "unzip -p FILE.zip | cpmon ingest -" in said
    tried.works("list", file)
    with zipfile.ZipFile(file) as archive:
        dump = archive.read("one.mon")
    tried.works("ingest", "-", "--store", tmp_path / "store", stdin=dump)


@tries("decompression-limit-exceeded")
def test_a_dump_of_zeros_is_decompressed_first(
    tried: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(source, "FREE_BYTES", 1 << 20)
    file, data = tmp_path / "day.mon.gz", dump_of() + bytes(32 << 20)
    file.write_bytes(gzip.compress(data))
    tried.fails("check", file)
    plain = tmp_path / "day.mon"
    plain.write_bytes(data)
    answer = tried.cpmon("check", plain)
    assert "grows too much" not in answer.err
    tried.worked()  # what follows the end is told of, and the dump is read


def of_machine(serial: str, second: float = 0.0, system: str = SYSTEM) -> bytes:
    """A dump of two minutes of a system on a machine."""
    about = {"systmid": system, "sysmseqc": serial}
    return dump(
        *(
            interval(60 * n + second, fields("mtrsys", 60 * n + second, **about))
            for n in range(1, 3)
        )
    )


@tries("system-name-twice")
def test_another_system_of_the_name_lands_under_its_own(tried: Attempt, tmp_path: Path):
    files = [tmp_path / "a.mon", tmp_path / "b.mon"]
    for number, file in enumerate(files):
        file.write_bytes(of_machine(f"M{number}", 20.0 * number))
    tried.works("ingest", files[0], "--store", tmp_path / "store")
    said = tried.fails("ingest", files[1], "--store", tmp_path / "store")
    assert "machine M0" in said and "machine M1" in said
    tried.works("ingest", files[1], "--system", "OTHER", "--store", tmp_path / "store")


@tries("systems-several")
def test_a_file_of_two_systems_is_cut_where_check_says(tried: Attempt, tmp_path: Path):
    joined, store = tmp_path / "joined.mon", tmp_path / "store"
    joined.write_bytes(of_machine("M0") + of_machine("M1", 600, "OTHER"))
    tried.fails("ingest", joined, "--store", store)
    found = tried.cpmon("check", joined).text
    place = re.search(r"TRAILING_DATA x 1, first at (0x[0-9a-f]+)", found)
    assert place is not None, found
    at, data = int(place[1], 16), joined.read_bytes()
    for name, part in (("a.mon", data[:at]), ("b.mon", data[at:])):
        (tmp_path / name).write_bytes(part)
        tried.works("ingest", tmp_path / name, "--store", store)
