"""Reads what can be looked at: metrics of the system and of its objects, as series over time.

The metrics, their units and formats are those of `reduce/metrics`. Which are looked at, and whose
objects contribute to which, stands in `subjects.toml`.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...store.connection import table_of
from ...store.sql.scope import Scope
from ..metrics import Metric, metrics_of
from ..statistics import Array


@dataclass(frozen=True, slots=True)
class Subject:
    """A reduction whose metrics are looked at.

    Attributes:
        object: SQL of the name of its objects; empty if it is of the system.
        noun: what an object is, in messages. metrics: those that are judged.
        explains: metric of the system -> metric of the objects whose sum it is.
        rests: metric -> the record that it rests on; it is known where a doubt names others alone.
    """

    view: str
    noun: str
    object: str
    metrics: tuple[Metric, ...]
    explains: dict[str, str]
    rests: dict[str, str]

    def is_known(self, metric: Metric) -> str:
        """SQL condition on a row: no doubt concerns a metric."""
        if record := self.rests.get(metric.name):
            return f"NOT coalesce(contains(doubts, '{record}'), false)"
        return "doubts IS NULL"


@dataclass(frozen=True, slots=True)
class Series:
    """The series of a subject.

    Attributes:
        objects: (objects,) names; one empty name for the system.
        times: (intervals,) ends, seconds of the Unix time, UTC, in order.
        values: metric -> (objects, intervals), printed scale; NaN where it is not known, or a
            lower bound.
    """

    subject: Subject
    objects: tuple[str, ...]
    times: Array
    values: dict[str, Array]

    def of_objects(self, metric: str, objects: Sequence[str]) -> Array:
        """The values of a metric for some objects, (objects, intervals); NaN for unknown ones."""
        places = {name: n for n, name in enumerate(objects)}
        grid = np.full((len(objects), self.times.size), np.nan)
        grid[[places[name] for name in self.objects]] = self.values[metric]
        return grid


@functools.cache
def subjects() -> tuple[Subject, ...]:
    """The subjects of `subjects.toml`, in its order; a metric of the system is looked at once."""
    text = (files(__package__) / "subjects.toml").read_text(encoding="utf-8")
    found = []
    for view, keys in tomllib.loads(text).items():
        metrics = tuple(metrics_of(view)[name] for name in keys["metrics"])
        noun, objects = keys.get("noun", ""), keys.get("object", "")
        rests = {name: record for record, names in keys.get("rests", {}).items() for name in names}
        found.append(Subject(view, noun, objects, metrics, keys.get("explains", {}), rests))
    return tuple(found)


def read_rows(
    con: duckdb.DuckDBPyConnection, subject: Subject, scope: Scope, condition: str = "true"
) -> pa.Table:
    """The metrics of a subject in a scope of one system, where the SQL `condition` holds.

    Without first samples and those behind a gap, as in reports: a level there is of no time.
    """
    columns = ", ".join(
        f"CASE WHEN {subject.is_known(metric)} THEN CAST({metric.name} AS DOUBLE)"
        f" * {metric.scale} END AS {metric.name}"
        for metric in subject.metrics
    )
    return table_of(
        con,
        "SELECT interval_end, CAST(epoch(interval_end) AS DOUBLE) AS _end,"
        f" {subject.object or repr('')} AS _object, {columns}"
        f" FROM {subject.view} WHERE {scope.condition()} AND {condition}"
        f" AND interval_end IN (SELECT interval_end FROM meta.interval WHERE {scope.condition()}"
        " AND previous_end IS NOT NULL)",
    )


def series_of(subject: Subject, rows: pa.Table, scope: Scope) -> Series:
    """The series of a subject in the time of a scope, from rows of a larger one."""
    end = pc.field("interval_end")
    if scope.since is not None:
        rows = rows.filter(end > pa.scalar(scope.since, pa.timestamp("us")))
    if scope.until is not None:
        rows = rows.filter(end <= pa.scalar(scope.until, pa.timestamp("us")))
    names = rows.column("_object").fill_null("").to_numpy().astype(str)
    objects, places = np.unique(names, return_inverse=True)
    times, ends = np.unique(rows.column("_end").to_numpy(), return_inverse=True)
    values = {}
    for metric in subject.metrics:
        grid = np.full((objects.size, times.size), np.nan)
        grid[places, ends] = rows.column(metric.name).to_numpy()
        values[metric.name] = grid
    return Series(subject, tuple(objects.tolist()), times, values)
