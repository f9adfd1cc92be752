"""What a validation found: a line for each rule, and the worst of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from ..rules.scope import Coverage
from .rule import Rule, Severity

VERSION = 1
"""Of the result document."""


class Status(StrEnum):
    """What became of a rule."""

    FAILED = "failed"
    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one rule.

    Attributes:
        checked: rows or figures that were looked at. bad: those that break the rule.
        reason: why there was nothing to look at; empty if there was.
        holds: whether its expectation was met; None before it was judged.
    """

    rule: Rule
    checked: int
    bad: int
    reason: str = ""
    holds: bool | None = None

    @property
    def status(self) -> Status:
        """What became of it: nothing looked at is not passed."""
        if self.reason:
            return Status.NOT_APPLICABLE
        return Status.PASSED if self.holds else Status.FAILED

    def row(self) -> dict[str, Any]:
        """As a line of a table."""
        return {
            "rule": self.rule.id,
            "severity": str(self.rule.severity),
            "status": str(self.status),
            "checked": self.checked,
            "bad": self.bad,
            "title": self.rule.title,
            "reason": self.reason or None,
        }


@dataclass(frozen=True, slots=True)
class Validation:
    """What the rules found in a scope.

    Attributes:
        outcomes: one a rule: what failed first, the gravest before others.
        coverage: the intervals that were looked at.
        suite: the result as Great Expectations writes it; empty if no rule applied.
    """

    outcomes: tuple[Outcome, ...]
    coverage: Coverage
    suite: dict[str, Any]

    def of(self, status: Status) -> tuple[Outcome, ...]:
        """The rules that ended so."""
        return tuple(outcome for outcome in self.outcomes if outcome.status is status)

    @property
    def worst(self) -> Severity | None:
        """The gravest severity of a rule that failed, or None."""
        failed = (outcome.rule.severity for outcome in self.of(Status.FAILED))
        return max(failed, key=lambda severity: severity.rank, default=None)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema_version": VERSION,
            "system": self.coverage.scope.system,
            "run": self.coverage.run_id,
            "first_interval": _iso(self.coverage.first),
            "last_interval": _iso(self.coverage.last),
            "intervals": self.coverage.intervals,
            "worst": str(self.worst) if self.worst else None,
            "counts": {str(status): len(self.of(status)) for status in Status},
            "rules": [outcome.row() for outcome in self.outcomes],
            "great_expectations": self.suite,
        }


def outcomes(counted: Iterable[Outcome], success: Mapping[str, bool]) -> tuple[Outcome, ...]:
    """What became of the rules: failed ones first, by severity, then by name.

    Args:
        success: rule id -> whether its expectation was met.
    """
    judged = [replace(outcome, holds=success.get(outcome.rule.id)) for outcome in counted]
    statuses = list(Status)
    return tuple(
        sorted(judged, key=lambda o: (statuses.index(o.status), -o.rule.severity.rank, o.rule.id))
    )


def _iso(time: datetime | None) -> str | None:
    return f"{time.isoformat(timespec='microseconds')}Z" if time else None
