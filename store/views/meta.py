"""Schema `meta`: what is in the store, when it was sampled, what is wrong with it."""

from __future__ import annotations

import pyarrow as pa

from ...schemas.arrow import FINDING
from ..runs.classes import FILE, OTHER
from ..runs.companions import TABLES, Columns
from .views import PLACE, Documented, describe, exact, landed_rows, name, text

INTERVAL = pa.schema(
    [
        pa.field("interval_end", pa.timestamp("us"), metadata={"meaning": "End, UTC."}),
        pa.field(
            "interval_end_us",
            pa.int64(),
            metadata={"meaning": "The same in microseconds since 1970.", "unit": "us"},
        ),
        pa.field("samples", pa.int64(), metadata={"meaning": "Sample records in the interval."}),
        pa.field("bytes", pa.int64(), metadata={"meaning": "Bytes of them.", "unit": "bytes"}),
        pa.field(
            "nominal_s",
            pa.int64(),
            metadata={"meaning": "Length that MONITOR was set to; NULL if not known.", "unit": "s"},
        ),
        pa.field(
            "ipl_us",
            pa.int64(),
            metadata={
                "meaning": "When CP was loaded, microseconds since 1970; NULL if not known.",
                "unit": "us",
            },
        ),
    ],
    metadata={"table": "interval", "title": "Intervals that a dump closes"},
)

GAP = 1.5
"""An interval this many times as long as it should be hides a missing one."""

INTERVAL_DOCS = {
    "seconds": "Seconds since the interval end before it, whatever is between; NULL at the first.",
    "gap": f"Whether more than {GAP} times the usual length has passed: intervals are missing.",
    "restart": "Whether CP was loaded again since the interval before.",
    "previous_end": "End of the interval directly before; NULL at the first, behind a gap and "
    "behind a restart. Deltas of counters exist only from there.",
}

DUMP = {
    "dump": ("VARCHAR", "Identity: hash of the decompressed bytes."),
    "system": ("VARCHAR", "System that the monitor data is from."),
    "release": ("VARCHAR", "CP level that wrote it, as its configuration or --release says."),
    "source": ("VARCHAR", "Name of the file, or standard input."),
    "landed_at": ("TIMESTAMP", "When it was landed, UTC."),
    "first_tod": ("TIMESTAMP", "Time stamp of the first record, UTC."),
    "last_tod": ("TIMESTAMP", "Time stamp of the last record, UTC."),
    "intervals": ("BIGINT", "Intervals that it closes."),
    "bytes": (
        'STRUCT("size" BIGINT, decoded BIGINT, raw BIGINT, quarantined BIGINT, filler BIGINT)',
        "Where every byte went; the parts sum up to size.",
    ),
    "rows": ("MAP(VARCHAR, BIGINT)", "Rows landed, by table."),
    "findings": ("MAP(VARCHAR, BIGINT)", "Findings, by code."),
    "layouts": ("VARCHAR", "Fingerprint of the layouts that it was decoded with."),
    "cpmon": ("VARCHAR", "Version of cpmon that landed it."),
}

ATTRIBUTES = {
    "cp_level": ("VARCHAR", "CP level, as the run file says; NULL if it does not."),
    "users": ("BIGINT", "Users, as the run file says; NULL if it does not."),
    "processors": ("BIGINT", "Processors, as the run file says; NULL if it does not."),
}
"""Attributes that reductions need: columns of meta.run beside the map that has them all."""

RUN = {
    "run_id": ("VARCHAR", "Name of the run."),
    "system": ("VARCHAR", "System that was measured."),
    "since": ("TIMESTAMP", "Intervals that end later than this belong to the run, UTC."),
    "until": ("TIMESTAMP", "Intervals that end up to this belong to the run, UTC."),
    "base_run_id": ("VARCHAR", "Run that it is compared with; NULL if it names none."),
    "attributes": ("MAP(VARCHAR, VARCHAR)", "What was said about it: CP level, users, machine ..."),
}
STEADY = {
    "steady_since": ("TIMESTAMP", "Its steady state begins here; since, where none was named."),
    "steady_until": ("TIMESTAMP", "Its steady state ends here; until, where none was named."),
}

USER_CLASS = {
    "userid": ("VARCHAR", "User id: of every user that some record is about."),
    "class": ("VARCHAR", f"Class by the store's {FILE}; {OTHER} if no pattern matches."),
}
USERIDS = {
    **dict.fromkeys(("useact", "useint", "uselon", "uselof", "mtrusr"), "vmduser"),
    "aplsdt": "userid",
}
"""Tables that tell which users there are -> the column that does."""


