"""A rule of validation: what must hold, how bad it is if it does not, and the SQL that tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...store.scope import Scope
from ..rules.rule import Severity

__all__ = ["Check", "Rule", "Scope", "Severity"]


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
