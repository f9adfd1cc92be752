"""A store validated: the rules that hold for it, what they count, and what the suite says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from ...config import Settings
from ...core.errors import CpmonError
from ...core.names import fold, nearest
from ...store import Store, connect
from ...store.sandbox.sandbox import Limits
from ..reductions.reductions import reductions
from ..rules.scope import coverage
from .counting import count, query
from .layout_rules import figure_rules, layout_rules
from .outcome import Validation, outcomes
from .rule import Rule, Scope
from .site_rules import with_site_rules
from .suite import judge, loading
from .written import WrittenCheck, written_rules


def load_rules(
    landed: Collection[str],
    settings: Settings | None = None,
    file: Path | None = None,
) -> tuple[Rule, ...]:
    """The rules for a store: from the layouts of its tables, the written ones, and a site's own.

    Args:
        landed: tables that have landed in it.
        file: one more file of rules, which wins over all others.

    Raises:
        CpmonError: a file cannot be read, or a rule is wrong: file, key, found, allowed.
    """
    shipped = (*layout_rules(landed), *figure_rules(landed), *written_rules())
    return with_site_rules(shipped, settings or Settings(), file)


def find_rule(rules: Sequence[Rule], name: str) -> Rule:
    """The rule of that name, in any case, with dashes or underscores.

    Raises:
        CpmonError: there is none; the nearest is suggested.
    """
    for rule in rules:
        if fold(rule.id) == fold(name):
            return rule
    like = nearest(name, [rule.id for rule in rules])
    raise CpmonError(
        f"there is no rule {name}",
        expected=f"one of the {len(rules)} that cpmon validate --list names",
        found=name,
        remedy=f"did you mean {like}?" if like else None,
    )


def validate(
    con: duckdb.DuckDBPyConnection,
    rules: Sequence[Rule],
    landed: set[str],
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
    with loading():
        counts = count(con, rules, scope, landed)
    success, document = judge(counts)
    return Validation(outcomes(counts, success), covered, document)


def validate_span(
    store: Store,
    scope: Scope,
    settings: Settings | None = None,
    limits: Limits | None = None,
) -> Validation:
    """What all rules find in a span of a system; it takes as long as the span is, not the store.

    Args:
        scope: what to look at; its system must be one of the store's.
        settings: have rules of the site.
        limits: what the queries may use.

    Raises:
        CpmonError: no interval in the scope, a rule is wrong, or its SQL fails.
    """
    return next(validate_spans(store, [scope], settings, limits))


def validate_spans(
    store: Store,
    scopes: Iterable[Scope],
    settings: Settings | None = None,
    limits: Limits | None = None,
) -> Iterator[Validation]:
    """The same of several spans, one behind the other, by one connection.

    Raises:
        CpmonError: as `validate_span`, when it gets there.
    """
    with connect(store, reductions(), limits) as con:
        for scope in scopes:
            con.point(scope)
            yield validate(con, load_rules(con.tables, settings), con.tables, scope)


def offending(
    con: duckdb.DuckDBPyConnection, rule: Rule, landed: set[str], scope: Scope
) -> pa.Table:
    """The rows of a scope that break a rule.

    Raises:
        CpmonError: the records that it needs have not landed, or its SQL fails.
    """
    missing = sorted(set(rule.needs) - landed)
    if missing:
        raise CpmonError(
            f"rule {rule.id} has nothing to look at",
            expected=f"records {', '.join(name.upper() for name in rule.needs)}",
            found=f"none of {', '.join(name.upper() for name in missing)}",
        )
    check = rule.check.guarded(con) if isinstance(rule.check, WrittenCheck) else rule.check
    return query(con, rule, check.rows(scope))
