"""What one command of cpmon took in a process of its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cpmon.cli.main import Status

from .machine import MEGA


@dataclass(frozen=True)
class Process:
    """Bytes of the dump that it read or wrote, its seconds, and its peak of resident memory."""

    size_bytes: int
    seconds: float
    peak_bytes: int

    @property
    def speed(self) -> float:
        """MB a second."""
        return self.size_bytes / MEGA / self.seconds

    @property
    def figures(self) -> dict[str, float]:
        """For a row of a table."""
        return {"peak MB": self.peak_bytes / MEGA, "s": self.seconds, "MB/s": self.speed}

    @classmethod
    def best(cls, runs: Sequence[Process]) -> Process:
        """Of several runs the shortest time and the highest peak."""
        seconds, peak = min(r.seconds for r in runs), max(r.peak_bytes for r in runs)
        return cls(runs[0].size_bytes, seconds, peak)


def command(*words: str) -> tuple[float, int]:
    """Run a command in a new process; its seconds and the peak of its memory in bytes.

    Raises:
        AssertionError: it ended with another status than done, or done with findings: the day of
            `bank-day` has a gap, and its ingest says so.
    """
    done = _run("bench.peak", words)
    done.check_returncode()
    result = json.loads(done.stdout.splitlines()[-1])
    _check(words, result["status"])
    return result["seconds"], result["peak_bytes"]


def whole_command(*words: str) -> None:
    """Run a command as its user does, from the start of its process to the end.

    Raises:
        AssertionError: as for `command`.
    """
    _check(words, _run("cpmon", words).returncode)


def processor_seconds(*words: str) -> float:
    """The processor time of a command in a new process, and of the processes that it starts.

    Raises:
        AssertionError: as for `command`.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole_command(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(module: str, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},  # compiled, as when installed
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )


def _check(words: Sequence[str], status: int) -> None:
    if status not in (Status.DONE, Status.WARNINGS):
        raise AssertionError(f"cpmon {' '.join(words)} ended with {status}")
