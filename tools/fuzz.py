"""Damaged dumps by the hundred thousand: `python -m tools.fuzz`, or `make fuzz`.

Each is a small good dump with random changes, and is read as an ingest, a check and a list would.
No reader may crash, hang, take memory without bound, lose count of a byte, or lose a record that
no change has touched; an independent reader knows these. Of some only the containers are
damaged: there is a finding, or their reports are those of the good dump. A dump that shows a fault
is saved with its recipe; its number and the seed make it again: --only NUMBER.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import queue
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from multiprocessing.context import ForkProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from types import FrameType

import numpy as np

from cpmon.core.errors import DumpError

from .fuzz_answers import surroundings
from .fuzz_mutations import Bent, bend
from .fuzz_readers import Lost, Oracle, check_too, container_of, land, read_tables, survivors
from .fuzz_reports import Reports
from .fuzz_seeds import seeds

COUNT = 100_000
PROCESSES = 2
LIMIT_S = 20.0
"""A dump of a few frames that takes more processor time hangs; most take 0.02 s."""
FORK = multiprocessing.get_context("fork")
TELL_S = 30.0
GROWTH = 256 << 20
"""Bytes that a process may grow while it reads; what is held is bounded by its windows."""
VALUES_EVERY, CHECK_EVERY, LAND_EVERY, LARGE_EVERY, REPORT_EVERY = 8, 12, 400, 40, 20
"""Every how many dumps the values are compared too, all readers are asked, a store is written, a
dump with many kinds of records is changed, and only the containers are. Of one in twenty of these
reports are printed: about 3 s."""
REPORT_LIMIT_S = 120.0


class Hang(AssertionError):
    """A dump took longer than it may."""


class Fuzzer:
    """Changes dumps, reads them, and counts what came of it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        self._seed = seed
        self._folder = folder
        self._seeds = seeds()
        self._oracle = Oracle()
        for good in self._seeds:
            self._oracle.learn(good)
        with surroundings(folder):
            self._reports = Reports(Path(tempfile.mkdtemp(dir=folder)))
        self._peak = _peak()

    def dump(self, number: int) -> tuple[bytes, list[str]]:
        """The dump of a number, and its recipe."""
        if self._is_reported(number):
            damaged = self._reports.damaged(self._rng(number))
            return damaged.data, [f"from {damaged.seed.name}", *damaged.said]
        bent = self.bent(number)
        return bent.data.tobytes(), [f"from {bent.seed.name}", *bent.said]

    def bent(self, number: int) -> Bent:
        """The dump of a number; always the same."""
        rng = self._rng(number)
        large = number % LARGE_EVERY == 0
        fitting = [s for s in self._seeds if s.name.startswith("generated") == large]
        return bend(fitting[int(rng.integers(len(fitting)))], rng)

    def run(self, number: int) -> str:
        """Read the dump of a number; returns what was wrong with its readers, or nothing."""
        reported = self._is_reported(number)
        signal.signal(signal.SIGPROF, _hang)
        signal.setitimer(signal.ITIMER_PROF, REPORT_LIMIT_S if reported else LIMIT_S)
        try:
            if reported:
                self._report(number)
            else:
                self._read(self.bent(number), number)
        except Exception:  # noqa: BLE001 - whatever it is, it is a fault, and it is reported
            return traceback.format_exc()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        grown, self._peak = _peak() - self._peak, _peak()
        return f"the process grew by {grown:,} bytes" if grown > GROWTH and not reported else ""

    def _rng(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, number])

    @staticmethod
    def _is_reported(number: int) -> bool:
        return number % REPORT_EVERY == REPORT_EVERY - 1

    def _report(self, number: int) -> None:
        rng = self._rng(number)
        damaged = self._reports.damaged(rng)
        self.counts["bytes"] += len(damaged.data)
        with surroundings(self._folder):
            self.counts["reports"] += self._reports.check(damaged, rng)

    def _read(self, bent: Bent, number: int) -> None:
        data, container = bent.data.tobytes(), container_of(bent)
        self.counts["bytes"] += len(data)
        self.counts.update(f"change {word}" for word in set(bent.said) if " " not in word)
        try:
            read = read_tables(data, container)
        except DumpError as refused:
            self.counts["refused"] += 1
            if not refused.remedy:
                raise Lost("a dump is refused without a word of what to do") from refused
            if lost := len(survivors(bent)[1]):
                raise Lost(f"a dump with {lost} good records is refused") from refused
            return
        values = number % VALUES_EVERY == 0
        self.counts["records"] += self._oracle.check(bent, read, values=values)
        self.counts.update(f"finding {code}" for code in read.codes)
        if number % CHECK_EVERY == 0:
            check_too(data, container)
        if number % LAND_EVERY == 0:
            self.counts["landed"] += 1
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                self._oracle.check(bent, land(data, container, Path(folder)))


