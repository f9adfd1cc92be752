"""`cpmon reduce` of some systems and days, by several processes, twice at once, over damage."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import pytest

from bench.copies import copy_dump, pieces
from cpmon.cli.main import Status, run
from cpmon.config import Settings
from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.jobs.engine import InOrder, Job, Outcomes, Result
from cpmon.jobs.processes import Processes
from cpmon.reduce.engine.planning import DaySelection
from cpmon.reduce.engine.reducing import reduce, reduce_selected
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.format.compaction import compact, months
from cpmon.store.results.reduced import LEVELS
from cpmon.store.results.retention import Retention, plan, prune
from tests.dumps import dump, fields, frame, samples
from tests.fleet import fleet, rebuilt
from tests.waiting import PATIENCE_S, wait_until

FEW = ("user_classes_by_time", "dasd_by_control_unit", "system_config", "run_summary")
FIRST = date(2003, 5, 6)
LAB = Path(__file__).resolve().parents[2] / "sample-data" / "small-lab" / "LAB.mon.zst"


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fleet(tmp_path_factory.mktemp("fleet")).root


@pytest.fixture(scope="module")
def expected(landed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The results of a few reductions, all units one after the other."""
    store = Store(shutil.copytree(landed, tmp_path_factory.mktemp("expected") / "store"))
    reduce(store, FEW, Settings())
    return pieces(store)


@pytest.fixture
def place(landed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(landed, tmp_path / "store"))


def differing(store: Store | Path, expected: dict[str, bytes]) -> set[str]:
    found = pieces(store if isinstance(store, Store) else Store(store))
    assert found.keys() == expected.keys()
    return {name for name in found if found[name] != expected[name]}


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(place: Path, expected: dict[str, bytes]):
    assert run(["reduce", *FEW, "--store", str(place), "--jobs", "2"]) == Status.DONE
    assert differing(place, expected) == set()


@pytest.mark.slow
def test_so_do_days_one_by_one_in_any_order_with_other_threads_and_memory(
    place: Path, expected: dict[str, bytes]
):
    """Of a day behind missing ones the settings of those are computed too: what is set holds on."""
    store = Store(place)
    settings = replace(Settings(), threads=1, memory_limit="200MB")
    for day in (3, 0, 2, 1):
        selection = DaySelection(days=frozenset([date(2003, 5, 6 + day)]))
        reduced = reduce_selected(store, FEW, settings, selection)
        assert reduced.left_out == ["run_summary"] and not reduced.failures
        settings = replace(settings, threads=2, memory_limit="")
    reduce(store, FEW, settings)
    assert differing(store, expected) == set()


