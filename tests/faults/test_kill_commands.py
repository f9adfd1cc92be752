"""A command killed at any step, and run again, leaves what it leaves when nobody kills it."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from cpmon.cli.main import COMMANDS as TOP
from cpmon.cli.main import Commands
from cpmon.store import Store
from tests.examples import some_of_all
from tests.faults.commands import COMMANDS, COMPOSED, ICEBERG, LIKE, SITE, snapshot
from tests.faults.conftest import Victim

LATE = 1_000_000
SOME, MANY = 3, 5
"""Steps at which a command is killed, and one that removes or renames more than once and can be had
for little. Those of `ingest` are all tried by test_kill_steps."""
DONE_BEFORE = "there is no dump"
"""What `store drop` says of a dump that it has dropped."""
QUICK = ("ingest", "schema import")
EXPORT = "store export"
"""Libraries write for it whose steps are not seen from here: it is killed at moments as well."""
LENGTHY = {"report", "batch run"}
"""They draw pages or land days up to seven times."""
THOROUGH = (*QUICK, "store prune", "store compact")


class Killing:
    """A command in a site that is made anew for each kill."""

    def __init__(self, name: str, folder: Path, victim: Victim) -> None:
        self.made, self.site, self.victim = folder / "made", folder / "site", victim
        COMMANDS[name].prepare(self.made)
        self.reads = COMMANDS[name].reads
        self.words = [word.replace(SITE, str(self.site)) for word in COMMANDS[name].words]
        self._renew()
        status, said = victim.command(self.words, LATE)
        assert status in (0, 3, 5), said
        self.steps = int(said.split()[-1])
        self.expected = snapshot(self.site)
        status, said = victim.command(self.words, LATE)
        assert status in (0, 3, 5) or DONE_BEFORE in said, said
        self.repeated = snapshot(self.site)
        """What it leaves when it is run twice: as if it was killed behind all that it does."""

    def killed(self, step: int) -> dict[str, Any]:
        """The site after a kill and the same command once more."""
        self._renew()
        status, said = self.victim.command(self.words, step)
        if status != -signal.SIGKILL:  # by what others keep in caches a command may take less
            assert status in (0, 3, 5) and int(said.split()[-1]) < step, said
        status, said = self.victim.command(self.words, LATE)
        assert status in (0, 3, 5) or DONE_BEFORE in said, said
        if self.reads:
            Store(self.site / "store").clean()
        return snapshot(self.site)

    def _renew(self) -> None:
        shutil.rmtree(self.site, ignore_errors=True)
        shutil.copytree(self.made, self.site)


def spread(steps: int, most: int) -> list[int]:
    """Some of the steps, from the first to the last."""
    return sorted({1 + place * (steps - 1) // (most - 1) for place in range(most)})


def check(name: str, folder: Path, victim: Victim, most: int) -> None:
    killing = Killing(name, folder, victim)
    assert killing.steps > 1 or name == EXPORT
    for step in spread(killing.steps, most):
        left = killing.killed(step)
        if left != killing.repeated:
            assert left == killing.expected, f"killed before step {step}"


@pytest.mark.parametrize("name", QUICK)
def test_a_killed_command_is_completed_by_the_next(name: str, tmp_path: Path, victim: Victim):
    check(name, tmp_path, victim, SOME)


@some_of_all("name", COMMANDS, some=COMMANDS.keys() - LENGTHY)
def test_a_command_killed_at_many_steps_is_completed(name: str, tmp_path: Path, victim: Victim):
    check(name, tmp_path, victim, MANY if name in THOROUGH else SOME)


@pytest.mark.parametrize(
    "most", [pytest.param(20, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.long)]
)
def test_a_follower_killed_at_many_steps_is_completed(most: int, tmp_path: Path, victim: Victim):
    check("follow", tmp_path, victim, most)


@pytest.mark.slow
def test_an_export_killed_at_random_moments_is_completed(tmp_path: Path, victim: Victim):
    site, moments = tmp_path / "site", random.Random(1)
    COMMANDS[EXPORT].prepare(site)
    words = [word.replace(SITE, str(site)) for word in COMMANDS[EXPORT].words]
    started = time.perf_counter()
    assert victim.command(words, LATE)[0] == 0
    longest, expected = time.perf_counter() - started, snapshot(site)
    shutil.rmtree(site / ICEBERG)
    killed = [
        victim.kill_after(moments.uniform(0, longest), Path(), Path(), words=words)
        for _ in range(SOME)
    ]
    assert any(killed)
    assert victim.command(words, LATE)[0] == 0
    assert snapshot(site) == expected


def leaves(command: click.Command, name: str = "") -> Iterator[str]:
    """Names of all commands below one."""
    if not isinstance(command, click.Group):
        yield name
        return
    context = click.Context(command)
    for below in command.list_commands(context):
        found = command.get_command(context, below)
        assert found is not None
        yield from leaves(found, f"{name} {below}".strip())


def test_every_command_is_in_the_table_of_kills():
    alike = {name for others in LIKE.values() for name in others}
    named = [*COMMANDS, *COMPOSED, *alike]
    assert sorted(named) == sorted(set(leaves(Commands("cpmon")))) and TOP
    assert {*LIKE, *(part for parts in COMPOSED.values() for part in parts)} <= COMMANDS.keys()