def meta_views() -> list[Documented]:
    """The views of schema `meta`."""
    findings = ", ".join([*PLACE, *FINDING.names])
    interval = _interval(landed_rows("interval"))
    return [
        Documented(
            "meta.dump",
            f"SELECT {_names(DUMP)} FROM {landed_rows('dump.json')}",
            "Every dump.",
            _docs(DUMP),
        ),
        Documented("meta.interval", interval, "Intervals, in order.", _interval_docs()),
        Documented(
            "meta.finding",
            f"SELECT {findings} FROM {landed_rows('finding')}",
            "What is wrong with the dumps, located.",
            PLACE | {f.name: describe(f) for f in FINDING},
        ),
        _runs(),
        _user_class(),
        *(_companions(kind, columns) for kind, columns in TABLES.items()),
    ]


def run_columns() -> Columns:
    """The columns that a run's file is read as: what was said about it, and its companions."""
    columns = RUN | STEADY
    for kind, fields in TABLES.items():
        inside = ", ".join(f"{name(n)} {t}" for n, (t, _) in fields.items() if n != "run_id")
        columns[kind] = (f"STRUCT({inside})[]", f"Companion figures: {kind}.")
    return columns


def _interval(source: str) -> str:
    """Distinct interval ends decide what is directly before what, also across dumps.

    What MONITOR was set to holds until something else is said, so that a dump without
    configuration rests on those before it and not on all that will ever come.
    """
    return f"""
      WITH ends AS (
        SELECT system, interval_end, max(interval_end_us) AS end_us, max(nominal_s) AS nominal_s,
          max(ipl_us) AS ipl_us FROM {source} GROUP BY ALL),
      ordered AS (
        SELECT *, lag(interval_end) OVER w AS before,
          {exact("(end_us - lag(end_us) OVER w) / 1e6")} AS seconds,
          coalesce(ipl_us <> lag(ipl_us) OVER w, false) AS restart
        FROM ends WINDOW w AS (PARTITION BY system ORDER BY interval_end)),
      usual AS (
        SELECT *, coalesce(
            last_value(nominal_s IGNORE NULLS) OVER (PARTITION BY system ORDER BY interval_end),
            median(seconds) OVER (PARTITION BY system)) AS usual_s
        FROM ordered),
      judged AS (SELECT *, coalesce(seconds > {GAP} * usual_s, false) AS gap FROM usual)
      SELECT i.system, i.dump, i.interval_end, i.interval_end_us, i.samples, i.bytes, i.nominal_s,
        i.ipl_us, j.seconds, j.gap, j.restart,
        CASE WHEN NOT j.gap AND NOT j.restart THEN j.before END AS previous_end
      FROM {source} AS i JOIN judged AS j USING (system, interval_end)"""


def _interval_docs() -> dict[str, str]:
    return PLACE | {f.name: describe(f) for f in INTERVAL} | INTERVAL_DOCS


def _runs() -> Documented:
    """The runs as stored, and some of their attributes as columns."""
    columns = ", ".join(
        f"TRY_CAST(attributes[{text(n)}] AS {kind}) AS {n}" for n, (kind, _) in ATTRIBUTES.items()
    )
    steady = ", ".join(f"coalesce({n}, {n.removeprefix('steady_')}) AS {n}" for n in STEADY)
    select = f"SELECT {_names(RUN)}, {steady}, {columns} FROM {landed_rows('run.json')}"
    docs = _docs(RUN) | _docs(STEADY) | _docs(ATTRIBUTES)
    return Documented("meta.run", select, "Every run.", docs)


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
    return Documented("meta.user_class", select, "Every user and its class.", _docs(USER_CLASS))


def _companions(kind: str, columns: Columns) -> Documented:
    """The rows of the companions in one table."""
    names = ", ".join(f"row.{name(n)}" for n in columns if n != "run_id")
    rows = f"SELECT run_id, unnest({kind}) AS row FROM {landed_rows('run.json')}"
    select = f"SELECT run_id, {names} FROM ({rows})"
    return Documented(f"meta.{kind}", select, f"Companion figures: {kind}.", _docs(columns))


def _names(columns: Columns) -> str:
    return ", ".join(name(n) for n in columns)


def _docs(columns: Columns) -> dict[str, str]:
    return {n: doc for n, (_, doc) in columns.items()}
