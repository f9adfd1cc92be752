"""Exceptions: episodes in which a figure was beyond the limit of a rule, and what was not known.

Rules are data (`shipped.toml`, the settings of a site, a file); this module queries a store by each
of them. A rule looks at what it needs before the scope, and an episode that began earlier has its
own begin. Figures that are missing are no exceptions, and are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ...config import Settings
from ...config.shifts import Shift
from ...core.errors import CpmonError
from ...core.names import unknown
from ...store.catalogue.connection import point, run_restricted
from ...store.sandbox.guard import guarded
from ...store.scope import Scope
from ..metrics.report_shape import TIME
from ..reports.report_sql import shift_condition
from .rule import Rule, Severity, load_rules
from .rule_records import LookBack, first_look, in_turn
from .rule_sql import SQL_NEEDS, episodes_sql, values_of_sql, values_sql
from .scope import Coverage, coverage, scope_of

SCHEMA = pa.schema(
    {
        **dict.fromkeys(("severity", "rule", "area", "title", "system", "object"), pa.string()),
        **dict.fromkeys(("first_interval", "last_interval"), pa.timestamp("us")),
        "intervals": pa.int64(),
        **dict.fromkeys(("minutes", "value"), pa.float64()),
        "worst_interval": pa.timestamp("us"),
        "comparison": pa.string(),
        "limit": pa.float64(),
        **dict.fromkeys(("unit", "dump"), pa.string()),
        "record_offset": pa.int64(),
    }
)
"""An episode a row, as a whole if it began before the scope. `value` is the worst of it, in `unit`,
met at the end of `worst_interval`; `dump` and `record_offset` are the place of the record that it
comes from, NULL where a rule has no such record. Interval ends are UTC. `limit` is NULL where
meeting the rule needs none."""
LONGER = timedelta(hours=8), timedelta(days=2), timedelta(days=7)
"""How far back the begin of an episode is looked for, one after the other."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """A rule that had no value of a system in `missing` of its `measured` intervals."""

    rule: Rule
    system: str
    missing: int
    measured: int


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A figure that was beyond the limit of a rule for some minutes, or for more than is known."""

    rule: Rule
    system: str
    object: str
    first: datetime
    last: datetime
    minutes: float


@dataclass(frozen=True, slots=True)
class _Search:
    """The result of one rule: episodes as `SCHEMA`, and what it could look at."""

    episodes: pa.Table
    seen: frozenset[str]
    lacking: tuple[Lacking, ...]
    unjudged: tuple[Unjudged, ...]


@dataclass(frozen=True, slots=True)
class Exceptions:
    """What the rules found in a scope.

    Attributes:
        table: episodes as `SCHEMA`: the worst severity first, then by time.
        rules: those that were looked at.
        unseen: those that had no value to look at, with the systems whose records are missing.
        lacking: rules that had no value in some intervals of a system.
        unjudged: figures beyond the limit of a rule for less time than it asks for, next to
            intervals of which nothing is known: they may or may not be exceptions.
        coverage: the intervals that were looked at.
    """

    table: pa.Table
    rules: tuple[Rule, ...]
    unseen: tuple[tuple[Rule, tuple[str, ...]], ...]
    lacking: tuple[Lacking, ...]
    unjudged: tuple[Unjudged, ...]
    coverage: Coverage

    @property
    def earlier(self) -> int:
        """How many episodes began before the scope."""
        since = self.coverage.scope.since
        first = self.table.column("first_interval")
        return int(pc.sum(pc.less_equal(first, pa.scalar(since, first.type))).as_py() or 0)

    @property
    def worst(self) -> Severity | None:
        """The gravest severity met, or None."""
        severities = set(self.table.column("severity").unique().to_pylist())
        return max(map(Severity, severities), key=lambda severity: severity.rank, default=None)


def exceptions(
    con: duckdb.DuckDBPyConnection,
    rules: Sequence[Rule] | None = None,
    *,
    run: str | None = None,
    system: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    severity: Severity = Severity.INFO,
    settings: Settings | None = None,
) -> Exceptions:
    """The exceptions of a store.

    Args:
        con: a connection on which the reductions are views; one to a store is left pointed at the
            scope.
        rules: what to look for; by default the shipped ones and those of the settings.
        run: limits to the system and window of a run.
        system: limits to one; all systems otherwise.
        since, until: limits to intervals that end behind `since` and not behind `until`;
            times without zone are UTC.
        severity: rules below it are not looked at.
        settings: has the shifts that rules name.

    Raises:
        CpmonError: an unknown name, SQL of a rule that fails, or no interval in the scope.
    """
    site = settings or Settings()
    loaded = load_rules(site) if rules is None else rules
    selected = tuple(rule for rule in loaded if rule.severity.rank >= severity.rank)
    scope = scope_of(con, run, system, since, until)
    point(con, scope)
    covered = coverage(con, scope, run)
    shifts = {rule.id: _shift(rule, site) for rule in selected}
    by_rule: dict[str, _Search] = {}
    for rule, look_back in in_turn(con, selected, scope):
        by_rule[rule.id] = _episodes(con, rule, scope, shifts[rule.id], look_back)
    searches = [by_rule[rule.id] for rule in selected]
    systems = _systems(con, scope.condition())
    missing = [tuple(name for name in systems if name not in s.seen) for s in searches]
    pairs = zip(selected, missing, strict=True)
    return Exceptions(
        _sorted(pa.concat_tables([SCHEMA.empty_table(), *(s.episodes for s in searches)])),
        selected,
        # Where every row is an exception, no row is good news.
        tuple((rule, names) for rule, names in pairs if names and rule.limit is not None),
        tuple(lacking for search in searches for lacking in search.lacking),
        tuple(unjudged for search in searches for unjudged in search.unjudged),
        covered,
    )


