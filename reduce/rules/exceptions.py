"""Exceptions: episodes in which a value exceeded the limit of a rule, and values that are missing.

Each rule is one query. It also reads the intervals before the scope that it needs, and an episode
that began earlier keeps its begin. Missing values are not exceptions; they are listed.

Values beyond the limit in intervals that follow each other directly make one episode: their
numbers among all intervals less their numbers among those beyond the limit are equal.

A reduction by time depends only on its span and the interval before, and so do the shipped rules:
they read only these records. The SQL of a site may look back as far as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from string import Template

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ...config import Settings
from ...config.moments import Shift
from ...core.errors import unknown
from ...core.sql import name, text
from ...store.connection import Connection, point
from ...store.results.lineage import lineages
from ...store.sql.interval import lower_bounds
from ...store.sql.scope import ALL, Scope
from ..metrics.metric import TIME
from ..metrics.views import DOUBTS
from ..reductions.reductions import reduction, reductions
from ..reports.report_sql import shift_condition
from ..reports.report_text import ColourLimit
from .coverage import Coverage, coverage, scope_of
from .rule import KEY, Comparison, Purpose, Rule, Severity, load_rules, worst

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
"""One row for each episode, complete even if it began before the scope. `value` is its worst value,
in `unit`, at the end of `worst_interval`; `dump` and `record_offset` locate the record that it
comes from, NULL if a rule has no such record. Interval ends are UTC. `limit` is NULL if the rule
has no limit."""
EPISODES = Template((files(__package__) / "episodes.sql").read_text(encoding="utf-8"))
PRINTED = (
    "CASE WHEN abs(value) >= 10 THEN round(value, 1) WHEN abs(value) >= 1 THEN round(value, 2)"
    " ELSE value END"
)
"""SQL: a value as it is printed beside its limit (`rendering._number`)."""
ENOUGH = 0.99
"""Share of a rule's minutes that suffices, because no interval is exactly a minute."""
LONGER = timedelta(hours=8), timedelta(days=2), timedelta(days=7)
"""Successive look-back lengths in the search for the begin of an episode."""
LookBack = Callable[[datetime], None]
"""Extends the visible records to an earlier time."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """A rule that had no value of a system in `missing` of its `measured` intervals."""

    rule: Rule
    system: str
    missing: int
    measured: int


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A value beyond the limit of a rule for some known minutes, possibly for longer."""

    rule: Rule
    system: str
    object: str
    first: datetime
    last: datetime
    minutes: float


@dataclass(frozen=True, slots=True)
class _Search:
    """The result of one rule: episodes as `SCHEMA`, and the systems that it could evaluate."""

    episodes: pa.Table
    seen: frozenset[str]
    lacking: tuple[Lacking, ...]
    unjudged: tuple[Unjudged, ...]


@dataclass(frozen=True, slots=True)
class Exceptions:
    """The results of the rules in a scope.

    Attributes:
        table: episodes as `SCHEMA`: the worst severity first, then by time.
        rules: those that were evaluated.
        unseen: those without any value, with the systems whose records are missing.
        lacking: rules that had no value in some intervals of a system.
        unjudged: values beyond the limit of a rule for less time than it requires, next to
            intervals without values: they may or may not be exceptions.
    """

    table: pa.Table
    rules: tuple[Rule, ...]
    unseen: tuple[tuple[Rule, tuple[str, ...]], ...]
    lacking: tuple[Lacking, ...]
    unjudged: tuple[Unjudged, ...]
    coverage: Coverage

    @property
    def earlier(self) -> int:
        """The number of episodes that began before the scope."""
        since = self.coverage.scope.since
        first = self.table.column("first_interval")
        return int(pc.sum(pc.less_equal(first, pa.scalar(since, first.type))).as_py() or 0)

    @property
    def worst(self) -> Severity | None:
        """The highest severity, or None."""
        return worst(self.table.column("severity").unique().to_pylist())


