"""Units of work in processes: errors, attempts, processes that the system ends."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from cpmon.core.errors import CpmonError
from cpmon.jobs import Engine, InOrder
from cpmon.jobs.processes import Processes
from cpmon.store.sandbox.sandbox import Limits
from tests.jobs import work
from tests.waiting import wait_until


@pytest.mark.parametrize("engine", [InOrder(), Processes(2)], ids=["in order", "processes"])
def test_a_unit_that_fails_gets_another_attempt_unless_its_error_is_final(
    engine: Engine, tmp_path: Path
):
    once, refused = tmp_path / "once", tmp_path / "refused"
    served = dict(engine.run(work.fail_once, [str(once)]))
    assert (served[0].result, served[0].error) == ("served", None)
    outcome = dict(engine.run(work.refuse, [str(refused)]))[0]
    assert isinstance(outcome.error, CpmonError) and outcome.error.remedy == "none"
    assert refused.read_text() == "x"


def test_an_interrupt_within_a_lock_is_no_error_of_a_unit():
    with pytest.raises(RuntimeError, match="unlocked"):
        [*InOrder().run(work.interrupted, [1, 2])]


def test_every_unit_is_told_once_with_its_number():
    found = dict(Processes(2).run(work.double, range(20)))
    assert {number: outcome.result for number, outcome in found.items()} == {
        number: 2 * number for number in range(20)
    }


def test_a_unit_whose_process_is_killed_is_named_and_the_others_are_done():
    found = dict(Processes(2).run(work.die, [0, 2, 1, 4, 6, 8]))
    assert [found[n].result for n in (0, 1, 3, 4, 5)] == [0, 2, 4, 6, 8]
    error = found[2].error
    assert isinstance(error, CpmonError)
    assert "the system killed the process" in error.problem and "--jobs" in str(error.remedy)


def test_a_process_that_is_killed_once_costs_nothing(tmp_path: Path):
    (tmp_path / "b").touch()  # only the other one ends its process
    found = dict(Processes(2).run(work.die_once, [str(tmp_path / "a"), str(tmp_path / "b")]))
    assert [found[n].result for n in (0, 1)] == ["done", "done"]


def test_processes_end_with_whoever_no_longer_asks_for_them(tmp_path: Path):
    files = [tmp_path / name for name in ("a", "b")]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_interrupt, args=(files, threading.get_ident()), daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            dict(Processes(2).run(work.wait_long, [*map(str, files)]))
    finally:
        signal.signal(signal.SIGINT, before)
    pids = [int(file.read_text()) for file in files]
    wait_until(lambda: not any(map(_alive, pids)))


def _interrupt(files: list[Path], thread: int) -> None:
    """Send what Ctrl-C sends, and as the system does to the thread, when processes are at work."""
    wait_until(lambda: all(file.exists() and file.read_text() for file in files))
    signal.pthread_kill(thread, signal.SIGINT)


def _alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("limits", "jobs", "expected"),
    [
        (Limits("2GB", 8), 4, Limits("0.500GB", 2)),
        (Limits("50%", 3), 2, Limits("25.000%", 1)),
        (Limits("2GB", 8), 1, Limits("2GB", 8)),
        (Limits("", 1), 3, Limits("", 1)),
    ],
)
def test_jobs_share_memory_and_threads(limits: Limits, jobs: int, expected: Limits):
    assert limits.share(jobs) == expected