def _systems(con: duckdb.DuckDBPyConnection, condition: str = "true") -> list[str]:
    """The systems that have an interval."""
    sql = f"SELECT DISTINCT system FROM meta.interval WHERE {condition} ORDER BY system"
    return [str(name) for (name,) in con.execute(sql).fetchall()]


def _shift(rule: Rule, settings: Settings) -> Shift | None:
    return settings.shift(rule.shift, rule.place("shift")) if rule.shift else None


def _episodes(
    con: duckdb.DuckDBPyConnection,
    rule: Rule,
    scope: Scope,
    shift: Shift | None,
    look_back: LookBack,
) -> _Search:
    """What a rule finds in a scope; the begin of what lasted then already is looked for."""
    of_shift, values = shift_condition(shift, TIME) if shift else ("true", [])
    try:
        every = _values_of_sql(con, rule) if rule.sql else values_sql(rule)
        start = first_look(rule, scope)
        for longer in (*LONGER, None):
            sql = episodes_sql(rule, every, scope, start, of_shift)
            rows = run_restricted(con, sql, partial(_arrow, con, sql, values))
            is_cut = rule.limit is not None and pc.any(rows.column("cut")).as_py()
            if longer is None or scope.since is None or not is_cut:
                break
            start = scope.since - longer
            look_back(start)
    except duckdb.Error as error:
        key = "sql" if rule.sql else "reduction"
        raise _failed(rule, key, str(error).partition("\n\nLINE")[0]) from None
    systems = frozenset(rows.column("seen")[0].as_py() or ())
    lacking = rows.column("lacking")[0].as_py() or ()
    rows = rows.filter(rows.column("system").is_valid())
    short = rows.filter(pc.invert(rows.column("judged")))
    of_objects = ("system", "object", "first_interval", "last_interval", "minutes")
    return _Search(
        _table(rule, rows.filter(rows.column("judged"))),
        systems,
        # SQL may well yield a value now and then.
        tuple(
            Lacking(rule, **part)
            for part in lacking
            if rule.reduction and part["system"] in systems
        ),
        tuple(Unjudged(rule, *line.values()) for line in short.select(of_objects).to_pylist()),
    )


def _arrow(con: duckdb.DuckDBPyConnection, sql: str, values: list[Any]) -> pa.Table:
    return con.sql(sql, params=values).to_arrow_table()


def _table(rule: Rule, met: pa.Table) -> pa.Table:
    """Episodes as `SCHEMA`."""
    constant = {
        "severity": str(rule.severity),
        "rule": rule.id,
        "area": rule.area,
        "title": rule.title,
        "comparison": str(rule.comparison) if rule.limit is not None else None,
        "limit": rule.limit,
        "unit": rule.unit,
    }
    return pa.table(
        [
            pa.repeat(pa.scalar(constant[f.name], f.type), met.num_rows)
            if f.name in constant
            else met.column(f.name).cast(f.type)
            for f in SCHEMA
        ],
        schema=SCHEMA,
    )


def _values_of_sql(con: duckdb.DuckDBPyConnection, rule: Rule) -> str:
    """SELECT of the values that the SQL of a rule yields.

    Without a column `system` they are of the only system of the store.

    Raises:
        CpmonError: it is no single query that only reads, or a column is missing.
    """
    try:
        sql = guarded(con, rule.sql, explain=False)
    except CpmonError as error:
        raise _failed(rule, "sql", f"{error.problem}; found {error.found}") from None
    columns = run_restricted(con, sql, lambda: con.sql(f"SELECT * FROM ({sql}) LIMIT 0").columns)
    for needed in SQL_NEEDS:
        if needed not in columns:
            raise unknown("column", needed, columns, place=rule.place("sql"))
    systems = [] if "system" in columns else _systems(con)
    if len(systems) > 1:
        raise rule.wrong(
            "sql",
            "a column system beside interval_end, object and value",
            "none, and several systems in the store",
            "the SQL of a rule does not say which system a value is of",
        )
    return values_of_sql(sql, rule.scale, columns, "".join(systems))


def _failed(rule: Rule, key: str, found: str) -> CpmonError:
    return CpmonError(
        f"rule {rule.id} cannot be looked at",
        place=rule.place(key),
        expected=f"a SELECT of {', '.join(SQL_NEEDS)}" if rule.sql else None,
        found=found,
        effect="no rule was looked at any further",
        remedy=f"correct it, or switch it off: enabled = false in [exceptions.{rule.id}]",
    )


def _sorted(table: pa.Table) -> pa.Table:
    """The worst severity first, then by time."""
    severities = pa.array([str(severity) for severity in Severity])
    ranked = table.append_column("rank", pc.index_in(table.column("severity"), severities))
    order = [("rank", "descending"), ("first_interval", "ascending")]
    order += [(key, "ascending") for key in ("rule", "system", "object")]
    return ranked.sort_by(order).drop_columns(["rank"])
