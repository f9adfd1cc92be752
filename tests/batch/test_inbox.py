"""Which files of an inbox are complete."""

from __future__ import annotations

import bz2
import gzip
import os
from pathlib import Path

import pytest

from cpmon.batch.inbox import GROWING, Candidate, candidates, incomplete, observe
from cpmon.config.settings import InboxSettings
from cpmon.config.values import Duration
from tests.batch.fleet import hourly

NOW = 1_800_000_000.0
WHOLE = hourly("ALPHA", 0, 0).data


def candidate(path: Path, data: bytes, age: float) -> Candidate:
    path.write_bytes(data)
    os.utime(path, (NOW - age, NOW - age))
    (found,) = candidates(InboxSettings(path.parent, settle=Duration("10m")), (), {})
    return found


def test_a_file_that_was_left_alone_for_long_is_complete(tmp_path: Path):
    found = candidate(tmp_path / "a.mon", WHOLE[:5000], 601)
    assert incomplete(found, None, NOW) == ""


YOUNG = (
    "has no end-of-data record: complete when it has not changed until 2027-01-15 08:09:55 UTC"
    " (settle = 10m)"
)


@pytest.mark.parametrize(
    "data",
    [WHOLE, WHOLE[:-4096] + bytes(4096), gzip.compress(WHOLE), bz2.compress(WHOLE)],
    ids=["plain", "zeros", "gzip", "bzip2"],
)
def test_a_young_file_is_complete_if_it_ends_with_an_end_of_data_record(
    tmp_path: Path, data: bytes
):
    assert incomplete(candidate(tmp_path / "a.mon", data, 5), None, NOW) == ""


@pytest.mark.parametrize(
    "data",
    [
        WHOLE[:-4096],
        WHOLE[:-8192] + bytes(8192),
        WHOLE + b"x",
        b"",
        WHOLE[:100],
        gzip.compress(WHOLE)[:-9],
        gzip.compress(WHOLE[:-4096]),
    ],
    ids=["no end", "not written yet", "not whole frames", "empty", "short", "cut", "gzip"],
)
def test_a_young_file_without_such_an_end_waits_and_says_until_when(tmp_path: Path, data: bytes):
    assert incomplete(candidate(tmp_path / "a.mon", data, 5), None, NOW) == YOUNG


def test_a_file_that_differs_from_the_last_look_waits_however_old_it_is(tmp_path: Path):
    found = candidate(tmp_path / "a.mon", WHOLE, 9000)
    before = (found.size - 4096, found.mtime_ns, NOW - 60)
    assert incomplete(found, before, NOW) == GROWING
    assert observe(found, before, NOW) == (found.size, found.mtime_ns, NOW)


def test_a_file_from_the_future_is_complete_once_it_was_seen_unchanged_for_long(tmp_path: Path):
    found = candidate(tmp_path / "a.mon", WHOLE[:5000], -86_400)
    first = observe(found, None, NOW)
    assert "until 2027-01-15 08:10:00 UTC" in incomplete(found, None, NOW)
    assert "until 2027-01-15 08:10:00 UTC" in incomplete(found, first, NOW + 599)
    assert observe(found, first, NOW + 599) == first
    assert incomplete(found, first, NOW + 600) == ""


def test_a_clock_that_is_set_back_keeps_no_file_waiting(tmp_path: Path):
    found = candidate(tmp_path / "a.mon", WHOLE[:5000], -5)
    previous = (found.size, found.mtime_ns, NOW + 90_000)
    assert incomplete(found, previous, NOW) == ""


def test_only_files_of_the_patterns_are_looked_at(tmp_path: Path):
    for name in ("a.mon", "b.txt", ".c.mon", "d.mon.gz", "e.run.toml"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "f.mon").write_bytes(b"x")
    (tmp_path / "pipe.mon").unlink(missing_ok=True)
    os.mkfifo(tmp_path / "pipe.mon")
    flat = {c.path.name for c in candidates(InboxSettings(tmp_path), (), {})}
    assert flat == {"a.mon", "d.mon.gz"}
    deep = {c.path.name for c in candidates(InboxSettings(tmp_path, recursive=True), (), {})}
    assert deep == {"a.mon", "d.mon.gz", "f.mon"}
    inside = candidates(InboxSettings(tmp_path, recursive=True), (tmp_path / "sub",), {})
    assert {c.path.name for c in inside} == flat


def test_a_folder_that_is_not_there_is_told(tmp_path: Path):
    unreadable: dict[Path, str] = {}
    assert list(candidates(InboxSettings(tmp_path / "gone"), (), unreadable)) == []
    assert unreadable == {tmp_path / "gone": "No such file or directory"}
