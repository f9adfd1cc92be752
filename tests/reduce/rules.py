"""A catalogue for the tests of exceptions: the columns are those of a store, rows are literal."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from cpmon.core.sql import UserSql
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.rules.exceptions import Exceptions, exceptions
from cpmon.reduce.rules.rule import Layer, Rule, Severity
from cpmon.store import Store, connect
from cpmon.store.sql.landed_views import macros
from tests.reduce.catalogue import copied, insert, minute

READ = ("meta.dump", "meta.finding", "monitor.mtrend", "monitor.mtrsus", "monitor.sytprp")
READ += ("monitor.sytrsp", "monitor.ioddev", "monitor.useact")
"""What rules read besides what reductions read."""


@cache
def _columns() -> dict[str, str]:
    """Table -> its columns, as an empty store shows them."""
    read = {name for r in reductions() for name in r.reads if "." in name} | set(READ)
    with TemporaryDirectory() as folder, connect(Store(Path(folder) / "s", create=True)) as con:
        shown = {name: con.sql(f"FROM {name}") for name in sorted(read)}
        return {
            name: ", ".join(f'"{c}" {kind}' for c, kind in zip(r.columns, r.types, strict=True))
            for name, r in shown.items()
        }


def catalogue() -> duckdb.DuckDBPyConnection:
    """Tables without a row, and the reductions over them."""
    return copied(_catalogue)


def _catalogue() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    schemas = [f"CREATE SCHEMA {schema}" for schema in ("monitor", "interval", "meta")]
    tables = [f"CREATE TABLE {name} ({columns})" for name, columns in _columns().items()]
    con.execute("; ".join([*schemas, *tables]))
    con.execute(macros())
    con.execute("\n".join(reduction.sql for reduction in reductions()))
    return con


def intervals(
    con: duckdb.DuckDBPyConnection, count: int, *, system: str = "LAB", gaps: tuple[int, ...] = ()
) -> None:
    """Intervals of a minute that end at minute 0, 1, ...; in front of those of `gaps` is a gap."""
    insert(con, "meta.dump", {"dump": "a", "system": system, "last_tod": minute(count)})
    for n in range(count):
        joined = n > 0 and n not in gaps
        row = {"system": system, "dump": "a", "interval_end": minute(n)}
        row |= {"previous_end": minute(n - 1) if joined else None, "gap": n in gaps}
        insert(con, "meta.interval", {**row, "restart": False, "seconds": 60.0 if n else None})


def shares(
    con: duckdb.DuckDBPyConnection, values: list[float | None], *, cpu: int = 0, system: str = "LAB"
) -> None:
    """A processor that was busy for such shares of the minutes 0, 1, ...; None: no growth."""
    for n, value in enumerate(values):
        key = {"system": system, "dump": "a", "interval_end": minute(n), "pfxcpuad": cpu}
        place = {"record_offset": 1000 * n + cpu}
        insert(con, "monitor.sytprp", {**key, **place})
        grown = {"seconds": 60.0, "pfxutime": round((value or 0) * 60 * 4096e6), "pfxtmsys": 0}
        insert(con, "interval.sytprp", {**key, **place, **(grown if value is not None else {})})


MINE = Layer("mine.toml", {}, lambda key: f"mine.toml: {key}")
"""A file of rules, as messages name it."""


def busy(**changed: Any) -> Rule:
    """A rule: a processor busy for more than 90 %."""
    said: dict[str, Any] = {
        "id": "busy",
        "title": "Busy",
        "severity": Severity.WARNING,
        "area": "processor",
        "reduction": "processors_by_time",
        "metric": "total_util",
        "scale": 100.0,
        "unit": "%",
        "limit": 90.0,
        "object_name": "CPU {cpu}",
        "record": "sytprp",
        "record_keys": {"pfxcpuad": "cpu"},
        "sources": {"limit": MINE, "sql": MINE},
    }
    return Rule(**said | changed)


def asked(sql: str, **changed: Any) -> Rule:
    """A rule by SQL, without a limit unless one is given."""
    blank: dict[str, Any] = {"reduction": "", "metric": "", "object_name": "", "record": ""}
    return busy(
        **blank | {"record_keys": {}, "scale": 1.0, "limit": None, "sql": UserSql(sql)} | changed
    )


def met(con: duckdb.DuckDBPyConnection, rule: Rule, **asked: Any) -> list[dict[str, Any]]:
    """The episodes of a rule."""
    rows: list[dict[str, Any]] = found(con, rule, **asked).table.to_pylist()
    return rows


def found(con: duckdb.DuckDBPyConnection, rule: Rule, **asked: Any) -> Exceptions:
    """What a rule alone finds."""
    rule.check_parts()
    return exceptions(con, [rule], **asked)
