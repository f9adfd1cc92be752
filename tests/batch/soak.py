"""Weeks of hourly dumps through batches, in time-lapse.

`python -m tests.batch.soak --days 30 --folder DIR` prints a line for each batch, then what must
hold of the store, of time, memory and size, and ends with 1 where something does not.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TextIO

from cpmon.batch import BatchResult, BatchRunner, read_plan
from cpmon.batch.log import write_log
from cpmon.cli.output import write_file
from cpmon.config import read_settings
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from tests.batch.ageing import ENOUGH, Step, is_timed, peak, reset_peak, resident, sizes, verdicts
from tests.batch.fleet import BEGIN, Hour, hours

SETTINGS = """
store = "store"
[retention]
raw = "2d"
interval = "2d"
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
    def damaged(self) -> int:
        """Files that were."""
        return sum(bool(hour.damage) for hour in self.written)

    @property
    def dumps(self) -> list[Hour]:
        return [hour for hour in self.written if hour.is_dump]


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
        done, batch = Soak(folder), _batch(folder, stream)
        yield from _soak(done, batch, days, each_h, kills, damaged, checks=checks)


def _soak(
    done: Soak,
    batch: BatchRunner,
    days: int,
    each_h: int,
    kills: int,
    damaged: float,
    *,
    checks: bool,
) -> Iterator[Soak]:
    folder, inbox, dice = done.folder, done.folder / "inbox", random.Random(5)
    every = days * 24 // each_h
    # Not where time is told: a batch that goes on from where one was killed has less to do.
    killed = set(dice.sample(range(3, every - 2), kills))
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
            done.kills += _kill(folder, now, dice.uniform(0.1, 0.9) * done.steps[-1].seconds)
        timed = checks and is_timed(len(done.steps), every, files)
        done.steps.append(_step(batch, now, files, folder, timed=timed))
        yield done


def complaints(done: Soak) -> Iterator[str]:
    """What is not as it must be afterwards, but for what grows."""
    store = done.store
    expected = {(one.system, end.replace(tzinfo=None)) for one in done.written for end in one.ends}
    with connect(store, reductions()) as con:
        ends = "date_trunc('second', interval_end + INTERVAL 500 MILLISECOND)"
        rows = con.sql(f"SELECT system, {ends} FROM meta.interval").fetchall()
    if len(rows) != len(expected) or set(rows) != expected:
        lost, more = len(expected - set(rows)), len(rows) - len(set(rows) & expected)
        yield f"{len(rows)} intervals, expected {len(expected)}: {lost} lost, {more} too many"
    if (landed := len(list(store.dumps()))) != len(done.dumps):
        yield f"{landed} dumps, expected {len(done.dumps)}"
    if left := list(store.staging.iterdir()):
        yield f"left in staging: {left}"
    for system, day in sorted({(o.system, str(o.begin.date())) for o in done.written if o.ends}):
        report = done.folder / "out" / system / day[:7] / f"{day}.txt"
        if not report.exists() or report.stat().st_size <= 200:
            yield f"{report} is missing or empty"
    if bad := {int(step.status) for step in done.steps} - {0, 3}:
        yield f"batches ended with {bad}"
    # A file that was moved away by a batch that was killed may be put there again.
    texts = sum(not one.is_dump for one in done.written)
    reasons = len(list((done.folder / "quarantine").glob("*.reason.txt")))
    most = texts + done.kills + sum(one.hour % 50 == 7 for one in done.written)
    if not texts <= reasons <= most:
        yield f"{reasons} files in quarantine, expected {texts} to {most}"


def _step(batch: BatchRunner, now: datetime, files: int, folder: Path, *, timed: bool) -> Step:
    before = _control(folder / "new") if timed else 0.0
    reset_peak()
    started, worked = time.perf_counter(), time.process_time()
    result: BatchResult = batch.run(now.date())
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    rss, most = resident(), peak()
    control = (before + _control(folder / "new")) / 2 if timed else None
    return Step(
        now.date(),
        files,
        seconds,
        cpu,
        control,
        result.landed,
        int(result.status),
        rss,
        most,
        sizes(folder / "store"),
        result.steps,
    )


def _control(folder: Path) -> float:
    """Processor time for a file of a batch of one day in a store that is new."""
    (folder / "inbox").mkdir(parents=True)
    (folder / "cpmon.toml").write_text(SETTINGS.format(checks="true"))
    files = [one for found in hours(24) for one in found]
    for one in files:
        _put(folder / "inbox", one)
    batch, worked = _batch(folder, io.StringIO()), time.process_time()
    batch.run((BEGIN + timedelta(days=1)).date())
    cpu = time.process_time() - worked
    shutil.rmtree(folder)
    return cpu / len(files)


def _batch(folder: Path, stream: TextIO) -> BatchRunner:
    file = folder / "cpmon.toml"
    settings = read_settings(folder / "store", file)
    store = Store(folder / "store", create=True)
    plan = read_plan(settings)
    write_log("text", stream)
    return BatchRunner(store, plan, settings, write_file)


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
    """What was written is remembered without its bytes: 100 MB of them would look like a leak."""
    done.written += (replace(hour, data=b"") for hour in waiting)
    return []


def _remove_old(inbox: Path, written: list[Hour], before: int) -> None:
    for file in inbox.iterdir():
        begin = datetime.strptime(file.stem.split("-", 1)[1][:11], "%Y%m%d-%H")  # noqa: DTZ007
        if (begin - BEGIN.replace(tzinfo=None)).total_seconds() < before * 3600:
            file.unlink()


def main() -> int:
    """Print a line for each batch and for each thing that must hold; 1 if one does not."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--each", type=int, default=24)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    if asked.days < ENOUGH or asked.each > 24:
        parser.error(f"it takes {ENOUGH} days, and a batch a day, to tell what grows")
    shutil.rmtree(asked.folder, ignore_errors=True)
    for done in soak(asked.folder, asked.days, asked.each, asked.kills, checks=True):
        print(done.steps[-1], flush=True)
    ends = sum(len(hour.ends) for hour in done.written)
    print(
        f"{len(done.written)} files, {done.damaged} damaged, {done.kills} kills, {ends} intervals"
    )
    failed = list(complaints(done))
    for said in failed:
        print(f"WRONG: {said}")
    found = verdicts(done.steps)
    for verdict in found:
        print(verdict)
    return int(bool(failed) or not all(verdict.holds for verdict in found))


if __name__ == "__main__":
    sys.exit(main())
