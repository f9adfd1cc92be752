"""Object storage whose answer to one write is lost: nothing is, whichever write that was.

A write is done and its answer lost, so that the library sends it again; or both times, so that it
gives up; or it is not done. The command may fail; the next one completes, and the store is like one
that nothing happened to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from cpmon.cli.main import Status
from cpmon.core.errors import StoreError
from cpmon.store import Store
from cpmon.store.check import collect_garbage
from cpmon.store.files import open_files
from cpmon.store.files.objects import ObjectFiles
from tests.batch.fleet import hourly
from tests.cli import conftest as commands
from tests.cli.answer import Cpmon

cpmon = commands.cpmon
HOWS = ("sent again", "given up", "not done")
TRIALS = 3
"""Writes of a command that are tried, evenly spread: one with each of `HOWS`."""
PRUNE = ("store", "prune", "--keep", "interval=1d", "--raw", "1d", "--as-of", "2030-01-01")
DEFINE = ("runs", "--define", "am", "--system", "ALPHA")
SPAN = ("--since", "2001-12-18T00:00", "--until", "2001-12-19T00:00")
REDUCED = ("processors_by_time", "run_summary")
"""What is kept: one of days and one of runs."""
PREPARED: dict[str, tuple[str, ...]] = {
    "ingest": (),
    "reduce": ("ingest",),
    "runs": ("ingest",),
    "compact": ("ingest", "reduce"),
    "prune": ("ingest", "reduce"),
}
"""What is done before the command whose writes are disturbed."""
READS = (
    "SELECT system, count(*) AS rows, sum(pfxprbtm) AS busy FROM monitor.sytprp GROUP BY ALL",
    "SELECT system, dump, intervals, rows FROM meta.dump ORDER BY ALL",
    "SELECT run_id, since, until FROM meta.run ORDER BY ALL",
    "SELECT reduction, level, days FROM meta.reduced ORDER BY ALL",
)


@dataclass
class Network:
    """The way to the server, on which the answer to one write is lost.

    Attributes:
        lost: the number of that write, from 1 on; 0 for none. how: one of `HOWS`.
        writes: so many there were.
    """

    lost: int = 0
    how: str = HOWS[0]
    writes: int = 0
    lock: Lock = field(default_factory=Lock)

    def write(self, send: Callable[..., Any], *args: Any, **options: Any) -> Any:
        with self.lock:
            self.writes += 1
            is_lost = self.writes == self.lost
        if is_lost and self.how != "not done":
            send(*args, **options)
        if is_lost and self.how != "sent again":
            raise obstore.exceptions.GenericError("503 <Code>SlowDown</Code> after many retries")
        return send(*args, **options)


@contextmanager
def on(network: Network) -> Iterator[Network]:
    """Writes go over that network."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("put", "delete"):
            send = getattr(obstore, name)
            patched.setattr(
                obstore, name, lambda *args, send=send, **o: network.write(send, *args, **o)
            )
        yield network


@pytest.fixture
def memory() -> ObjectFiles:
    files = ObjectFiles("s3://perf/p")
    files._store = MemoryStore()
    return files


@pytest.mark.parametrize("how", HOWS)
def test_what_is_there_says_whether_it_was_created(memory: ObjectFiles, how: str):
    with on(Network(1, how)):
        if how == "not done":
            with pytest.raises(StoreError, match="cannot be reached") as failed:
                memory.create("one", b"mine")
            assert "credentials" not in str(failed.value.remedy)
        else:
            assert memory.create("one", b"mine")
    assert memory.exists("one") is (how != "not done")
    assert memory.create("one", b"another's") is (how == "not done")


@pytest.mark.slow
@pytest.mark.parametrize("command", PREPARED)
def test_after_a_lost_answer_the_next_command_completes(
    command: str, place: str, cpmon: Cpmon, tmp_path: Path
):
    trial = _Trial(place, command, cpmon, tmp_path)
    trial.begin("undisturbed")
    with on(Network()) as network:
        assert trial.run().status is Status.DONE
    expected = trial.state()
    for number in range(TRIALS):
        lost = 1 + number * (network.writes - 1) // (TRIALS - 1)
        trial.begin(f"{number}")
        with on(Network(lost, HOWS[number % len(HOWS)])) as disturbed:
            failed = trial.run()
        assert "Traceback" not in failed.err, (lost, disturbed.how)
        assert "failure of cpmon" not in failed.err, (lost, disturbed.how)
        again = trial.run()
        assert again.status is Status.DONE, again.err
        assert trial.state() == expected, (lost, disturbed.how, failed.err)


@dataclass
class _Trial:
    """A command in stores that are prepared alike."""

    place: str
    command: str
    cpmon: Cpmon
    folder: Path
    store: str = ""
    prepared: dict[str, bytes] = field(default_factory=dict)

    def begin(self, name: str) -> None:
        """Another store, prepared for the command."""
        self.store = f"{self.place}/{name}"
        files = open_files(self.store)
        for file, data in self.prepared.items():
            files.replace(file, data)
        if not self.prepared:
            for command in PREPARED[self.command]:
                self._do(command)
            self.prepared = {file: files.read(file) for file in files.names()}

    def run(self) -> Any:
        return self._do(self.command)

    def _do(self, command: str) -> Any:
        words = {
            "ingest": ("ingest", *self._dumps()),
            "reduce": ("reduce", *REDUCED),
            "runs": (*DEFINE, *SPAN),
            "compact": ("store", "compact"),
            "prune": PRUNE,
        }[command]
        return self.cpmon(*words, "--store", self.store)

    def _dumps(self) -> list[Path]:
        files = [self.folder / f"{day}.mon" for day in (0, 1, 40)]
        for day, file in zip((0, 1, 40), files, strict=True):
            if not file.exists():
                file.write_bytes(hourly("ALPHA", 0, 24 * day).data)
        return files

    def state(self) -> tuple[list[str], list[object]]:
        """The names of the files once what is left was cleaned, and what the store answers."""
        files = Store(self.store).files
        collect_garbage(Store(self.store), -60)
        found = (re.sub(r"\b[0-9a-f]{12}\b|[0-9a-f]{32}", "*", n) for n in files.names())
        names = sorted(re.sub(r"\.[0-9]{6}\.", ".*.", name) for name in found)
        answers = (
            self.cpmon("query", sql, "--store", self.store, "--format", "json") for sql in READS
        )
        return names, [json.loads(answer.text) for answer in answers]
