"""Validation: whether what landed is what it says it is, by rules from layouts and by SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

from ...config import Settings
from ...store import Store, connect
from ...store.sandbox.sandbox import Limits
from ...store.scope import Scope
from ..reductions.reductions import reductions
from .counts import Outcome, Status, count
from .rule import Purpose, Rule, Severity, load_rules, worst
from .scope import Coverage, coverage

VERSION = 2
"""Of the result document."""
COLUMNS = ("rule", "severity", "status", "checked", "bad", "title", "reason")
SCHEMA = pa.schema([(n, pa.int64() if n in ("checked", "bad") else pa.string()) for n in COLUMNS])
"""A rule a row: `status` is failed, passed or not applicable, `reason` says why it is the last."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What the rules found in a scope.

    Attributes:
        outcomes: one a rule: what failed first, the gravest before others.
        coverage: the intervals that were looked at.
    """

    outcomes: tuple[Outcome, ...]
    coverage: Coverage

    def of(self, status: Status) -> tuple[Outcome, ...]:
        """The rules that ended so."""
        return tuple(outcome for outcome in self.outcomes if outcome.status is status)

    @property
    def table(self) -> pa.Table:
        """The outcomes as `SCHEMA`."""
        return pa.Table.from_pylist([o.row() for o in self.outcomes], schema=SCHEMA)

    @property
    def worst(self) -> Severity | None:
        """The gravest severity of a rule that failed, or None."""
        return worst(outcome.rule.severity for outcome in self.of(Status.FAILED))

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
        }


def validate(
    con: duckdb.DuckDBPyConnection,
    rules: Sequence[Rule],
    landed: Collection[str],
    scope: Scope,
    run: str | None = None,
) -> Validation:
    """What rules find in a store.

    Args:
        con: a connection to its catalogue.
        rules: those to look at, as `load_rules` has them. landed: tables that have landed in it.
        scope: what to look at, as `scope_of` makes it of names.
        run: the run that named it.

    Raises:
        CpmonError: no interval in the scope, or SQL of a rule that fails.
    """
    covered = coverage(con, scope, run)
    return Validation(outcomes(count(con, rules, scope, landed)), covered)


def validate_spans(
    store: Store,
    scopes: Iterable[Scope],
    settings: Settings | None = None,
    limits: Limits | None = None,
) -> Iterator[Validation]:
    """What all rules find in each of some spans; it takes as long as they are, not the store.

    Args:
        scopes: what to look at; their systems must be ones of the store.
        settings: have rules of the site.
        limits: what the queries may use.

    Raises:
        CpmonError: no interval in a scope, a rule is wrong, or its SQL fails, when it gets there.
    """
    with connect(store, reductions(), limits) as con:
        for scope in scopes:
            con.point(scope)
            rules = load_rules(Purpose.VALIDATION, settings, landed=con.tables)
            yield validate(con, rules, con.tables, scope)


def outcomes(counted: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """What became of the rules: failed ones first, by severity, then by name."""
    statuses = list(Status)
    return tuple(
        sorted(counted, key=lambda o: (statuses.index(o.status), -o.rule.severity.rank, o.rule.id))
    )


def _iso(time: datetime | None) -> str | None:
    return f"{time.isoformat(timespec='microseconds')}Z" if time else None
