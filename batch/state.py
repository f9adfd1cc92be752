"""The folder `batch` of a store: lock, `state.json` and `history.jsonl`.

The state is a cache: it can be rebuilt from the store. Files that are gone from the inboxes are
removed from it, so its size is bounded.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Any, TextIO

import msgspec

from ..core import __version__
from ..core.errors import BusyError
from ..ingest.findings import Code
from ..store.files.disk import replace_durably, writing
from ..store.format.store import Store
from .inbox import Candidate, Observation
from .result import BatchResult

FOLDER = "batch"
"""Name of the folder within a store."""
LOCK, STATE, HISTORY = ".lock", "state.json", "history.jsonl"
VERSION = 1
SETTLED = ("landed", "known")
"""Final outcomes; files with another one are retried by another version of cpmon."""


class SystemTotals(msgspec.Struct, array_like=True):
    """Totals of a system over all batches.

    `last`: end of its last interval, microseconds since 1970; None if it has none.
    """

    dumps: int = 0
    records: int = 0
    last: int | None = None


class State(msgspec.Struct):
    """State that the batches of a store share, saved in `state.json`.

    Attributes:
        version: format version. cpmon: version that saved it.
        files: path -> size, mtime (ns), outcome, and the dump or the reason.
        observations: path -> first observation of the current state of an incomplete file.
        open: system -> days with new data whose outputs are not yet written.
        systems: totals by name.
        findings: severity -> count of all batches.
        last_success: end of the last batch without a failure, seconds since 1970.
        pruned: day of the last retention.
    """

    version: int = VERSION
    cpmon: str = __version__
    files: dict[str, tuple[int, int, str, str]] = {}
    observations: dict[str, Observation] = msgspec.field(name="looks", default_factory=dict)
    open: dict[str, set[date]] = {}
    systems: dict[str, SystemTotals] = {}
    findings: dict[str, int] = {}
    last_success: float | None = None
    pruned: date | None = None

    def is_settled(self, file: Candidate) -> bool:
        """Whether a file already has an outcome and is unchanged since."""
        return self.files.get(str(file.path), (-1, -1))[:2] == (file.size, file.mtime_ns)

    def settle(self, file: Candidate, outcome: str, detail: str) -> None:
        """Record the outcome of a file."""
        self.files[str(file.path)] = (file.size, file.mtime_ns, outcome, detail)
        self.observations.pop(str(file.path), None)

    def forget_missing(self, present: Iterable[Path], unreadable: Iterable[Path]) -> None:
        """Remove files that are gone.

        Args:
            present: the files of the inboxes.
            unreadable: folders that could not be read; their files are kept.
        """
        paths, folders = {str(path) for path in present}, tuple(f"{each}/" for each in unreadable)
        for entries in (self.files, self.observations):
            for path in [*entries]:
                if path not in paths and not path.startswith(folders):
                    del entries[path]

    def system(self, name: str) -> SystemTotals:
        """The totals of a system, to be updated."""
        return self.systems.setdefault(name, SystemTotals())

    def count(self, about: Mapping[str, Any]) -> None:
        """Add a landed dump to the totals, from its metadata in the store."""
        totals = self.system(str(about["system"]))
        totals.dumps += 1
        totals.records += sum(about["rows"].values())
        for code in about["findings"].keys() & Code.__members__.keys():
            severity = Code[code].severity.value
            self.findings[severity] = self.findings.get(severity, 0) + about["findings"][code]

    def recount(self, store: Store) -> None:
        """Recompute the totals from the store."""
        for totals in self.systems.values():
            totals.dumps = totals.records = 0
        self.findings.clear()
        for about in store.abouts(store.dumps()):
            self.count(about)

    def save(self, folder: Path) -> None:
        """Replace the file atomically."""
        replace_durably(folder / STATE, msgspec.json.encode(self, order="sorted").decode())


def load_state(store: Store, folder: Path) -> State:
    """Load the state; if it is missing or damaged, build one with the totals of the store."""
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        state = msgspec.json.decode((folder / STATE).read_bytes(), type=State)
        if state.version == VERSION:
            if state.cpmon != __version__:
                state.cpmon = __version__
                state.files = {p: file for p, file in state.files.items() if file[2] in SETTLED}
            return state
    state = State()
    state.recount(store)
    return state


def append_history(folder: Path, result: BatchResult, limit: int) -> None:
    """Append a batch to the history; removes the oldest if it is far longer than `limit`."""
    entry = result.as_dict()
    for long in ("written", "deferred", "broken", "worst"):
        del entry[long]
    for kind in ("quarantined", "rejected", "trouble", "failures"):
        entry[kind] = entry[kind][:20]
    file = folder / HISTORY
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(entry) + "\n")
    with file.open(encoding="utf-8", errors="replace") as stream:
        count = sum(1 for _ in stream)
    if count > limit * 1.2:  # it is not cut at each batch
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        replace_durably(file, "\n".join(lines[-limit:]) + "\n")


def read_history(folder: Path, limit: int) -> list[dict[str, Any]]:
    """The last batches, newest first; lines truncated by a crash are skipped."""
    try:
        lines = (folder / HISTORY).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    entries: list[dict[str, Any]] = []
    for line in reversed(lines):
        with suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict) and "run" in entry and len(entries) < limit:
                entries.append(entry)
    return entries


@contextmanager
def exclusive_lock(folder: Path, run: str) -> Iterator[bool]:
    """Hold the lock of a store's batches; yields whether its last holder was killed.

    The system releases the lock when the process ends; the name of a killed holder stays in the
    file.

    Raises:
        BusyError: another process holds it.
    """
    with writing(folder.parent):
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / LOCK).open("a+", encoding="utf-8")
    with opened as lock:
        if not _acquire(lock):
            raise BusyError(
                "another batch is at work on this store",
                code="batch-running",
                place=str(folder.parent),
                found=_holder_name(folder) or "a process that holds the lock",
                effect="nothing was done",
                remedy="let it finish; `cpmon batch status` shows which one it is",
            )
        is_after_kill = os.fstat(lock.fileno()).st_size > 0
        lock.truncate(0)
        with suppress(OSError):  # disk full: the lock works without the holder's name
            os.write(lock.fileno(), json.dumps({"pid": os.getpid(), "run": run}).encode())
        try:
            yield is_after_kill
        finally:
            lock.truncate(0)


def _acquire(lock: TextIO) -> bool:
    """Try for 0.15 s, because `lock_holder` takes the lock for a shorter time to test it."""
    for wait in (0.05, 0.1, 0.0):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(wait)
        else:
            return True
    return False


def lock_holder(folder: Path) -> str:
    """The process that holds the lock, as text; empty if none does."""
    try:
        with (folder / LOCK).open("r", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder_name(folder) or "another process"
    except OSError:
        pass
    return ""


def _holder_name(folder: Path) -> str:
    try:
        holder = json.loads((folder / LOCK).read_text(encoding="utf-8"))
        return f"process {int(holder['pid'])}, run {holder['run']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
