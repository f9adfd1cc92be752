"""Dumps of some intervals, processes that may be killed, and stores to compare with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cpmon.ingest import ingest
from cpmon.store import Store, connect
from tests.dumps import dump, fields, interval

ROOT = Path(__file__).resolve().parents[2]
Rows = dict[str, list[tuple[Any, ...]]]


def dump_of(number: int) -> bytes:
    """A dump of two intervals, a minute each; every number makes another one."""
    at = number * 120
    start = fields("mtrsys", at, systmid="VMFAULT")
    sets = [
        interval(
            at + 60 * part,
            start if part == 1 else b"",
            *[fields("sytrsp", at + 60 * part, pfxcpuad=cpu, plsmvb2g=number) for cpu in range(3)],
            *[fields("useact", at + 60 * part, vmduser=f"U{n}", vmdttime=at) for n in range(4)],
        )
        for part in (1, 2)
    ]
    return dump(*sets)


@dataclass
class Victim:
    """A process whose children ingest; see victim.py."""

    process: subprocess.Popen[str]

    def begin(self, dump: Path, store: Path, **said: Any) -> int:
        """Start a child; returns its number."""
        line = json.dumps({"dump": str(dump), "store": str(store), **said})
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self) -> tuple[int, str]:
        """Wait for the child: its status, negative for a signal, and what it said."""
        assert self.process.stdout
        status, told = json.loads(self.process.stdout.readline())
        return status, told

    def command(self, words: list[str], die_before: int) -> tuple[int, str]:
        """Run a command line in a child that dies before a step; see victim.py."""
        return self.run(Path(), Path(), words=words, die_before=die_before)

    def run(self, dump: Path, store: Path, **said: Any) -> tuple[int, str]:
        """Start a child and wait for it."""
        self.begin(dump, store, **said)
        return self.end()

    def kill_after(self, seconds: float, dump: Path, store: Path, **said: Any) -> bool:
        """Start a child, and kill it after a time; whether it was still there."""
        pid = self.begin(dump, store, **said)
        timer = threading.Timer(seconds, _kill, (pid,))
        timer.start()
        status, told = self.end()
        timer.cancel()
        timer.join()
        assert status in (-signal.SIGKILL, 0), told
        return status != 0


def _kill(pid: int) -> None:
    """Kill a child that may just have ended; its number is nobody else's so soon."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def victim() -> Iterator[Victim]:
    yield from _victim()


@pytest.fixture(scope="session")
def other_victim() -> Iterator[Victim]:
    yield from _victim()


@pytest.fixture
def victims(victim: Victim, other_victim: Victim) -> tuple[Victim, Victim]:
    """Two of them, for what two processes do at once."""
    return victim, other_victim


def _victim() -> Iterator[Victim]:
    """Start one, which takes seconds, and end it."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.victim"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        yield Victim(process)


def rows(store: Path) -> Rows:
    """The rows of every table that a dump has landed in, without what differs from run to run."""
    opened = Store(store)
    with connect(opened) as connection:
        found = {
            f"monitor.{table}": connection.sql(
                f"SELECT * FROM monitor.{table} ORDER BY ALL"
            ).fetchall()
            for table in sorted(opened.tables() - {"finding", "quarantine", "interval"})
        }
        ends = "SELECT system, dump, interval_end FROM meta.interval ORDER BY ALL"
        found["meta.interval"] = connection.sql(ends).fetchall()
        dumps = "SELECT dump, system, intervals FROM meta.dump ORDER BY ALL"
        found["meta.dump"] = connection.sql(dumps).fetchall()
    return found


def undisturbed(folder: Path, dumps: list[Path]) -> Rows:
    """The rows of a store in which nothing happened but the ingest of some dumps."""
    store = Store(folder / "undisturbed", create=True)
    for one in dumps:
        ingest(one, store)
    return rows(store.root)


def check_tidy(store: Path) -> None:
    """Nothing half-written is left."""
    assert list((store / "staging").iterdir()) == []
    folders, files = {"records", "manifest", "runs", "staging"}, {"store.json"}
    assert {entry.name for entry in store.iterdir()} <= folders | files
