"""Peak memory and time of `cpmon ingest` for a dump and for one several times its size."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .machine import MEGA
from .result import Bar, Row, Section

PEAK_BAR_MB = 500.0
GROWTH_BAR = 1.05
"""Ten times the dump, at most 10.5 times the time."""


@dataclass(frozen=True)
class Ingested:
    """What one run of `cpmon ingest` took; of several, the shortest time and the highest peak."""

    size_bytes: int
    seconds: float
    peak_bytes: int


def measure(dumps: list[Path], repetitions: int) -> list[Section]:
    """One section. `dumps`: the smaller one first; they take turns."""
    rounds = [[ingest_alone(dump) for dump in dumps] for _ in range(repetitions)]
    found = [_best(list(runs)) for runs in zip(*rounds, strict=True)]
    rows = tuple(
        Row(
            f"{run.size_bytes / MEGA:,.0f} MB",
            {
                "peak MB": run.peak_bytes / MEGA,
                "s": run.seconds,
                "MB/s": run.size_bytes / MEGA / run.seconds,
            },
        )
        for run in found
    )
    small, large = found[0], found[-1]
    growth = (large.seconds / small.seconds) / (large.size_bytes / small.size_bytes)
    peak = max(run.peak_bytes for run in found) / MEGA
    bars = (
        Bar("peak memory, MB", peak, PEAK_BAR_MB, at_least=False),
        Bar("growth of time / growth of size", growth, GROWTH_BAR, at_least=False),
    )
    given = (
        f"`cpmon ingest` in a process of its own, dump in the page cache; shortest time and "
        f"highest peak of {repetitions}"
    )
    return [Section("Memory and time by size of the dump", given, rows, bars)]


def ingest_alone(dump: Path) -> Ingested:
    """Ingest a dump into a new store in a new process.

    Raises:
        AssertionError: the dump did not land.
    """
    with tempfile.TemporaryDirectory(dir=dump.parent) as store:
        done = subprocess.run(
            [sys.executable, "-m", "bench.peak", "ingest", str(dump), "--store", store],
            cwd=Path(__file__).parent.parent,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        told = json.loads(done.stdout.splitlines()[-1])
        if told["status"] != 0 or not list(Path(store).glob("records/*/*/*/useact.parquet")):
            raise AssertionError(f"cpmon ingest of {dump.name} ended with {told['status']}")
    return Ingested(dump.stat().st_size, told["seconds"], told["peak_bytes"])


def _best(runs: list[Ingested]) -> Ingested:
    seconds, peak = min(r.seconds for r in runs), max(r.peak_bytes for r in runs)
    return Ingested(runs[0].size_bytes, seconds, peak)
