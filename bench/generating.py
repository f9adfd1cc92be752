"""Time and memory of `cpmon generate`, for a run and for one several times as long."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .machine import MEGA
from .result import Bar, Row, Section

SCENARIO = "bank-day"
SPEED_BAR_MB = 100.0
"""To a file, on one core."""
GROWTH_BAR_MB = 8.0
"""What memory may grow by from the shorter to the longer run: figures of the whole system."""


@dataclass(frozen=True)
class Generated:
    """What one run of `cpmon generate` took; of several, the shortest time and the highest peak."""

    intervals: int
    size_bytes: int
    seconds: float
    peak_bytes: int


def measure(folder: Path, lengths: list[int], repetitions: int) -> list[Section]:
    """One section.

    Args:
        folder: where the dumps are written, and deleted again.
        lengths: intervals, the shorter run first; they take turns.
    """
    rounds = [[generate_alone(folder, n) for n in lengths] for _ in range(repetitions)]
    found = [_best(list(runs)) for runs in zip(*rounds, strict=True)]
    rows = tuple(
        Row(
            f"{run.intervals:,} intervals, {run.size_bytes / MEGA:,.0f} MB",
            {
                "peak MB": run.peak_bytes / MEGA,
                "s": run.seconds,
                "MB/s": run.size_bytes / MEGA / run.seconds,
            },
        )
        for run in found
    )
    speed = found[-1].size_bytes / MEGA / found[-1].seconds
    growth = (found[-1].peak_bytes - found[0].peak_bytes) / MEGA
    bars = (
        Bar("generating to a file, MB/s", speed, SPEED_BAR_MB),
        Bar("growth of peak memory, MB", growth, GROWTH_BAR_MB, at_least=False),
    )
    given = (
        f"`cpmon generate {SCENARIO}` in a process of its own on one core, to a file; shortest "
        f"time and highest peak of {repetitions}"
    )
    return [Section("Generating", given, rows, bars)]


def generate_alone(folder: Path, intervals: int) -> Generated:
    """Generate a dump in a new process, which uses one core only.

    Raises:
        AssertionError: no dump was written.
    """
    target = folder / f"{SCENARIO}-{intervals}"
    wanted = ["generate", SCENARIO, "--intervals", str(intervals), "-o", str(target)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.peak", "--one-core", *wanted],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    sizes = [dump.stat().st_size for dump in target.glob("*.mon")]
    for file in target.iterdir():
        file.unlink()
    target.rmdir()
    if told["status"] != 0 or not sizes:
        raise AssertionError(f"cpmon {' '.join(wanted)} ended with {told['status']}")
    return Generated(intervals, sum(sizes), told["seconds"], told["peak_bytes"])


def _best(runs: list[Generated]) -> Generated:
    seconds, peak = min(r.seconds for r in runs), max(r.peak_bytes for r in runs)
    return Generated(runs[0].intervals, runs[0].size_bytes, seconds, peak)
