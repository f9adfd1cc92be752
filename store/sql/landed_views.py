"""The views over landed tables, by name: schemas `monitor`, `interval` and `meta`.

Schema `meta` has the content of the store: dumps, intervals, findings, runs and user classes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from importlib.resources import files
from string import Template

from ...core.sql import exact, name, text
from ...schemas.arrow import FINDING, INTERVAL, schema_of, table_names
from ...schemas.layout import Kind
from ...schemas.registry import fingerprint, record_of, tables
from ..columns import COLUMNS, Columns, docs
from ..measured.classes import FILE, OTHER
from ..measured.companions import TABLES
from .interval import interval_view, relations_of
from .views import LANDED, PLACE, Documented, describe, landed_rows, monitor_view

INTERVALS = "meta.interval"


def landed_view(relation: str) -> Documented:
    """A view by name: `monitor.X`, `interval.X` or `meta.X`.

    Raises:
        KeyError: there is no such view.
    """
    return _landed_view(relation, fingerprint())


def landed_views() -> Iterator[Documented]:
    """Yields all views, dependencies first; `interval` has only tables of samples."""
    yield from meta_views()
    for table in table_names():
        yield landed_view(f"monitor.{table}")
    yield from (landed_view(f"interval.{table}") for table in _sampled())


def is_landed(relation: str) -> bool:
    """Whether there is a view, or a landed table, of that name."""
    return relation in _names(fingerprint())


def views_below(relation: str) -> tuple[str, ...]:
    """The views that a view directly reads."""
    schema, _, table = relation.partition(".")
    return (*relations_of(tables()[table]), INTERVALS) if schema == "interval" else ()


def macros() -> str:
    """Statements that create the macros for deltas and times."""
    return (files(__package__) / "deltas.sql").read_text(encoding="utf-8")


def definitions(relations: Iterable[str]) -> list[str]:
    """The SQL of some views and of all their dependencies."""
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
            return monitor_view(table, schema_of(table), landed_rows(table))
    views = {view.name: view for view in meta_views()}
    return views[relation]


@functools.lru_cache(maxsize=2)
def _names(_fingerprint: str) -> frozenset[str]:
    meta = {view.name for view in meta_views()}
    landed = {f"{schema}.{table}" for table in table_names() for schema in ("monitor", LANDED)}
    return frozenset(meta | landed | {f"interval.{table}" for table in _sampled()})


def _sampled() -> Iterator[str]:
    """The tables that have deltas."""
    for table, layout in tables().items():
        if record_of(layout).kind is Kind.SAMPLE and layout.columns:
            yield table


GAP = 1.5
"""An interval longer than usual by this factor contains a gap."""
SLACK_S, SLACK_SHARE = 1.0, 0.05
"""Tolerance of interval lengths, in seconds and as a share: smaller deviations are late samples."""

USERIDS = {
    **dict.fromkeys(("useact", "useint", "uselon", "uselof", "mtrusr"), "vmduser"),
    "aplsdt": "userid",
}
"""Table that lists users -> its column of user ids."""


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
    """Columns for reading run files: attributes of the run, and its companion figures."""
    columns = COLUMNS["run"] | COLUMNS["steady"]
    for kind, fields in TABLES.items():
        inside = ", ".join(f"{name(n)} {t}" for n, (t, _) in fields.items() if n != "run_id")
        columns[kind] = (f"STRUCT({inside})[]", f"Companion figures: {kind}.")
    return columns


def _interval(source: str) -> str:
    """SELECT of `meta.interval` over a relation of landed intervals."""
    sql = (files(__package__) / "intervals.sql").read_text(encoding="utf-8")
    return Template(sql).substitute(
        rows=source,
        seconds=exact("(end_us - lag(end_us) OVER in_time) / 1e6"),
        gap=GAP,
        slack_s=SLACK_S,
        slack_share=SLACK_SHARE,
    )


def _runs() -> Documented:
    """View of the stored runs, with some of their attributes as columns."""
    columns = [f"coalesce({n}, {n.removeprefix('steady_')}) AS {n}" for n in COLUMNS["steady"]]
    columns += [
        f"TRY_CAST(attributes[{text(n)}] AS {kind}) AS {n}"
        for n, (kind, _) in COLUMNS["attributes"].items()
    ]
    select = f"SELECT {_columns('run')}, {', '.join(columns)} FROM {landed_rows('run.json')}"
    documented = docs("run") | docs("steady") | docs("attributes")
    return Documented("meta.run", select, "Every run.", documented)


def _user_class() -> Documented:
    """View of all users with their class, by the first rule that matches."""
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
    """View of the companion figures of one table."""
    names = ", ".join(f"row.{name(n)}" for n in TABLES[kind] if n != "run_id")
    rows = f"SELECT run_id, unnest({kind}) AS row FROM {landed_rows('run.json')}"
    select = f"SELECT run_id, {names} FROM ({rows})"
    return Documented(f"meta.{kind}", select, f"Companion figures: {kind}.", docs(kind))


def _columns(table: str) -> str:
    return ", ".join(map(name, COLUMNS[table]))
