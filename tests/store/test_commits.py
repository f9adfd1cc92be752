"""The manifest as a model: writers whose steps interleave, kills, lost answers, and readers.

Files are a dictionary. Each call of a writer for a file is a step, after which any other goes on.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cpmon.core.errors import BusyError, StoreError
from cpmon.store.files.files import File, Inside
from cpmon.store.format import manifest, states
from cpmon.store.format.landed_dump import LandedDump
from cpmon.store.format.manifest import Manifest

DUMPS = [f"{number:04x}" for number in range(5)]
DAY = "2026-01-05"


class Killed(BaseException):
    """A process ends here."""


class Lost(StoreError):
    """The answer to a request that was carried out is lost."""


@dataclass
class Disk:
    """Files in memory, with the time at which each was written."""

    data: dict[str, bytes] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    now: int = 0


class MemoryFiles:
    """`Files` over a disk in memory; `step` is called before each access, and told of which."""

    is_local = False
    location = "memory"

    def __init__(self, disk: Disk, step: Callable[[str], bool] = lambda _what: False) -> None:
        self.disk, self.step = disk, step

    def read(self, name: str) -> bytes:
        self.step("read")
        if name not in self.disk.data:
            raise FileNotFoundError(name)
        return self.disk.data[name]

    def exists(self, name: str) -> bool:
        self.step("exists")
        return name in self.disk.data

    def names(self, folder: str = "") -> Iterator[str]:
        self.step("names")
        return iter([name for name in self.disk.data if name.startswith(folder)])

    def inside(self, folder: str = "") -> Inside:
        names = [n for n in self.names(f"{folder}/") if "/" not in n.removeprefix(f"{folder}/")]
        return Inside([], [File(name, len(self.disk.data.get(name, b""))) for name in names])

    def changed(self, name: str) -> float:
        self.step("changed")
        return float(self.disk.times.get(name, 0))

    def create(self, name: str, data: bytes) -> bool:
        is_lost = self.step("create")
        if name in self.disk.data:
            return False
        self.replace(name, data)
        if is_lost:
            raise Lost("no answer", code="lost")
        return True

    def replace(self, name: str, data: bytes) -> None:
        self.disk.data[name] = data
        self.disk.times[name] = self.disk.now

    def publish(self, finished: Mapping[str, Path]) -> None:
        for name in finished:
            self.step("publish")
            self.replace(name, b"rows")

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            self.step("delete")
            self.disk.data.pop(name, None)

    def delete_folders(self, folders: Iterable[str]) -> None:
        for folder in folders:
            self.step("delete")
            for name in [name for name in self.disk.data if name.startswith(f"{folder}/")]:
                del self.disk.data[name]

    def uri(self, name: str) -> str:
        return name


def about(dump: str, folder: str, **facts: Any) -> dict[str, Any]:
    return {
        "dump": dump,
        "system": "A",
        "landed_on": DAY,
        "days": [DAY],
        "nominal": True,
        "tables": ["useact"],
        "layouts": "x",
        "stored_size": 1,
        "folder": folder,
        **facts,
    }


Task = tuple[str, str]
"""What a writer does, and with which dump: land, merge, prune, drop."""


class Writer:
    """A process that does some tasks, a step at a time, when it is told to go on."""

    def __init__(self, disk: Disk, number: int, tasks: Sequence[Task]) -> None:
        self.number, self.tasks = number, tasks
        self.files = MemoryFiles(disk, self._step)
        self.at = 0
        self.landed: list[str] = []
        self.pruned: list[str] = []
        self.gone: list[str] = []
        self.is_killed = self.loses = self.is_done = False
        self.error: BaseException | None = None
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def go_on(self) -> None:
        """Let it do its next step, and wait for the one behind that."""
        if not self.is_done:
            self._go.release()
            assert self._stopped.acquire(timeout=60)

    def _step(self, _what: str) -> bool:
        self._stopped.release()
        self._go.acquire()
        if self.is_killed:
            raise Killed
        is_lost, self.loses = self.loses, False
        return is_lost

    def _run(self) -> None:
        self._go.acquire()
        try:
            for at, (kind, dump) in enumerate(self.tasks):
                self.at = at
                try:
                    self._do(kind, dump, f"{self.number:x}{at:x}")
                except (Lost, BusyError):
                    continue
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - the test tells of it
            self.error = error
        self.is_done = True
        self._stopped.release()

    def _do(self, kind: str, dump: str, token: str) -> None:
        known = Manifest(self.files)  # type: ignore[arg-type]
        if kind == "land":
            if known.find(dump) is None:
                folder = f"records/system=A/date={DAY}/dump={dump}/{token}"
                self.files.publish({f"{folder}/useact.parquet": Path()})
                if known.add(about(dump, folder)):
                    self.landed.append(dump)
            return
        dumps = [each for each in known.dumps() if kind == "merge" or each.dump == dump]
        if not dumps:
            return
        if kind == "merge":
            number = 1 + max(each.generation for each in dumps)
            folder = f"months/system=A/2026-01.{number:04}-{token}"
            self.files.publish({f"{folder}/useact.parquet": Path()})
            facts = {each.dump: marks(each) for each in dumps}
            known.put(dumps, [about(name, folder, **facts[name]) for name in facts])
        elif kind == "prune":
            if known.put(dumps, [about(each.dump, each.folder, pruned_at="now") for each in dumps]):
                self.pruned.append(dump)
        elif known.put(dumps):
            self.gone.append(dump)

    def may_land(self, dump: str) -> bool:
        """Whether it lands a dump now or later."""
        return not self.is_done and ("land", dump) in self.tasks[self.at :]


def marks(dump: LandedDump) -> dict[str, Any]:
    return {"pruned_at": "now"} if dump.pruned else {}


EVENTS = ("",) * 40 + ("kill", "lose", "later", "later")


def drawn(seed: int) -> tuple[list[list[Task]], list[tuple[int, str]]]:
    """What each of some writers does, and whose step is next, with what happens then."""
    draw = random.Random(seed)
    kinds = draw.choice([KINDS, KINDS[:-1], KINDS[:-2]])
    tasks = [
        [(draw.choice(kinds), draw.choice(DUMPS)) for _ in range(draw.randint(2, 12))]
        for _ in range(draw.randint(2, 4))
    ]
    moves = [(draw.randrange(4), draw.choice(EVENTS)) for _ in range(draw.randint(50, 600))]
    return tasks, moves


KINDS = ("land", "land", "land", "merge", "prune", "drop")


@pytest.mark.parametrize("begin", range(0, 200, 50))
def test_whoever_writes_meanwhile_readers_see_whole_states(begin: int):
    for seed in range(begin, begin + 50):
        check(*drawn(seed))


@pytest.mark.long
def test_so_do_they_in_many_more_histories():
    for seed in range(1_000, 6_000):
        check(*drawn(seed))


def check(tasks: list[list[Task]], moves: list[tuple[int, str]]) -> None:
    disk = Disk(now=10**9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "FAN", 2)
        patch.setattr(states.time, "time", lambda: disk.now)
        writers = [Writer(disk, number, some) for number, some in enumerate(tasks)]
        rest = ((number, "") for number in itertools.cycle(range(len(writers))))
        seen = Manifest(MemoryFiles(disk))  # type: ignore[arg-type]
        for number, event in itertools.chain(moves, rest):
            writer = writers[number % len(writers)]
            if event == "later":
                disk.now += states.GRACE_S // 2
            writer.is_killed |= event == "kill"
            writer.loses = event == "lose"
            writer.go_on()
            holds(disk, seen, writers)
            if all(each.is_done for each in writers):
                break
    assert [writer.error for writer in writers if writer.error] == []


def holds(disk: Disk, seen: Manifest, writers: Sequence[Writer]) -> None:
    """What is true between any two steps."""
    dumps = {dump.dump: dump for dump in Manifest(MemoryFiles(disk)).dumps()}  # type: ignore[arg-type]
    assert {dump.dump: dump for dump in seen.dumps()} == dumps, "a reader that knows earlier states"
    for dump in dumps.values():
        assert f"{dump.folder}/useact.parquet" in disk.data, "files that a state names are there"
    dropping = {name for each in writers for kind, name in each.tasks if kind == "drop"}
    landed = [name for each in writers for name in each.landed]
    assert set(landed) - dropping <= dumps.keys(), "what has landed stays"
    for name in set(landed) - dropping:
        assert landed.count(name) == 1, "of several writers of a dump one lands it"
    for name in (name for each in writers for name in each.pruned if name not in dropping):
        assert dumps[name].pruned, "what was pruned stays so"
    for each in writers:
        for name in [n for n in each.gone if any(w.may_land(n) for w in writers)]:
            each.gone.remove(name)
        assert dumps.keys().isdisjoint(each.gone), "what was dropped does not come back by itself"
