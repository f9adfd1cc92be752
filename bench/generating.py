"""Time and memory of `cpmon generate`, for a run and for one several times as long."""

from __future__ import annotations

import shutil
from pathlib import Path

from .machine import MEGA
from .process import Process, command
from .result import Bar, Row, Section

SCENARIO = "bank-day"
SPEED_BAR_MB = 100.0
"""To a file, on one core."""
GROWTH_BAR_MB = 8.0
"""What memory may grow by from the shorter to the longer run: figures of the whole system."""


def measure(folder: Path, lengths: list[int], repetitions: int) -> list[Section]:
    """One section.

    Args:
        folder: where the dumps are written, and deleted again.
        lengths: intervals, the shorter run first; they take turns.
    """
    rounds = [[generate_alone(folder, n) for n in lengths] for _ in range(repetitions)]
    processes = [Process.best(runs) for runs in zip(*rounds, strict=True)]
    rows = tuple(
        Row(f"{n:,} intervals, {run.size_bytes / MEGA:,.0f} MB", run.figures)
        for n, run in zip(lengths, processes, strict=True)
    )
    growth = (processes[-1].peak_bytes - processes[0].peak_bytes) / MEGA
    bars = (
        Bar("generating to a file, MB/s", processes[-1].speed, SPEED_BAR_MB),
        Bar("growth of peak memory, MB", growth, GROWTH_BAR_MB, at_least=False),
    )
    given = (
        f"`cpmon generate {SCENARIO}` in a process of its own on one core, to a file; shortest "
        f"time and highest peak of {repetitions}"
    )
    return [Section("Generating", given, rows, bars)]


def generate_alone(folder: Path, intervals: int) -> Process:
    """Generate a dump in a new process, which uses one core only.

    Raises:
        AssertionError: no dump was written.
    """
    target = folder / f"{SCENARIO}-{intervals}"
    words = ("generate", SCENARIO, "--intervals", str(intervals), "-o", str(target))
    seconds, peak = command("--one-core", *words)
    sizes = [dump.stat().st_size for dump in target.glob("*.mon")]
    shutil.rmtree(target)
    if not sizes:
        raise AssertionError(f"cpmon {' '.join(words)} wrote no dump")
    return Process(sum(sizes), seconds, peak)
