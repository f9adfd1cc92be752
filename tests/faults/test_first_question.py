"""After a prune or a merge of months was killed at any step, the first question has its answer."""

from __future__ import annotations

import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cpmon.cli.main import Status
from tests.cli import conftest as commands
from tests.cli.answer import Cpmon
from tests.faults.commands import DAY, landed
from tests.faults.commands import cpmon as prepared
from tests.faults.conftest import Victim
from tests.faults.test_kill_commands import LATE, spread

cpmon = commands.cpmon
REDUCTION = "system_summary_by_time"
REDUCED = (REDUCTION, "run_summary")
KEPT = f"SELECT * FROM rollup.{REDUCTION} WHERE level = 'hour' ORDER BY ALL"
INTERVALS = "SELECT system, dump, interval_end FROM meta.interval ORDER BY ALL"
SAMPLES = "SELECT dump, tod, vmduser FROM monitor.useact ORDER BY ALL"
PRUNE = ("store", "prune", "--keep", "interval=1d", "--raw", "1d", "--as-of", "2030-01-01")
COMPACT = ("store", "compact")
FEW = 4
ENDS, AMID = 6, 10
"""Steps at which a command is killed: its first and its last, and of all."""


def days(folder: Path) -> None:
    """Three days of two months, two dumps of the first day; two reductions are kept."""
    prepared("reduce", *REDUCED, "--store", landed(folder, 0, 1, DAY, 40 * DAY))


def merged(folder: Path) -> None:
    """The same with the first month merged, so that nothing but a late dump is in a folder."""
    days(folder)
    prepared("store", "compact", "--store", folder / "store")


def late(folder: Path) -> None:
    """The same and a dump that landed late for the merged month."""
    merged(folder)
    prepared("reduce", *REDUCED, "--store", landed(folder, 2))


TRIALS = {
    "prune": (days, PRUNE),
    "prune merged dumps": (merged, PRUNE),
    "compact": (days, COMPACT),
    "compact a merged month again": (late, COMPACT),
}


@dataclass
class Killed:
    """A command that is killed in a store which is made anew for each kill."""

    made: Path
    site: Path
    words: list[str]
    victim: Victim
    cpmon: Cpmon

    def at(self, step: int) -> bool:
        """Kill it before a step; False if it has none that late."""
        shutil.rmtree(self.site, ignore_errors=True)
        shutil.copytree(self.made, self.site)
        status, said = self.victim.command(self.words, step)
        assert status in (0, -signal.SIGKILL), said
        self.steps = 0 if status else int(said.split()[-1])
        return status != 0

    def ask(self, sql: str) -> list[dict[str, Any]]:
        answer = self.cpmon("query", sql, "--store", self.site / "store", "--format", "json")
        assert answer.status is Status.DONE, answer.err
        assert "note:" not in answer.err
        return answer.rows

    def check(self, step: int) -> None:
        """The first question after a kill, and others."""
        if not self.at(step):
            return
        # What is being removed is there in part; what is kept of it and what is not stays the same.
        samples = self.ask(SAMPLES)
        assert all(row in self.samples for row in samples)
        if "compact" in self.words:
            assert samples == self.samples
        assert self.ask(KEPT) == self.kept
        assert self.ask(INTERVALS) == self.intervals

    def expect(self) -> int:
        """Look at the undisturbed store; returns how many steps the command has."""
        shutil.copytree(self.made, self.site)
        self.samples, self.kept = self.ask(SAMPLES), self.ask(KEPT)
        self.intervals = self.ask(INTERVALS)
        assert self.samples and self.kept and self.intervals
        assert not self.at(LATE) and self.steps
        assert self.ask(KEPT) == self.kept and self.ask(INTERVALS) == self.intervals
        return self.steps


@pytest.fixture
def killed(request: pytest.FixtureRequest, tmp_path: Path, victim: Victim, cpmon: Cpmon) -> Killed:
    prepare, words = TRIALS[request.param]
    prepare(tmp_path / "made")
    at = [*words, "--store", str(tmp_path / "site" / "store")]
    return Killed(tmp_path / "made", tmp_path / "site", at, victim, cpmon)


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["prune"], indirect=True)
def test_the_first_question_after_a_kill_is_answered(killed: Killed):
    for step in spread(killed.expect(), FEW):
        killed.check(step)


@pytest.mark.long
@pytest.mark.parametrize("killed", TRIALS, indirect=True)
def test_the_first_question_after_a_kill_at_many_steps_is_answered(
    killed: Killed,
):
    """At those that begin and end it, and at some of the many that remove a file each."""
    steps = killed.expect()
    every = range(1, steps + 1)
    for step in sorted({*every[:ENDS], *every[-ENDS:], *spread(steps, AMID)}):
        killed.check(step)
