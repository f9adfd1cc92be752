"""What a run of a batch did: the account that summary, JSON, metrics and history share."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

SCHEMA_VERSION = 1
MOST_LISTED = 200
"""Files of a kind that are named one by one; more are only counted."""

KINDS = ("deferred", "quarantined", "rejected", "trouble", "failures")
"""What a run lists as events."""
GRAVE = frozenset({"warning", "critical", "data_loss"})
"""Severities that somebody should look at."""


class Ended(IntEnum):
    """Exit statuses of a batch."""

    DONE = 0
    FAILED = 1
    WARNINGS = 3
    INVALID = 4
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Event:
    """A file or step, and what became of it."""

    what: str
    detail: str


@dataclass(slots=True)
class SystemResult:
    """What was landed of a system in this run.

    `last`: end of its last interval of all runs, seconds since 1970; `lag`: how long ago that was
    when the run ended.
    """

    dumps: int = 0
    intervals: int = 0
    records: int = 0
    bytes: int = 0
    last: float | None = None
    lag: float | None = None


@dataclass(slots=True)
class Result:
    """What a run did.

    Attributes:
        run: its name. started, ended: UTC.
        landed: new dumps. known: files whose content had been landed before.
        deferred, quarantined, rejected: files that are not complete, that were moved away, and
            that are no dumps or failed but stay where they are.
        trouble: what could not be done; an administrator should look at it.
        failures: the same, where it is cpmon's own failure.
        systems: by name.
        findings: code -> severity and count. exceptions, validation: severity -> count.
        broken: rules of the validation that were broken. worst: exceptions to be named, the
            gravest first.
        written: files. removed: files that retention took away, and their bytes.
        steps: seconds by step.
    """

    run: str
    started: datetime
    ended: datetime | None = None
    landed: int = 0
    known: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    deferred: list[Event] = field(default_factory=list)
    quarantined: list[Event] = field(default_factory=list)
    rejected: list[Event] = field(default_factory=list)
    trouble: list[Event] = field(default_factory=list)
    failures: list[Event] = field(default_factory=list)
    broken: list[Event] = field(default_factory=list)
    systems: dict[str, SystemResult] = field(default_factory=dict)
    findings: dict[str, tuple[str, int]] = field(default_factory=dict)
    exceptions: Counter[str] = field(default_factory=Counter)
    validation: Counter[str] = field(default_factory=Counter)
    worst: list[Event] = field(default_factory=list)
    days: int = 0
    written: list[str] = field(default_factory=list)
    removed: tuple[int, int] = (0, 0)
    steps: dict[str, float] = field(default_factory=dict)
    interrupted: bool = False

    def note(self, kind: str, what: str, detail: str) -> None:
        """Count something that happened, and name it unless there are very many."""
        self.counts[kind] += 1
        listed: list[Event] = getattr(self, kind)
        if len(listed) < MOST_LISTED:
            listed.append(Event(what, detail))

    def found(self, code: str, severity: str, count: int) -> None:
        """Count findings of a dump."""
        self.findings[code] = severity, self.findings.get(code, ("", 0))[1] + count

    def system(self, name: str) -> SystemResult:
        """The part of a system, to be added to."""
        return self.systems.setdefault(name, SystemResult())

    def by_severity(self) -> dict[str, int]:
        """Findings, by severity."""
        counted: Counter[str] = Counter()
        for severity, count in self.findings.values():
            counted[severity] += count
        return dict(counted)

    @property
    def did_something(self) -> bool:
        """Whether there is anything to tell."""
        told = (self.landed, self.known, self.written, self.removed[0], self.interrupted)
        return any(told) or any(self.counts[kind] for kind in KINDS[1:])

    @property
    def status(self) -> Ended:
        """How the run ended."""
        if self.interrupted:
            return Ended.INTERRUPTED
        if self.counts["failures"]:
            return Ended.FAILED
        if self.validation["critical"]:
            return Ended.INVALID
        severities = {severity for severity, _ in self.findings.values()}
        severities |= (+self.exceptions).keys() | (+self.validation).keys()
        odd = any(self.counts[kind] for kind in KINDS[1:])
        return Ended.WARNINGS if odd or severities & GRAVE else Ended.DONE

    @property
    def seconds(self) -> float:
        """How long it took."""
        return ((self.ended or datetime.now(UTC)) - self.started).total_seconds()

    def as_dict(self) -> dict[str, Any]:
        """The JSON twin of the summary."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        for kind in (*KINDS, "broken", "worst"):
            found[kind] = [asdict(event) for event in found[kind]]
        for counted in ("counts", "exceptions", "validation"):
            found[counted] = dict(found[counted])
        found["systems"] = {name: asdict(part) for name, part in self.systems.items()}
        found["findings"] = {
            code: {"severity": severity, "count": count}
            for code, (severity, count) in sorted(self.findings.items())
        }
        found["removed"] = {"files": self.removed[0], "bytes": self.removed[1]}
        found["started"] = _iso(self.started)
        found["ended"] = self.ended and _iso(self.ended)
        for part in found["systems"].values():
            part["last"] = part["last"] and _iso(datetime.fromtimestamp(part["last"], UTC))
        facts = {
            "status": int(self.status),
            "ended_as": self.status.name.lower(),
            "seconds": round(self.seconds, 3),
            "findings_by_severity": self.by_severity(),
        }
        return {"schema_version": SCHEMA_VERSION, **found, **facts}


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