COLOURS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def thresholds(settings: Settings) -> list[ColourLimit]:
    """The limits of rules about a metric, the gravest first: values beyond them are coloured.

    Rules for the hours of a shift and rules with `per` are left out.

    Raises:
        CpmonError: a rule of the settings is wrong.
    """
    rules = load_rules(Purpose.EXCEPTIONS, settings)
    return [
        ColourLimit(
            rule.reduction,
            rule.metric,
            float(rule.scale),
            float(rule.limit),
            rule.comparison is Comparison.ABOVE,
            COLOURS[rule.severity],
            {column: float(least) for column, least in rule.least.items()},
        )
        for rule in sorted(rules, key=lambda rule: rule.severity.rank, reverse=True)
        if rule.limit is not None and rule.reduction and not (rule.per or rule.shift)
    ]


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
        run, system: limit to the system and window of a run, or to one system.
        since, until: limits to intervals that end behind `since` and not behind `until`; times
            without zone are UTC.
        severity: rules below it are not looked at.

    Raises:
        CpmonError: an unknown name, SQL of a rule that fails, or no interval in the scope.
    """
    site = settings or Settings()
    loaded = load_rules(Purpose.EXCEPTIONS, site) if rules is None else rules
    selected = tuple(rule for rule in loaded if rule.severity.rank >= severity.rank)
    scope = scope_of(con, run, system, since, until)
    point(con, scope)
    covered = coverage(con, scope, run)
    shifts = {r.id: site.shift(r.shift, r.place("shift")) for r in selected if r.shift}
    by_rule: dict[str, _Search] = {}
    for rule, look_back in _in_turn(con, selected, scope):
        by_rule[rule.id] = _episodes(con, rule, scope, shifts.get(rule.id), look_back)
    searches = [by_rule[rule.id] for rule in selected]
    systems = _systems(con, scope.condition())
    missing = [tuple(name for name in systems if name not in s.seen) for s in searches]
    pairs = zip(selected, missing, strict=True)
    table = pa.concat_tables([SCHEMA.empty_table(), *(s.episodes for s in searches)])
    severities = pa.array([str(severity) for severity in Severity])
    ranked = table.append_column("rank", pc.index_in(table.column("severity"), severities))
    order = [("rank", "descending"), ("first_interval", "ascending")]
    order += [(key, "ascending") for key in ("rule", "system", "object")]
    return Exceptions(
        ranked.sort_by(order).drop_columns(["rank"]),
        selected,
        # Where every row is an exception, no row is good news.
        tuple((rule, names) for rule, names in pairs if names and rule.limit is not None),
        tuple(lacking for search in searches for lacking in search.lacking),
        tuple(unjudged for search in searches for unjudged in search.unjudged),
        covered,
    )


def _systems(con: duckdb.DuckDBPyConnection, condition: str = "true") -> list[str]:
    sql = f"SELECT DISTINCT system FROM meta.interval WHERE {condition} ORDER BY system"
    return [str(name) for (name,) in con.execute(sql).fetchall()]


def _episodes(
    con: duckdb.DuckDBPyConnection,
    rule: Rule,
    scope: Scope,
    shift: Shift | None,
    look_back: LookBack,
) -> _Search:
    """The result of a rule in a scope; searches for the begin of episodes that began earlier."""
    of_shift, values = shift_condition(shift, TIME) if shift else ("true", [])
    every = _values_of_sql(con, rule) if rule.sql else _values_of_reduction(rule)
    start = _first_look(rule, scope)
    for longer in (*LONGER, None):
        rows = rule.query(con, _episodes_sql(rule, every, scope, start, of_shift), values)
        is_cut = rule.limit is not None and pc.any(rows.column("cut")).as_py()
        if longer is None or scope.since is None or not is_cut:
            break
        start = scope.since - longer
        look_back(start)
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


def _table(rule: Rule, met: pa.Table) -> pa.Table:
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
    """SELECT of the values of a rule with SQL, with the columns of `_values_of_reduction`.

    Without a column `system` they are of the only system of the store.
    """
    sql = rule.guarded_sql(con)
    columns = [*rule.purpose.columns, "system", "dump", "record_offset"]
    if not rule.is_shipped:  # DuckDB plans the SQL for that; a shipped rule has all of them
        columns = rule.query(con, f"SELECT * FROM ({sql}) LIMIT 0").column_names
    for needed in rule.purpose.columns:
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
    defaults = {"system": text("".join(systems)), "dump": "NULL", "record_offset": "NULL"}
    shown = [n if n in columns else f"{default} AS {n}" for n, default in defaults.items()]
    return (
        f"SELECT {', '.join(shown)}, interval_end, CAST(object AS VARCHAR) AS object,"
        f" CAST(value AS DOUBLE) * {rule.scale!r} AS value, true AS enough FROM ({sql})"
    )


def _values_of_reduction(rule: Rule) -> str:
    """SELECT of all values of a rule: system, interval_end, object, value, dump, record_offset, ...

    Keys of the record come behind as k0, k1, in the order of `record_keys`; `enough` is false
    where the interval has less than the rule's `least`. A lower bound is no value.
    """
    columns = [column.name for column in reduction(rule.reduction).columns]
    bound = [f"coalesce(contains(doubts, {text(doubt)}), false)" for doubt in lower_bounds()]
    is_known = f"NOT ({' OR '.join(bound)})" if DOUBTS in columns else "true"
    divisor = f" / nullif({name(rule.per)}, 0)" if rule.per else ""
    keys = "".join(f", {name(c)} AS k{n}" for n, c in enumerate(rule.record_keys.values()))
    enough = " AND ".join(f"{name(c)} >= {value!r}" for c, value in rule.least.items())
    return (
        "SELECT system, NULL AS dump, NULL AS record_offset, interval_end,"
        f" {_object(rule)} AS object,"
        f" CASE WHEN {is_known} THEN CAST({name(rule.metric)} AS DOUBLE){divisor} * {rule.scale!r}"
        f" END AS value{keys}, coalesce({enough or 'true'}, false) AS enough"
        f" FROM {name(rule.reduction)}"
    )


def _episodes_sql(rule: Rule, values: str, scope: Scope, start: datetime | None, shift: str) -> str:
    """SELECT of the evaluated systems, joined with the episodes that end in a scope.

    `seen` lists the systems that had values, `lacking` those of which some intervals of the scope
    had none. An episode that is shorter than the rule asks for, but borders on intervals of which
    nothing is known, is not `judged`; one that may have begun before `start` is `cut`.
    """
    beyond = (
        f"{PRINTED} {rule.comparison.sign} {rule.limit!r}" if rule.limit is not None else "true"
    )
    direction = "value" if rule.comparison is Comparison.BELOW else "value DESC"
    order = f"ORDER BY {direction}, {TIME}, dump, record_offset"
    keys = [f"k{n}" for n in range(len(rule.record_keys))]
    first = "".join(f", first({key} {order}) AS {key}" for key in keys)
    since = Scope(None, scope.since)
    return EPISODES.substitute(
        values=values,
        in_scope=Scope(scope.system, start, scope.until).condition(),
        worst_first=order,
        keys=first,
        beyond=beyond,
        shift=shift,
        least=repr(rule.for_minutes * 60 * ENOUGH),
        start="NULL" if start is None else f"TIMESTAMP '{start}'",
        ends_in_scope=since.condition(f"max({TIME})"),
        behind_begin=since.condition(),
        placed=_placed(rule, keys),
    )


def _object(rule: Rule) -> str:
    parts, at = [], 0
    for match in KEY.finditer(rule.object_name):
        column = name(match[1])
        shown = f"printf('%04X', CAST({column} AS BIGINT))" if match[2] else column
        parts += [text(rule.object_name[at : match.start()]), shown]
        at = match.end()
    # A key without a value leaves its place empty, as concat does.
    return f"trim(concat({', '.join([*parts, text(rule.object_name[at:])])}))"


def _placed(rule: Rule, keys: list[str]) -> str:
    """SELECT of episodes, and dump and offset of the record behind the worst value of each."""
    if not rule.record:
        return (
            "SELECT 0 AS id, CAST(NULL AS STRUCT(dump VARCHAR, record_offset BIGINT)) AS place"
            " WHERE false"
        )
    columns = zip(rule.record_keys, keys, strict=True)
    same = "".join(f" AND r.{name(column)} = e.{key}" for column, key in columns)
    return (
        "SELECT e.id, min({'dump': r.dump, 'record_offset': r.record_offset}) AS place"
        f" FROM episode AS e JOIN monitor.{name(rule.record)} AS r"
        f" ON r.system = e.system AND r.{TIME} = e.worst_interval{same} GROUP BY e.id"
    )


def _in_turn(
    con: duckdb.DuckDBPyConnection, rules: Sequence[Rule], scope: Scope
) -> Iterator[tuple[Rule, LookBack]]:
    """All rules, those that look at all records first; each may be asked when it comes.

    `con` shows all records for the first ones, and then the scope and what the others look at
    before it.
    """
    if not isinstance(con, Connection) or scope.since is None or scope.until is None:
        yield from ((rule, lambda _: None) for rule in rules)
        return
    by_time = {lineage.name for lineage in lineages(reductions()) if lineage.by_time}
    # The values of these rest on records of the scope and of the interval before.
    near = [r for r in rules if (r.is_shipped if r.sql else r.reduction in by_time)]
    if len(near) < len(rules):
        con.point(ALL)
        yield from ((rule, lambda _: None) for rule in rules if rule not in near)
    shown = min(
        (start for rule in near if (start := _first_look(rule, scope))), default=scope.since
    )
    con.point(Scope(scope.system, shown, scope.until))

    def look_back(start: datetime) -> None:
        nonlocal shown
        if start < shown:
            shown = start
            con.point(Scope(scope.system, shown, scope.until))

    yield from ((rule, look_back) for rule in near)


def _first_look(rule: Rule, scope: Scope) -> datetime | None:
    """From when on a rule looks at first: it may need minutes before the scope."""
    if scope.since is None or rule.limit is None:
        return scope.since
    return scope.since - timedelta(minutes=rule.for_minutes)
