"""Some dumps of the fuzz of the commands, and that it would see a fault; `make fuzz` runs more."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from tools import fuzz_answers, fuzz_commands
from tools.fuzz_answers import Wrong, answer, books
from tools.fuzz_commands import Fuzzer, save
from tools.fuzz_seeds import I64


@pytest.mark.slow
def test_no_dump_fells_a_command_that_reads_it(tmp_path: Path):
    fuzzer = Fuzzer(3, tmp_path)
    assert list(fuzzer.run(range(5), results=False)) == []
    assert fuzzer.counts["records"] > 10


@pytest.mark.slow
def test_no_store_of_damaged_dumps_fells_a_command_that_reads_it(tmp_path: Path):
    fuzzer = Fuzzer(4, tmp_path)
    assert list(fuzzer.run(range(2))) == []
    assert fuzzer.counts["command report"] > 0 < fuzzer.counts["command report --html"]


def fail(_arguments: list[str]) -> Status:
    raise RuntimeError


@pytest.mark.parametrize(
    ("out", "err", "status", "wrong"),
    [
        ("", "cpmon: wrong", 1, "status 1"),
        ("", "cpmon: wrong", 6, "status 6"),
        ("", "", 2, "without a message"),
        ("This is a failure of cpmon", "", 0, "failure of cpmon"),
        ("", "Traceback (most recent call last):", 3, "Traceback"),
        ("", "x.py:1: RuntimeWarning: overflow encountered", 0, "RuntimeWarning"),
        ("", "system \x1b[2J", 0, "control characters"),
    ],
)
def test_what_no_answer_may_have_is_a_fault(
    out: str, err: str, status: int, wrong: str, monkeypatch: pytest.MonkeyPatch
):
    def run(_arguments: list[str]) -> int:
        print(out, end="")
        print(err, end="", file=sys.stderr)
        return status

    monkeypatch.setattr(fuzz_answers, "run", run)
    with pytest.raises(Wrong, match=wrong):
        answer("list")


def test_an_exception_that_leaves_a_command_is_a_fault(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fuzz_answers, "run", fail)
    with pytest.raises(Wrong, match="RuntimeError"):
        answer("list")


def test_a_byte_in_no_part_or_in_two_is_a_fault():
    parts = {"size": 9, "decoded": 4, "raw": 3, "quarantined": 0, "filler": 2}
    books(parts, 9)
    for wrong in ({**parts, "raw": 4}, {**parts, "size": 10}, {**parts, "raw": 8, "filler": -3}):
        with pytest.raises(Wrong):
            books(wrong, 9)


@pytest.mark.slow
def test_a_record_that_does_not_land_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    landed = fuzz_commands.landed_offsets

    def without_the_last(folder: Path, size: int) -> I64:
        return landed(folder, size)[:-1]

    monkeypatch.setattr(fuzz_commands, "landed_offsets", without_the_last)
    faults = list(Fuzzer(2, tmp_path).run(range(2), results=False))
    assert faults
    assert all(wrong.startswith("1 good records did not land") for _, wrong in faults)


def test_few_dumps_of_a_batch_are_saved_with_their_recipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fuzzer = Fuzzer(2, tmp_path)
    monkeypatch.setattr(fuzzer, "_fails", lambda numbers, _steps: 37 in numbers)
    numbers = fuzzer._culprits(range(20, 70), [["reduce"]])
    assert numbers == [37]
    save(fuzzer, 2, numbers, "wrong", tmp_path)
    assert (tmp_path / "commands-2-37.mon").read_bytes() == fuzzer.bent(37).data.tobytes()
    assert "number 37, from" in (tmp_path / "commands-2-37.txt").read_text(encoding="utf-8")
