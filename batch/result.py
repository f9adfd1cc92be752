"""The result of a batch, the input of summary, JSON, metrics and history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

import msgspec

from ..ingest.findings import Code

MAX_LISTED = 200
"""Maximum number of listed events of a kind; further ones are only counted."""

KINDS = ("deferred", "quarantined", "rejected", "trouble", "failures")
"""Kinds of events; all but the first affect the exit status."""


class ExitStatus(IntEnum):
    """Exit statuses of a batch."""

    DONE = 0
    FAILED = 1
    WARNINGS = 3
    INVALID = 4
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Event:
    """An event: the file or step, a reason or other detail, and the code of an error."""

    what: str
    detail: str
    code: str | None = None


@dataclass(slots=True)
class SystemResult:
    """The dumps of a system that a batch landed.

    `last`: end of the last interval of all batches, seconds since 1970; `lag`: seconds from then
    to the end of the batch.
    """

    dumps: int = 0
    intervals: int = 0
    records: int = 0
    bytes: int = 0
    last: float | None = None
    lag: float | None = None


@dataclass(slots=True)
class BatchResult:
    """The result of a batch.

    Attributes:
        run: name of the batch. started, ended: UTC.
        landed: new dumps. known: files whose content had landed before.
        counts: number of events by kind, listed or not.
        deferred: incomplete files. quarantined: files that are not dumps, moved away.
        rejected: files that are not dumps and stay in the inbox.
        trouble: failures for the administrator. failures: bugs of cpmon.
        broken: failed rules of the validation. worst: the most severe exceptions.
        systems: by name.
        findings: code -> severity and count. exceptions, validation: severity -> count.
        days: number of changed days, over all systems. written: output files.
        removed: number and bytes of the files that retention removed.
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

    def note(self, kind: str, what: str, detail: str, code: str | None = None) -> None:
        """Count an event of a kind, and list it up to `MAX_LISTED`."""
        self.counts[kind] += 1
        events: list[Event] = getattr(self, kind)
        if len(events) < MAX_LISTED:
            events.append(Event(what, detail, code))

    def count(self, about: Mapping[str, Any]) -> None:
        """Count a landed dump, from its metadata in the store."""
        self.landed += 1
        part = self.system(about["system"])
        part.dumps += 1
        part.intervals += about["intervals"]
        part.records += sum(about["rows"].values())
        part.bytes += about["bytes"]["size"]
        for code, count in about["findings"].items():
            _, before = self.findings.get(code, ("", 0))
            self.findings[code] = Code[code].severity.value, before + count

    def system(self, name: str) -> SystemResult:
        """The result of a system, to be updated."""
        return self.systems.setdefault(name, SystemResult())

    def by_severity(self) -> dict[str, int]:
        """Number of findings by severity."""
        counts: Counter[str] = Counter()
        for severity, count in self.findings.values():
            counts[severity] += count
        return dict(counts)

    @property
    def did_something(self) -> bool:
        """Whether anything happened that deserves a summary."""
        done = (self.landed, self.known, self.written, self.removed[0], self.interrupted)
        return any(done) or any(self.counts[kind] for kind in KINDS[1:])

    @property
    def status(self) -> ExitStatus:
        """Exit status of the batch."""
        if self.interrupted:
            return ExitStatus.INTERRUPTED
        if self.counts["failures"]:
            return ExitStatus.FAILED
        if self.validation["critical"]:
            return ExitStatus.INVALID
        severities = {severity for severity, _ in self.findings.values()}
        severities |= (+self.exceptions).keys() | (+self.validation).keys()
        is_serious = severities & {"warning", "critical", "data_loss"}
        is_troubled = any(self.counts[kind] for kind in KINDS[1:])
        return ExitStatus.WARNINGS if is_troubled or is_serious else ExitStatus.DONE

    @property
    def seconds(self) -> float:
        """Duration."""
        return ((self.ended or datetime.now(UTC)) - self.started).total_seconds()

    def as_dict(self) -> dict[str, Any]:
        """The JSON document for `--format json` and `summary_json`."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        for part in document["systems"].values():
            part["last"] = part["last"] and _iso(datetime.fromtimestamp(part["last"], UTC))
        return {
            "schema_version": 1,
            **document,
            "started": _iso(self.started),
            "ended": self.ended and _iso(self.ended),
            "findings": {
                code: {"severity": severity, "count": count}
                for code, (severity, count) in sorted(self.findings.items())
            },
            "removed": dict(zip(("files", "bytes"), self.removed, strict=True)),
            "status": int(self.status),
            "ended_as": self.status.name.lower(),
            "seconds": round(self.seconds, 3),
            "findings_by_severity": self.by_severity(),
        }


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