class Worker:
    """A process that reads the dumps of some numbers; another takes its place if it dies."""

    def __init__(self, seed: int, numbers: range, folder: Path, deadline: float) -> None:
        self.at = FORK.Value("q", numbers.start - 1)
        self.found: multiprocessing.Queue[tuple[int, str] | Counter[str]] = FORK.Queue()
        self._said = seed, numbers, folder, deadline
        self.process = self._start(numbers)

    def _start(self, numbers: range) -> ForkProcess:
        seed, _, folder, deadline = self._said
        arguments = (seed, numbers, folder, deadline, self.at, self.found)
        process = FORK.Process(target=work, args=arguments)
        process.start()
        return process

    def results(self) -> Iterator[tuple[int, str] | Counter[str]]:
        """What was found until now; a process that died is found as well."""
        _, numbers, _, _ = self._said
        while True:
            dead = not self.process.is_alive()
            try:
                yield self.found.get(timeout=0.5)
            except queue.Empty:
                if not dead or not self.process.exitcode:
                    return
                number = int(self.at.value)
                yield number, f"the process died with exit code {self.process.exitcode}"
                self.process = self._start(numbers[numbers.index(number) + 1 :])


def work(
    seed: int,
    numbers: range,
    folder: Path,
    deadline: float,
    at: Synchronized[int],
    found: multiprocessing.Queue[tuple[int, str] | Counter[str]],
) -> None:
    """Read the dumps of some numbers; what is wrong, and at the end the counts, go to `found`."""
    fuzzer = Fuzzer(seed, folder)
    for number in numbers:
        at.value = number
        fuzzer.counts["dumps"] += 1
        if wrong := fuzzer.run(number):
            found.put((number, wrong))
        if time.monotonic() > deadline:
            break
    found.put(fuzzer.counts)


def _hang(_signal: int, _frame: FrameType | None) -> None:
    raise Hang("not read in the time that a dump may take")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def save(fuzzer: Fuzzer, seed: int, number: int, wrong: str, folder: Path) -> None:
    """Keep a dump that shows a fault, and its recipe."""
    data, recipe = fuzzer.dump(number)
    (folder / f"{seed}-{number}.mon").write_bytes(data)
    again = f"python -m tools.fuzz --seed {seed} --only {number}"
    lines = [again, *recipe, "", wrong]
    (folder / f"{seed}-{number}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{folder}/{seed}-{number}.mon: {wrong.strip().splitlines()[-1]}", flush=True)
    print(f"  again: {again}", flush=True)


def fuzz(
    seed: int, numbers: range, processes: int, folder: Path, seconds: float = math.inf
) -> tuple[int, Counter[str]]:
    """Read the dumps of some numbers; returns how many showed a fault, and what was covered.

    Args:
        seconds: after this each process ends with the dump that it reads.
    """
    with tempfile.TemporaryDirectory() as place:
        return _fuzz(seed, numbers, processes, (folder, Path(place)), seconds)


def _fuzz(
    seed: int, numbers: range, processes: int, folders: tuple[Path, Path], seconds: float
) -> tuple[int, Counter[str]]:
    """`fuzz`, with the folder where faults are saved and one to work in."""
    folder, place = folders
    fuzzer, counts, faults = Fuzzer(seed, place), Counter[str](), 0
    started = told = time.monotonic()
    deadline = started + seconds
    workers = [
        Worker(seed, numbers[start::processes], place, deadline) for start in range(processes)
    ]
    while True:
        alive = [worker for worker in workers if worker.process.is_alive()]
        for worker in workers:
            for result in worker.results():
                if isinstance(result, Counter):
                    counts += result
                    continue
                faults += 1
                save(fuzzer, seed, *result, folder)
        if not alive:
            return faults, counts
        if time.monotonic() - told > TELL_S:
            told = time.monotonic()
            done = sum(max(0, int(w.at.value) - numbers.start) for w in workers) / processes
            rate = done / (told - started)
            print(f"{done:,.0f} dumps, {rate:.0f}/s, {faults} faults", flush=True)


def main(arguments: list[str]) -> int:
    """Run it as the arguments say; 1 if a dump showed a fault."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="dumps to change and read")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so long")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other dumps")
    parser.add_argument("--first", type=int, default=0, help="number of the first dump")
    parser.add_argument("--only", type=int, help="number of a single dump")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("-o", type=Path, default=Path("build/fuzz"), help="where faults are saved")
    said = parser.parse_args(arguments)
    said.o.mkdir(parents=True, exist_ok=True)
    first, count = (said.only, 1) if said.only is not None else (said.first, said.count)
    started = time.monotonic()
    faults, counts = fuzz(
        said.seed, range(first, first + count), said.processes, said.o, said.seconds
    )
    seconds, count = time.monotonic() - started, max(counts["dumps"], 1)
    print(
        f"{count:,} dumps of {counts['bytes'] / count:,.0f} bytes on average in {seconds:,.0f} s "
        f"({count / seconds:,.0f}/s), {counts['refused']:,} refused, {counts['landed']:,} landed, "
        f"{counts['reports']:,} reports compared"
    )
    print(f"{counts['records']:,} records that no change touched: {faults} dumps with a fault")
    for title in ("change", "finding"):
        named = {n.split()[1]: c for n, c in counts.items() if n.startswith(f"{title} ")}
        print(f"{title}s: " + ", ".join(f"{n} {c:,}" for n, c in sorted(named.items())))
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
