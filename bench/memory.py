"""Peak memory and time of `cpmon ingest` for a dump and for one several times its size."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .machine import MEGA
from .process import Process, command
from .result import Bar, Row, Section

PEAK_BAR_MB = 500.0
GROWTH_BAR = 1.05
"""Ten times the dump, at most 10.5 times the time."""


def measure(dumps: list[Path], repetitions: int) -> list[Section]:
    """One section. `dumps`: the smaller one first; they take turns."""
    rounds = [[ingest_alone(dump) for dump in dumps] for _ in range(repetitions)]
    processes = [Process.best(runs) for runs in zip(*rounds, strict=True)]
    rows = tuple(Row(f"{run.size_bytes / MEGA:,.0f} MB", run.figures) for run in processes)
    small, large = processes[0], processes[-1]
    growth = (large.seconds / small.seconds) / (large.size_bytes / small.size_bytes)
    peak = max(run.peak_bytes for run in processes) / MEGA
    bars = (
        Bar("peak memory, MB", peak, PEAK_BAR_MB, at_least=False),
        Bar("growth of time / growth of size", growth, GROWTH_BAR, at_least=False),
    )
    given = (
        f"`cpmon ingest` in a process of its own, dump in the page cache; shortest time and "
        f"highest peak of {repetitions}"
    )
    return [Section("Memory and time by size of the dump", given, rows, bars)]


def ingest_alone(dump: Path) -> Process:
    """Ingest a dump into a new store in a new process.

    Raises:
        AssertionError: the dump did not land.
    """
    with tempfile.TemporaryDirectory(dir=dump.parent) as store:
        seconds, peak = command("ingest", str(dump), "--store", store)
        if not list(Path(store).glob("records/*/*/*/*/useact.parquet")):
            raise AssertionError(f"{dump.name} did not land")
    return Process(dump.stat().st_size, seconds, peak)