@pytest.fixture(scope="module")
def complete(landed: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """All results, all units one after the other."""
    store = Store(shutil.copytree(landed, tmp_path_factory.mktemp("complete") / "store"))
    reduce(store, (), Settings())
    return store


@pytest.mark.long
def test_all_reductions_are_the_same_bytes_by_any_number_of_processes(complete: Store, place: Path):
    store = Store(place)
    reduced = reduce_selected(store, (), replace(Settings(), threads=1), engine=Processes(3))
    assert not reduced.failures
    assert len(expected := pieces(complete)) > 320
    assert differing(store, expected) == set()


@pytest.mark.long
def test_what_is_kept_has_the_keys_that_order_its_rows(complete: Store):
    """Rows of equal keys would stand in the order that threads leave them in."""
    with connect(complete, reductions()) as connection:
        for view in reductions():
            columns = [column.name for column in view.columns]
            if view.is_private or "seconds" not in columns or "run_id" in columns:
                continue
            keys = ", ".join(columns[: columns.index("seconds")])
            again = f"SELECT {keys} FROM {view.name} GROUP BY ALL HAVING count(*) > 1"
            assert connection.sql(again).fetchall() == [], view.name


@pytest.mark.slow
def test_patterns_and_days_choose_units(place: Path, capsys: pytest.CaptureFixture[str]):
    words = ["reduce", *FEW, "--store", str(place), "--system", "*B", "--since", "2003-05-07"]
    assert run([*words, "--until", "2003-05-08"]) == Status.DONE
    text = capsys.readouterr().out
    assert "left out, being of all systems and days: run_summary" in text
    assert "2 units of 1 system reduced" in text  # the settings of the day before are one of them
    made = {name.split("/", 2)[2] for name in pieces(Store(place)) if "user_classes" in name}
    assert {name[: len("system=PRODB/2003-05-07")] for name in made} == {"system=PRODB/2003-05-07"}

    assert run([*words, "--system", "TEST*"]) == Status.USAGE
    assert "no system of the store is TEST*" in capsys.readouterr().err
    assert run([*words, "--until", "2003-05-07"]) == Status.USAGE
    assert "ends before it begins" in capsys.readouterr().err


def cut(place: Path, system: str, day: date) -> Path:
    """Cut a file of a dump in the middle."""
    (file,) = place.glob(f"records/system={system}/date={day}/*/*/useact.parquet")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    return file


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_unit_that_cannot_be_read_is_named_and_the_others_are_done(
    place: Path, expected: dict[str, bytes], jobs: int, capsys: pytest.CaptureFixture[str]
):
    file = cut(place, "PRODB", date(2003, 5, 9))
    whole = file.read_bytes()
    words = ["reduce", *FEW[:3], "--store", str(place), "--jobs", str(jobs)]
    assert run(words) == Status.USAGE
    told = capsys.readouterr()
    assert "PRODB 2003-05-09 failed" in told.err
    assert "a file of the store cannot be read" in told.err and "useact.parquet" in told.err
    assert "1 failed" in told.out
    made = pieces(Store(place))
    of_day = [name for name in expected if "PRODB/2003-05-09" in name and "user_cl" in name]
    assert of_day and not set(of_day) & set(made)
    others = {n for n in expected if "PRODB/2003-05-09" not in n and "run_" not in n}
    assert others <= set(made) and all(made[name] == expected[name] for name in others)
    assert whole == file.read_bytes()


def test_both_days_of_a_dump_that_begins_at_midnight_are_named_if_it_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    dump = write_run(load_scenario("bank-day"), "BANKDAY", tmp_path, intervals=2).dump
    store = Store(tmp_path / "store", create=True)
    ingest(dump, store)
    (landed_dump,) = store.dumps()
    first, second = landed_dump.days  # the first interval ends at midnight
    cut(store.root, landed_dump.system, second)
    assert run(["reduce", *FEW[:2], "--store", str(store.root)]) == Status.USAGE
    told = capsys.readouterr().err
    assert f"{first} failed" in told and f"{second} failed" in told


def command(*words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cpmon", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def is_group_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_two_at_the_same_time_leave_no_wrong_or_half_piece(place: Path, expected: dict[str, bytes]):
    started = [command("reduce", *FEW, "--store", place, "--jobs", n) for n in ("1", "2")]
    for process in started:
        _, errors = process.communicate(timeout=300)
        assert (process.returncode, errors) == (0, "")
    assert differing(place, expected) == set()
    assert [*(place / "staging").iterdir()] == []


@pytest.mark.slow
def test_ctrl_c_ends_all_processes_and_the_next_call_goes_on(
    place: Path, expected: dict[str, bytes]
):
    process = command("reduce", *FEW, "--store", place, "--jobs", "2")
    wait_until(lambda: [*place.glob("staging/*/*")] or process.poll() is not None, 0.02)
    assert process.poll() is None  # a unit is at work
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors.strip()) == (130, "interrupted")
    wait_until(lambda: not is_group_alive(process.pid))
    assert run(["reduce", *FEW, "--store", str(place)]) == Status.DONE
    assert differing(place, expected) == set()


@pytest.mark.slow
def test_a_process_with_another_cpmon_writes_nothing(place: Path, monkeypatch: pytest.MonkeyPatch):
    from cpmon.reduce.engine import computing

    def other(*_: object) -> str:
        return "another"

    monkeypatch.setattr(computing, "definition_version", other)
    failures = reduce_selected(Store(place), FEW[:1], Settings()).failures
    # A unit of several days is computed again day by day.
    assert len({failure.name for failure in failures}) == len(failures) == 6
    assert "another cpmon" in str(failures[0].error)
    assert pieces(Store(place)) == {}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--jobs", "2", "--engine", "spark"), "--jobs is of this machine"),
        (("--master", "spark://h:7077"), "--master is of Spark"),
    ],
)
def test_options_of_one_engine_are_not_for_the_other(
    place: Path, words: Iterable[str], told: str, capsys: pytest.CaptureFixture[str]
):
    assert run(["reduce", "--store", str(place), *words]) == Status.USAGE
    assert told in capsys.readouterr().err


