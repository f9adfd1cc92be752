"""A rule of validation: what must hold, how bad it is if it does not, and the SQL that tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...store.views.views import text
from ..rules.rule import Severity
from ..rules.rule_sql import Scope

__all__ = ["Check", "Rule", "Scope", "Severity", "within"]


class Check(Protocol):
    """How a rule is looked at in a store."""

    def rows(self, scope: Scope) -> str:
        """SELECT of the rows of a scope that break the rule."""
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        id: its name.
        title: what must hold, in one sentence.
        severity: how bad it is if it does not.
        meaning: what it rests on, and what a break of it says.
        remedy: what to do then.
        needs: tables that must have landed; without one of them nothing can be said.
        check: how it is looked at.
        place: where it was written.
    """

    id: str
    title: str
    severity: Severity
    meaning: str
    remedy: str
    needs: tuple[str, ...]
    check: Check
    place: str = "shipped rules"


def within(scope: Scope, time: str, alias: str = "") -> str:
    """The condition on rows of a scope as SQL, written out.

    Args:
        time: the column with their time, UTC. alias: of the relation, with its point.
    """
    parts = []
    if scope.system is not None:
        parts.append(f"{alias}system = {text(scope.system)}")
    if scope.since is not None:
        parts.append(f"{alias}{time} > TIMESTAMP '{scope.since}'")
    if scope.until is not None:
        parts.append(f"{alias}{time} <= TIMESTAMP '{scope.until}'")
    return " AND ".join(parts) or "true"
