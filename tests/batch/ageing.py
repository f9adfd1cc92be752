"""What must not grow while a store ages: memory of a process, and size by how long it stays."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import fmean

from cpmon.store import Store

FILES = 100
AGED = 7
"""Days after which retention has taken from every level but the coarsest."""
ENOUGH = AGED + 7
"""Days that show it."""
MOST = 0.2
"""How much more the last may be than the first."""


@dataclass(frozen=True)
class Verdict:
    """A figure of the first batches, and of the last."""

    what: str
    first: float
    last: float

    @property
    def holds(self) -> bool:
        """Whether it has not grown."""
        return self.last <= self.first * (1 + MOST)

    def __str__(self) -> str:
        """As a line."""
        change = self.last / self.first - 1
        said = "holds" if self.holds else "WRONG"
        return f"{said}: {self.what}: {self.first:.3f}, at last {self.last:.3f} ({change:+.1%})"


@dataclass(frozen=True)
class Sizes:
    """Bytes of a store.

    `forever`: what no retention takes, being all that is left of old dumps and the coarsest
    results. `passing`: the rest.
    """

    passing: int
    forever: int

    def __str__(self) -> str:
        """In megabytes."""
        return f"{self.passing / 1e6:.1f} + {self.forever / 1e6:.1f} MB"


@dataclass(frozen=True)
class Step:
    """A batch.

    `seconds`, `cpu` and `files`: its time, and the files that were new to it. `control`: the
    processor time for a file in a store that was always new, right before and after; a machine
    that is shared changes its speed by half within minutes. None where nobody asked.
    `rss`, `peak`: resident memory after it, and the most in it, bytes.
    """

    day: date
    files: int
    seconds: float
    cpu: float
    control: float | None
    landed: int
    status: int
    rss: int
    peak: int
    sizes: Sizes
    steps: dict[str, float]

    def __str__(self) -> str:
        """As a line."""
        control = "" if self.control is None else f" control {self.control:.3f} s a file"
        return (
            f"{self.day} files {self.files} {self.seconds:.1f} s cpu {self.cpu:.1f} s{control}"
            f" landed {self.landed} status {self.status}"
            f" rss {self.rss >> 20} MiB most {self.peak >> 20} MiB"
            f" store {self.sizes}"
            f" {self.steps}"
        )


def verdicts(steps: Sequence[Step]) -> list[Verdict]:
    """What must not grow with the age of a store.

    The first batch imports. Until retention has something to take from every level but the
    coarsest the store grows; then it is as it stays.

    Args:
        steps: of `ENOUGH` days, at least.
    """
    rest, aged = steps[1:], [s for s in steps if (s.day - steps[0].day).days >= AGED]
    timed, third = [s for s in rest if s.control is not None], len(aged) // 3
    grown = [b.sizes.forever - a.sizes.forever for a, b in itertools.pairwise(aged)]
    return [
        _verdict(
            "processor time for a file, of that in a new store",
            timed[: len(timed) // 2],
            timed[len(timed) // 2 :],
            lambda s: s.cpu / s.files / (s.control or 0),
        ),
        _verdict("resident memory, MiB", rest[:3], rest[-3:], lambda s: s.rss / 2**20),
        _verdict("most memory in a batch, MiB", rest[:3], rest[-3:], lambda s: s.peak / 2**20),
        _verdict("store that passes, MB", aged[:3], aged[-3:], lambda s: s.sizes.passing / 1e6),
        Verdict(
            "what stays of a batch, kB", *(fmean(g) / 1e3 for g in (grown[:third], grown[-third:]))
        ),
    ]


def _verdict(
    what: str, first: Sequence[Step], last: Sequence[Step], figure: Callable[[Step], float]
) -> Verdict:
    return Verdict(what, *(fmean(map(figure, steps)) for steps in (first, last)))


def sizes(store: Path) -> Sizes:
    """The size of a store."""
    passing, forever = 0, sum(file.stat().st_size for file in store.glob("manifest/*/*/*"))
    pruned = {store / dump.folder for dump in Store(store).dumps() if dump.pruned}
    for folder in (store, *filter(Path.is_dir, store.rglob("*"))):
        inside = list(filter(Path.is_file, folder.iterdir()))
        size = sum(file.stat().st_size for file in inside)
        if folder in pruned or folder.parent.name == "level=hour":
            forever += size
        elif folder.parent.parent.name != "manifest":
            passing += size
    return Sizes(passing, forever)


def is_timed(place: int, steps: int, files: int) -> bool:
    """Whether a batch is one of those whose time for a file is told: the first or the last 100.

    Args:
        place: of the batch; the first one imports and is left out. steps: of all.
        files: of a batch.
    """
    count = -(-FILES // files)
    return 1 <= place <= count or place >= steps - count


def resident() -> int:
    """Memory of this process, bytes."""
    return _status("VmRSS")


def peak() -> int:
    """The most since `reset_peak`, bytes."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Forget how much memory this process once had."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _status(key: str) -> int:
    found = re.search(rf"{key}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None, key
    return int(found[1]) * 1024
