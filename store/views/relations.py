"""The views over landed tables by name, and what they depend on."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from importlib.resources import files

from ...schemas.arrow import schemas
from ...schemas.layout import Kind
from ...schemas.registry import fingerprint, record_of, tables
from .interval import interval_view, relations_of
from .meta import meta_views
from .views import LANDED, Documented, landed_rows, monitor_view

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
