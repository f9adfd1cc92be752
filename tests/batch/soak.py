"""Weeks of hourly dumps through batches, in time-lapse: what is told afterwards.

`python -m tests.batch.soak --days 30 --folder DIR` prints a line for each batch.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TextIO

import duckdb

from cpmon.batch import Batch, Result, read_plan
from cpmon.batch.log import Log
from cpmon.cli.output import write_file
from cpmon.reduce.reductions import reductions
from cpmon.reduce.settings import read_settings
from cpmon.store import Store, connect
from tests.batch.fleet import BEGIN, Hour, hours

SETTINGS = """
store = "store"
[retention]
raw = "3d"
interval = "3d"
15m = "3d"
hour = "5d"
[[inbox]]
folder = "inbox"
patterns = ["ALPHA-*.mon"]
system = "ALPHA"
[[inbox]]
folder = "inbox"
patterns = ["BETA-*.mon"]
system = "BETA"
[[inbox]]
folder = "inbox"
patterns = ["GAMMA-*.mon"]
system = "GAMMA"
[batch]
quarantine = "quarantine"
metrics = "out/cpmon.prom"
summary = "out/summary.txt"
exceptions = {checks}
validate = {checks}
[[output]]
report = "PROCESSORS_BY_TIME"
path = "out/{{system}}/%Y-%m/{{date}}.txt"
"""
STAYS_H = 48
"""Hours after which whoever writes the dumps removes them from the inbox."""


@dataclass(frozen=True)
class Step:
    """A batch.

    `seconds`, `cpu` and `files`: its time, and the files that were new to it. `yardstick`: the
    processor time of a piece of work that is always the same, done right before and after.
    """

    day: date
    files: int
    seconds: float
    cpu: float
    yardstick: float
    landed: int
    status: int
    rss: int
    store_bytes: int
    steps: dict[str, float]


@dataclass
class Soak:
    """All of it: what was written into the inbox, what batches did, how often one was killed."""

    folder: Path
    written: list[Hour] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    kills: int = 0

    @property
    def store(self) -> Store:
        return Store(self.folder / "store")

    @property
    def dumps(self) -> list[Hour]:
        return [hour for hour in self.written if hour.is_dump]

    def per_file(self, steps: list[Step]) -> float:
        """Processor time for each file, in yardsticks: other work of the machine is not counted."""
        return sum(s.cpu / s.yardstick for s in steps) / sum(s.files for s in steps)

    def first_and_last(self, files: int) -> tuple[float, float]:
        """The time for each of the first files, without the first batch, and of the last."""
        steps = self.steps[1:]
        count = -(-files // steps[0].files)
        return self.per_file(steps[:count]), self.per_file(steps[-count:])


def soak(
    folder: Path, days: int, each_h: int, kills: int, *, damaged: float = 0.05, checks: bool
) -> Iterator[Soak]:
    """Write the dumps of some days hour by hour, and run a batch every `each_h` hours.

    `checks`: validation and exceptions as well; they take longer than all the rest together.
    """
    inbox = folder / "inbox"
    inbox.mkdir(parents=True)
    (folder / "cpmon.toml").write_text(SETTINGS.format(checks=str(checks).lower()))
    with (folder / "log").open("a") as stream:
        yield from _soak(Soak(folder), _batch(folder, stream), days, each_h, kills, damaged)


def _soak(
    done: Soak, batch: Batch, days: int, each_h: int, kills: int, damaged: float
) -> Iterator[Soak]:
    folder, inbox, dice = done.folder, done.folder / "inbox", random.Random(5)
    every = days * 24 // each_h
    killed = set(dice.sample(range(1, every), kills))
    waiting: list[Hour] = []
    for hour, found in enumerate(hours(days * 24, damaged)):
        waiting += found
        if (hour + 1) % each_h:
            continue
        for one in waiting:
            _put(inbox, one)
        now = BEGIN + timedelta(hours=hour + 1)
        files, waiting = len(waiting), _written(done, waiting)
        _remove_old(inbox, done.written, hour - STAYS_H)
        if len(done.steps) in killed:
            done.kills += _kill(folder, now, dice.uniform(1.5, 6.0))
        done.steps.append(_step(batch, now, files, folder))
        yield done


def complain(done: Soak) -> None:
    """Raise if anything is not as it must be afterwards, but for times."""
    store = done.store
    expected = {(one.system, end.replace(tzinfo=None)) for one in done.written for end in one.ends}
    with connect(store, reductions()) as con:
        ends = "date_trunc('second', interval_end + INTERVAL 500 MILLISECOND)"
        rows = con.sql(f"SELECT system, {ends} FROM meta.interval").fetchall()
    assert len(rows) == len(expected), f"{len(rows)} intervals, expected {len(expected)}"
    assert set(rows) == expected
    assert len(list(store.dumps())) == len(done.dumps)
    assert list(store.staging.iterdir()) == []
    days = {(one.system, str(one.begin.date())) for one in done.written if one.ends}
    for system, day in days:
        report = done.folder / "out" / system / day[:7] / f"{day}.txt"
        assert report.stat().st_size > 200, report
    texts = sum(not one.is_dump for one in done.written)
    reasons = list((done.folder / "quarantine").glob("*.reason.txt"))
    assert (
        texts
        <= len(reasons)
        <= texts + done.kills + sum(one.hour % 50 == 7 for one in done.written)
    )


def _step(batch: Batch, now: datetime, files: int, folder: Path) -> Step:
    yard = _yardstick()
    started, worked = time.perf_counter(), time.process_time()
    result: Result = batch.run(now.date())
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    return Step(
        now.date(),
        files,
        seconds,
        cpu,
        (yard + _yardstick()) / 2,
        result.landed,
        int(result.status),
        _rss(),
        sum(f.stat().st_size for f in (folder / "store").rglob("*") if f.is_file()),
        result.steps,
    )


def _yardstick() -> float:
    """Processor time of some work of the kind that a batch is made of."""
    worked = time.process_time()
    with duckdb.connect(":memory:") as con:
        for number in range(60):
            sums = "SELECT i, sum(i) OVER (ORDER BY i) AS s FROM range(20000) AS t(i)"
            con.execute(f"CREATE VIEW v{number} AS {sums}")
            con.execute(f"SELECT max(s) FROM v{number}").fetchall()
    json.loads(json.dumps(list(range(200_000))))
    return time.process_time() - worked


def _batch(folder: Path, stream: TextIO) -> Batch:
    file = folder / "cpmon.toml"
    settings = read_settings(folder / "store", file)
    store = Store(folder / "store", create=True)
    plan = read_plan(settings.tables, str(file))
    return Batch(store, plan, settings, Log("text", stream), write_file)


def _kill(folder: Path, now: datetime, seconds: float) -> int:
    """A batch that is killed after a while; 1 if it was still at work."""
    words = ["batch", "run", "--config", str(folder / "cpmon.toml"), "--as-of", str(now.date())]
    silent = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, "-m", "cpmon", *words], stdout=silent, stderr=silent
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    return int(process.wait() == -signal.SIGKILL)


def _put(inbox: Path, one: Hour) -> None:
    """Files that have been complete for a while; some arrive twice, under another name."""
    an_hour_ago = time.time() - 3600
    names = [one.name, one.name.replace(".mon", "-again.mon")][: 1 + (one.hour % 50 == 7)]
    for name in names:
        (inbox / name).write_bytes(one.data)
        os.utime(inbox / name, (an_hour_ago, an_hour_ago))


def _written(done: Soak, waiting: list[Hour]) -> list[Hour]:
    done.written += waiting
    return []


def _remove_old(inbox: Path, written: list[Hour], before: int) -> None:
    for file in inbox.iterdir():
        begin = datetime.strptime(file.stem.split("-", 1)[1][:11], "%Y%m%d-%H")  # noqa: DTZ007
        if (begin - BEGIN.replace(tzinfo=None)).total_seconds() < before * 3600:
            file.unlink()


def _rss() -> int:
    """Resident memory of this process, bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def main() -> None:
    """Print a line for each batch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    shutil.rmtree(asked.folder, ignore_errors=True)
    for done in soak(asked.folder, asked.days, asked.each, asked.kills, checks=False):
        step = done.steps[-1]
        print(
            step.day, step.files, f"{step.seconds:.1f} s", f"cpu {step.cpu:.1f} s",
            f"yardstick {step.yardstick:.2f} s",
            f"landed {step.landed}", step.status,
            f"rss {step.rss >> 20} MiB", f"store {step.store_bytes / 1e6:.1f} MB", step.steps,
            flush=True,
        )  # fmt: skip
    first, last = done.first_and_last(100)
    print(f"kills {done.kills}; a file takes {last / first:.2f} of the time of the first ones")
    complain(done)


if __name__ == "__main__":
    main()
