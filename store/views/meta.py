"""Schema `meta`: what is in the store, when it was sampled, what is wrong with it."""

from __future__ import annotations

from importlib.resources import files
from string import Template

from ...core.sql import exact, name, text
from ...schemas.arrow import FINDING, INTERVAL
from ..columns import COLUMNS, Columns, docs
from ..runs.classes import FILE, OTHER
from ..runs.companions import TABLES
from .views import PLACE, Documented, describe, landed_rows

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
            f"SELECT {_names('dump')} FROM {landed_rows('dump.json')}",
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
    select = f"SELECT {_names('run')}, {', '.join(columns)} FROM {landed_rows('run.json')}"
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


def _names(table: str) -> str:
    return ", ".join(map(name, COLUMNS[table]))
