"""Changed dumps, as `make fuzz` makes them by the thousand, and that it would see a fault."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpmon.core.errors import DumpError
from tests.dumps import FRAME
from tools import fuzz_readers, fuzz_reports
from tools.fuzz import REPORT_EVERY, Fuzzer, fuzz
from tools.fuzz_claims import end_claims
from tools.fuzz_mutations import Bent, bend
from tools.fuzz_readers import Lost, Oracle, Read, read_tables, survivors
from tools.fuzz_reports import Containers, Reports
from tools.fuzz_seeds import Seed, seeds


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Fuzzer:
    return Fuzzer(3, tmp_path_factory.mktemp("fuzz"))


@pytest.fixture(scope="module")
def good() -> list[Seed]:
    return seeds()


@settings(max_examples=40)
@given(number=st.integers(0, 10**6))
def test_no_change_fells_a_reader_or_loses_a_good_record(number: int, fuzzer: Fuzzer):
    assert fuzzer.run(number) == ""


def test_changes_remember_where_bytes_have_been(good: list[Seed]):
    for number in range(200):
        seed = good[number % len(good)]
        bent = bend(seed, np.random.default_rng(number))
        assert len(bent.home) == len(bent.data)
        old = bent.home >= 0
        whole = np.frombuffer(seed.data, np.uint8)
        assert (whole[bent.home[old]] == bent.data[old]).all()


def test_without_a_change_every_record_must_be_there(good: list[Seed]):
    for seed in good:
        home, now = survivors(Bent(seed, np.random.default_rng(0)))
        assert (home == now).all()
        assert len(now) == sum(len(unit.records) for unit in seed.units) > 20


def test_only_what_stands_behind_an_ended_frame_of_events_is_claimed(good: list[Seed]):
    """In the dump "events" a set of three frames begins 200 bytes before the end of one.

    Its first frame ends behind two records, its second behind 39; the data begins at 0x3000.
    """
    events = next(seed for seed in good if seed.name == "events")
    first, second = 24 + 20, 38 * 24 + 20
    ends = [(0x3000 + first, 0x3000 + 200), (0x3000 + 200 + second, 0x3000 + 200 + FRAME)]
    found = end_claims(events.data).tolist()
    assert found[:2] == [list(end) for end in ends]
    broken = bytearray(events.data)
    broken[0x3000 + 200 + 2] = 1
    assert len(end_claims(bytes(broken))) == len(found) - 2
    assert len(end_claims(next(seed for seed in good if seed.name == "generated").data)) == 0


def test_a_lost_record_and_a_changed_value_are_seen(good: list[Seed]):
    seed, oracle = good[0], Oracle()
    oracle.learn(seed)
    bent = Bent(seed, np.random.default_rng(0))
    read = read_tables(seed.data, fuzz_readers.container_of(bent))
    assert oracle.check(bent, read) > 0
    table = read.tables["useact"]
    for broken in (table.slice(1), table.set_column(0, table.schema.field(0), table[0].take(
        list(reversed(range(len(table))))
    ))):  # fmt: skip
        with pytest.raises(Lost):
            oracle.check(bent, dataclasses.replace(read, tables={**read.tables, "useact": broken}))


def test_a_refused_dump_with_good_records_is_a_fault(
    fuzzer: Fuzzer, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise DumpError("it is no dump", remedy="none")

    monkeypatch.setattr("tools.fuzz.read_tables", refuse)
    numbers = [number for number in range(1, 30) if (number + 1) % REPORT_EVERY]
    good = [len(survivors(fuzzer.bent(number))[1]) for number in numbers]
    assert 0 in good
    for number, count in zip(numbers, good, strict=True):
        wrong = fuzzer.run(number)
        assert bool(wrong) == (count > 0)
        assert not wrong or f"a dump with {count} good records is refused" in wrong


def test_a_fault_is_saved_with_its_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The processes are forked, so they have the fault as well."""

    def fail(*_: object) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr("tools.fuzz.check_too", fail)
    faults, counts = fuzz(1, range(1, 14), 2, tmp_path)
    assert (faults, counts["bytes"] > 0) == (1, True)
    assert "--seed 1 --only 12" in (tmp_path / "1-12.txt").read_text(encoding="utf-8")
    assert "ValueError: a fault" in (tmp_path / "1-12.txt").read_text(encoding="utf-8")
    assert (tmp_path / "1-12.mon").read_bytes() == Fuzzer(1, tmp_path).bent(12).data.tobytes()


@pytest.mark.slow
def test_a_report_that_is_changed_without_a_finding_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of a capture of three intervals the second one is lost, and nobody says so."""
    reports, rng = Reports(tmp_path), np.random.default_rng(0)
    damaged = next(d for d in map(reports.damaged, [rng] * 50) if d.seed.captured)
    damaged = Containers(damaged.seed, rng)
    assert reports.check(damaged, rng) == 0
    damaged.lose(3)
    assert reports.check(damaged, rng) == 0
    for name in ("read_tables", "land"):
        honest = getattr(fuzz_reports, name)

        def silent(*arguments: Any, honest: Callable[..., Read] = honest) -> Read:
            return dataclasses.replace(honest(*arguments), codes=frozenset())

        monkeypatch.setattr(fuzz_reports, name, silent)
    monkeypatch.setattr(reports, "_names", ["PAGING_BY_TIME"])
    assert reports.check(damaged, rng) == 1  # `check` says so
    monkeypatch.setattr(fuzz_reports, "_checked", lambda *_: set())
    with pytest.raises(Lost, match="PAGING_BY_TIME prints other figures, and there is no finding"):
        reports.check(damaged, rng)


@pytest.mark.slow
def test_a_fuzz_ends_when_it_is_told_to(tmp_path: Path):
    _, counts = fuzz(1, range(10**6), 1, tmp_path, seconds=0.5)
    assert 0 < counts["dumps"] < 10**5
