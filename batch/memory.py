"""What a batch remembers between two runs: `batch/state.json` of the store.

It spares work and is no truth: whatever is lost with it is found again in the store. Files that
are gone from the inboxes are forgotten, so it does not grow with age.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from .. import __version__
from ..store.store import Store, replace_durably
from .looking import Candidate, Look

VERSION = 1
FILE = "state.json"
SETTLED = ("landed", "known")
"""Outcomes that never change; what else became of a file is tried again by another cpmon."""


@dataclass(slots=True)
class OfSystem:
    """What has been landed of a system by batches.

    `last`: end of its last interval, microseconds since 1970; None if it has none.
    """

    dumps: int = 0
    records: int = 0
    last: int | None = None


@dataclass(slots=True)
class Memory:
    """The state of a store's batches.

    Attributes:
        files: path -> size, time of change (ns), outcome, and the dump or the reason.
        looks: path -> how a file that waits was seen, and since when.
        open: system -> days of which something has landed, and outputs are still to be written.
        systems: by name.
        findings: severity -> how many there were so far.
        last_success: when a run last ended without a failure, seconds since 1970.
        pruned: the day as of which retention was last looked after.
    """

    files: dict[str, tuple[int, int, str, str]] = field(default_factory=dict)
    looks: dict[str, Look] = field(default_factory=dict)
    open: dict[str, set[date]] = field(default_factory=dict)
    systems: dict[str, OfSystem] = field(default_factory=dict)
    findings: dict[str, int] = field(default_factory=dict)
    last_success: float | None = None
    pruned: date | None = None

    def knows(self, found: Candidate) -> bool:
        """Whether a file as it is now needs no further look."""
        return self.files.get(str(found.path), (-1, -1))[:2] == (found.size, found.mtime_ns)

    def settle(self, found: Candidate, outcome: str, detail: str) -> None:
        """Remember what became of a file."""
        self.files[str(found.path)] = (found.size, found.mtime_ns, outcome, detail)
        self.looks.pop(str(found.path), None)

    def forget(self, there: Iterable[Path], unseen: Iterable[Path]) -> None:
        """Forget files that are gone.

        Args:
            there: those that are in the inboxes. unseen: folders that could not be read; what was
                in them may be there.
        """
        present, dark = {str(path) for path in there}, [f"{folder}/" for folder in unseen]

        def stays(path: str) -> bool:
            return path in present or any(path.startswith(folder) for folder in dark)

        self.files = {path: said for path, said in self.files.items() if stays(path)}
        self.looks = {path: said for path, said in self.looks.items() if stays(path)}

    def system(self, name: str) -> OfSystem:
        """What has been landed of a system, to be added to."""
        return self.systems.setdefault(name, OfSystem())

    def save(self, folder: Path) -> None:
        """Write it so that a reader sees the old or the new one."""
        said: dict[str, Any] = {
            "version": VERSION,
            "cpmon": __version__,
            "files": self.files,
            "looks": self.looks,
            "open": {name: sorted(map(str, days)) for name, days in self.open.items() if days},
            "systems": {name: [s.dumps, s.records, s.last] for name, s in self.systems.items()},
            "findings": self.findings,
            "last_success": self.last_success,
            "pruned": self.pruned and str(self.pruned),
        }
        replace_durably(folder / FILE, json.dumps(said))


def recall(store: Store, folder: Path) -> Memory:
    """What is remembered; where that is missing or damaged, what the store can tell."""
    try:
        said = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if said["version"] == VERSION:
            return _read(said)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return _told_by(store)


def _read(said: dict[str, Any]) -> Memory:
    same = said["cpmon"] == __version__
    return Memory(
        files={
            str(path): (int(size), int(mtime), str(outcome), str(detail))
            for path, (size, mtime, outcome, detail) in said["files"].items()
            if same or outcome in SETTLED
        },
        looks={
            str(path): (int(size), int(mtime), float(seen))
            for path, (size, mtime, seen) in said["looks"].items()
        },
        open={name: set(map(date.fromisoformat, days)) for name, days in said["open"].items()},
        systems={name: OfSystem(*values) for name, values in said["systems"].items()},
        findings={str(name): int(count) for name, count in said["findings"].items()},
        last_success=said["last_success"],
        pruned=date.fromisoformat(said["pruned"]) if said["pruned"] else None,
    )


def _told_by(store: Store) -> Memory:
    found = Memory()
    for about in store.dumps():
        system = found.system(str(about["system"]))
        system.dumps += 1
        system.records += sum(about["rows"].values())
    return found
