"""The views over landed tables, by name: schemas `monitor`, `interval` and `meta`.

Schema `meta` has what is in the store, when it was sampled, and what is wrong with it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from importlib.resources import files
from string import Template

from ...core.sql import exact, name, text
from ...schemas.arrow import FINDING, INTERVAL, schemas
from ...schemas.layout import Kind
from ...schemas.registry import fingerprint, record_of, tables
from ..columns import COLUMNS, Columns, docs
from ..runs.classes import FILE, OTHER
from ..runs.companions import TABLES
from .interval import interval_view, relations_of
from .views import LANDED, PLACE, Documented, describe, landed_rows, monitor_view

INTERVALS = "meta.interval"


def landed_view(relation: str) -> Documented:
    """The view of that name: `monitor.X`, `interval.X` or `meta.X`.

    Raises:
        KeyError: there is none.
    """
    return _landed_view(relation, fingerprint())


def landed_views() -> Iterator[Documented]:
    """All of them, each behind those that it reads; `interval` has the tables of samples."""
    yield from meta_views()
    for table in schemas():
        yield landed_view(f"monitor.{table}")
    yield from (landed_view(f"interval.{table}") for table in _sampled())


def is_landed(relation: str) -> bool:
    """Whether there is a view of that name."""
    return relation in _names(fingerprint())


def views_below(relation: str) -> tuple[str, ...]:
    """The views that one of these views reads."""
    schema, _, table = relation.partition(".")
    return (*relations_of(tables()[table]), INTERVALS) if schema == "interval" else ()


def macros() -> str:
    """The statements that create the macros of deltas and times."""
    return (files(__package__) / "sql" / "deltas.sql").read_text(encoding="utf-8")


def definitions(relations: Iterable[str]) -> list[str]:
    """The SQL of some views and of all that they read."""
    order: dict[str, None] = {}
    for relation in relations:
        order |= dict.fromkeys([relation, *views_below(relation)])
    return [macros(), *(landed_view(relation).select for relation in sorted(order))]


@functools.lru_cache(maxsize=1024)
def _landed_view(relation: str, _fingerprint: str) -> Documented:
    schema, _, table = relation.partition(".")
    match schema:
        case "interval":
            return interval_view(tables()[table])
        case "monitor":
            return monitor_view(table, schemas()[table], landed_rows(table))
    views = {view.name: view for view in meta_views()}
    return views[relation]


@functools.lru_cache(maxsize=2)
def _names(_fingerprint: str) -> frozenset[str]:
    meta = {view.name for view in meta_views()}
    landed = {f"{schema}.{table}" for table in schemas() for schema in ("monitor", LANDED)}
    return frozenset(meta | landed | {f"interval.{table}" for table in _sampled()})


def _sampled() -> Iterator[str]:
    """The tables that have deltas."""
    for table, layout in tables().items():
        if record_of(layout).kind is Kind.SAMPLE and layout.columns:
            yield table


GAP = 1.5
"""An interval this many times as long as it should be hides a missing one."""
SLACK_S, SLACK_SHARE = 1.0, 0.05
"""An interval that is longer or shorter by less than so many seconds, and than such a share of its
length, is one that CP sampled late."""

USERIDS = {
    **dict.fromkeys(("useact", "useint", "uselon", "uselof", "mtrusr"), "vmduser"),
    "aplsdt": "userid",
}
"""Tables that tell which users there are -> the column that does."""


def meta_views() -> list[Documented]:
    """The views of schema `meta`."""
    findings = ", ".join([*PLACE, *FINDING.names])
    return [
        Documented(
            "meta.dump",
            f"SELECT {_columns('dump')} FROM {landed_rows('dump.json')}",
            "Every dump.",
            docs("dump"),
        ),
        Documented(
            "meta.interval",
            _interval(landed_rows("interval")),
            "Intervals, in order.",
            PLACE | {f.name: describe(f) for f in INTERVAL} | docs("interval"),
        ),
        Documented(
            "meta.finding",
            f"SELECT {findings} FROM {landed_rows('finding')}",
            "What is wrong with the dumps, located.",
            PLACE | {f.name: describe(f) for f in FINDING},
        ),
        _runs(),
        _user_class(),
        *map(_companions, TABLES),
    ]


def run_columns() -> Columns:
    """The columns that a run's file is read as: what was said about it, and its companions."""
    columns = COLUMNS["run"] | COLUMNS["steady"]
    for kind, fields in TABLES.items():
        inside = ", ".join(f"{name(n)} {t}" for n, (t, _) in fields.items() if n != "run_id")
        columns[kind] = (f"STRUCT({inside})[]", f"Companion figures: {kind}.")
    return columns


def _interval(source: str) -> str:
    """The SELECT of `meta.interval` over the rows of a relation."""
    sql = (files(__package__) / "sql" / "intervals.sql").read_text(encoding="utf-8")
    return Template(sql).substitute(
        rows=source,
        seconds=exact("(end_us - lag(end_us) OVER in_time) / 1e6"),
        gap=GAP,
        slack_s=SLACK_S,
        slack_share=SLACK_SHARE,
    )


def _runs() -> Documented:
    """The runs as stored, and some of their attributes as columns."""
    columns = [f"coalesce({n}, {n.removeprefix('steady_')}) AS {n}" for n in COLUMNS["steady"]]
    columns += [
        f"TRY_CAST(attributes[{text(n)}] AS {kind}) AS {n}"
        for n, (kind, _) in COLUMNS["attributes"].items()
    ]
    select = f"SELECT {_columns('run')}, {', '.join(columns)} FROM {landed_rows('run.json')}"
    documented = docs("run") | docs("steady") | docs("attributes")
    return Documented("meta.run", select, "Every run.", documented)


def _user_class() -> Documented:
    """Every user with its class: that of the first rule which matches."""
    users = " UNION ".join(
        f"SELECT {column} AS userid FROM {landed_rows(table)}" for table, column in USERIDS.items()
    )
    select = f"""
      SELECT u.userid, coalesce(arg_min(r."class", r.position), {text(OTHER)}) AS "class"
      FROM ({users}) AS u
      LEFT JOIN {landed_rows(FILE)} AS r ON u.userid LIKE r.like_pattern ESCAPE '^'
      WHERE u.userid IS NOT NULL GROUP BY u.userid"""
    return Documented("meta.user_class", select, "Every user and its class.", docs("user_class"))


def _companions(kind: str) -> Documented:
    """The rows of the companions in one table."""
    names = ", ".join(f"row.{name(n)}" for n in TABLES[kind] if n != "run_id")
    rows = f"SELECT run_id, unnest({kind}) AS row FROM {landed_rows('run.json')}"
    select = f"SELECT run_id, {names} FROM ({rows})"
    return Documented(f"meta.{kind}", select, f"Companion figures: {kind}.", docs(kind))


def _columns(table: str) -> str:
    return ", ".join(map(name, COLUMNS[table]))
