"""Reads what can be looked at: metrics of the system and of its objects, as series over time.

The metrics, their units and formats are those of `reduce/metrics`. Which are looked at, and whose
objects contribute to which, stands in `subjects.toml`.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...store.connection import table_of
from ...store.sql.scope import Scope
from ..metrics import Metric, metrics_of
from ..statistics import Array


@dataclass(frozen=True, slots=True)
class Subject:
    """A reduction, or a query over one, whose metrics are looked at.

    Attributes:
        name: of the reduction or query. relation: SQL of it.
        object: SQL of the name of its objects; empty if it is of the system.
        noun: what an object is, in messages. metrics: those that are looked at.
        resources: metric -> the resource that it is of.
        whole: metric -> the sums that it is a part of, as (subject, metric); its own by default.
        times: metric -> the metric that it is multiplied by before it is a part of a sum.
        states: metrics that are not judged, but size objects that are new or gone.
        settings: columns that are states -> the metric that sizes them.
        explains: metric of the system -> metric of the objects whose sum it is; after a minus, that
            lowers it.
        rests: metric -> the record that it rests on; it is known where a doubt names others alone.
    """

    name: str
    relation: str
    noun: str
    object: str
    metrics: tuple[Metric, ...]
    resources: dict[str, str]
    whole: Mapping[str, tuple[tuple[str, str], ...]]
    times: Mapping[str, str]
    states: frozenset[str]
    settings: dict[str, Metric]
    explains: Mapping[str, str]
    rests: Mapping[str, str]

    @property
    def judged(self) -> tuple[Metric, ...]:
        """The metrics that are judged."""
        return tuple(metric for metric in self.metrics if metric.name not in self.states)

    def is_known(self, metric: str) -> str:
        """SQL condition on a row, or on a roll-up of rows: no doubt concerns a metric."""
        if record := self.rests.get(metric):
            return f"NOT coalesce(contains(doubts, '{record}'), false)"
        return "doubts IS NULL"


@dataclass(frozen=True, slots=True)
class Series:
    """The series of a subject.

    Attributes:
        objects: (objects,) names; one empty name for the system.
        times: (intervals,) ends, seconds of the Unix time, UTC, in order.
        present: (objects, intervals) which have a row.
        values: metric or setting -> (objects, intervals), printed scale; NaN where it is not known,
            or a lower bound.
    """

    subject: Subject
    objects: tuple[str, ...]
    times: Array
    present: npt.NDArray[np.bool_]
    values: dict[str, Array] = field(repr=False)

    def of_objects(self, metric: str, objects: Sequence[str]) -> Array:
        """The values of a metric for some objects, (objects, intervals); NaN for unknown ones."""
        grid = np.full((len(objects), self.times.size), np.nan)
        grid[np.searchsorted(objects, self.objects)] = self.values[metric]
        return grid

    def presence(self, objects: Sequence[str]) -> npt.NDArray[np.bool_]:
        """(objects, intervals) which of some objects have a row."""
        grid = np.zeros((len(objects), self.times.size), dtype=np.bool_)
        grid[np.searchsorted(objects, self.objects)] = self.present
        return grid


@functools.cache
def subjects() -> tuple[Subject, ...]:
    """The subjects of `subjects.toml`, in its order; a metric of the system is looked at once."""
    text = (files(__package__) / "subjects.toml").read_text(encoding="utf-8")
    return tuple(_subject(name, keys) for name, keys in tomllib.loads(text).items())


def _subject(name: str, keys: Mapping[str, Any]) -> Subject:
    known = metrics_of(keys.get("of", name))
    resources = {m: resource for resource, names in keys["metrics"].items() for m in names}
    metrics = dict.fromkeys((*resources, *keys.get("states", ())))
    return Subject(
        name=name,
        relation=keys.get("source", keys.get("of", name)),
        noun=keys.get("noun", ""),
        object=keys.get("object", ""),
        metrics=tuple(known[metric] for metric in metrics),
        resources=resources,
        whole={
            metric: tuple((each.partition(".")[0], each.partition(".")[2]) for each in sums)
            for metric, sums in keys.get("whole", {}).items()
        },
        times=keys.get("times", {}),
        states=frozenset(keys.get("states", ())),
        settings={setting: known[setting] for setting in keys.get("settings", ())},
        explains=keys.get("explains", {}),
        rests={m: record for record, names in keys.get("rests", {}).items() for m in names},
    )


def read_rows(
    con: duckdb.DuckDBPyConnection, subject: Subject, scope: Scope, condition: str = "true"
) -> pa.Table:
    """The metrics of a subject in a scope of one system, where the SQL `condition` holds.

    Without first samples and those behind a gap, as in reports: a level there is of no time.
    """
    values = {metric.name: metric for metric in subject.metrics} | subject.settings
    columns = ", ".join(
        f"CASE WHEN {subject.is_known(metric.name)} THEN CAST({name} AS DOUBLE)"
        f" * {metric.scale} END AS {name}"
        for name, metric in values.items()
    )
    return table_of(
        con,
        "SELECT interval_end, CAST(epoch(interval_end) AS DOUBLE) AS _end,"
        f" {subject.object or repr('')} AS _object, {columns}"
        f" FROM {subject.relation} WHERE {scope.condition()} AND {condition}"
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
    encoded = rows.column("_object").fill_null("").combine_chunks().dictionary_encode()
    names = encoded.dictionary.to_pylist()
    order = np.argsort(np.array(names, dtype=object), kind="stable")
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[order] = np.arange(len(names))
    places = ranks[encoded.indices.to_numpy()] if names else np.zeros(0, dtype=np.int64)
    times, ends = np.unique(rows.column("_end").to_numpy(), return_inverse=True)
    present = np.zeros((len(names), times.size), dtype=np.bool_)
    present[places, ends] = True
    values = {}
    for name in (*(metric.name for metric in subject.metrics), *subject.settings):
        grid = np.full(present.shape, np.nan)
        grid[places, ends] = rows.column(name).to_numpy()
        values[name] = grid
    return Series(subject, tuple(names[n] for n in order), times, present, values)