@pytest.mark.slow
def test_a_system_without_an_interval_keeps_nobody_from_reducing(tmp_path: Path):
    """A dump may be cut before the end of its first interval."""
    store = Store(tmp_path / "store", create=True)
    (tmp_path / "cut.mon").write_bytes(dump(samples(frame(fields("mtrsys", 1, systmid="CUT")))))
    ingest(tmp_path / "cut.mon", store)
    ingest(LAB, store)
    assert [landed.first_end is None for landed in store.dumps()] == [True, False]
    reduce(store, FEW, Settings())
    with connect(store, reductions()) as connection:
        kept = connection.sql("SELECT DISTINCT system FROM meta.reduced").fetchall()
    assert kept == [("SMALLLAB",)]


class Beside(InOrder):
    """Runs units after another process has changed the store that they were planned for."""

    def __init__(self, change: Callable[[Store], object], store: Store) -> None:
        self.change = partial(change, store)

    def run(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Outcomes[Result]:
        self.change()
        yield from super().run(function, jobs)


@pytest.mark.slow
def test_a_merge_of_months_beside_it_moves_files_and_loses_no_unit(tmp_path: Path):
    """The day of the second month needs the configuration of the first one's dumps."""
    days = {"OFFICE": (1, 30)}
    store, alone = (fleet(tmp_path / name, intervals=3, systems=days) for name in ("a", "b"))
    beside = Beside(lambda store: compact(store, months(store)), store)
    assert reduce_selected(store, FEW, Settings(), engine=beside).failures == []
    assert any(dump.is_merged for dump in store.dumps())
    reduce(alone, FEW, Settings())
    counts = []
    for each in (store, alone):
        with connect(each, reductions()) as connection:
            counts.append([connection.sql(f"FROM {name}").fetchall() for name in FEW[:2]])
    assert [*map(len, counts[0])] == [*map(len, counts[1])] and all(counts[0])


@pytest.mark.slow
def test_a_unit_whose_samples_were_pruned_beside_it_says_so(tmp_path: Path):
    """The first interval of a day has the last sample of the day before."""
    store = fleet(tmp_path, intervals=3, systems={"OFFICE": ()})
    reduce(store, (), Settings())
    (first,) = store.dumps()
    copy_dump(Path(str(store.find(first.dump))), [timedelta(days=1)])
    rebuilt(store)
    aged = Retention(dict.fromkeys(LEVELS), raw=40)
    beside = Beside(
        lambda store: prune(store, plan(store, reductions(), aged, date(2003, 6, 16))), store
    )
    reduced = reduce_selected(store, FEW[:1], Settings(), engine=beside)
    assert [dump.pruned for dump in store.dumps()] == [True, False]
    assert [failure.error.code for failure in reduced.failures] == ["reduction-conflict"]
    assert reduce_selected(store, FEW[:1], Settings()).failures == []
