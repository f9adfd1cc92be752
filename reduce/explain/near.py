"""What stood near a span: exceptions and events, beside the lines of what they are about."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import duckdb

from ...config import Settings
from ...store.connection import point
from ...store.sql.scope import Scope
from ..rules.exceptions import exceptions
from .baseline import Baseline
from .line import Line

NEAR = timedelta(minutes=10)
"""Events from this time before the span on are listed."""
MOST_OBJECTS = 4
"""Objects that the line of a rule names beside the first."""
GRAVE = {"IPL", "clock", "data loss", "gap"}
"""Kinds of events after which no figure of the system is what it was: their weight is 100."""
ORDINARY = 1.0
"""Weight of other events that no line of an object tells of."""
SEVERE = {"critical": 50.0, "warning": 25.0, "info": 10.0}
"""Weight of exceptions that no line of an object tells of."""


def with_exceptions(
    con: duckdb.DuckDBPyConnection,
    lines: Sequence[Line],
    span: Scope,
    baseline: Baseline | None,
    settings: Settings | None,
) -> tuple[list[Line], list[str]]:
    """The lines with the exceptions that began near the span, and notes on other exceptions.

    An exception of an object that has a line stands there; others of a rule make one line.
    """
    found = exceptions(
        con, system=span.system, since=span.since, until=span.until, settings=settings
    )
    before = baseline.scope.since if baseline and baseline.trend else None
    result, lasting = list(lines), Counter[str]()
    for row in found.table.to_pylist():
        # That the system was not measured between two runs is no news.
        if row["rule"] == "monitor-gap" and not (baseline is None or baseline.by_time):
            continue
        if before is not None and row["first_interval"] < before:
            lasting[row["title"]] += 1
            continue
        line = Line(
            kind="exception",
            weight=SEVERE[row["severity"]],
            object=row["object"],
            what=row["title"],
            name=row["rule"],
            unit=row["unit"] or "",
            value=row["value"],
            first=row["first_interval"],
            last=row["last_interval"],
        )
        if not _told(result, line, row["title"]):
            _add(result, line)
    old = ", ".join(f"{title} ({count})" for title, count in lasting.items())
    notes = [f"Exceptions that began before the baseline: {old}."] if old else []
    if unseen := [rule.id for rule, _ in found.unseen]:
        notes.append(f"Exceptions not judged, for lack of records: {', '.join(unseen)}.")
    return result, notes


def with_events(
    con: duckdb.DuckDBPyConnection, lines: Sequence[Line], span: Scope, baseline: Baseline | None
) -> list[Line]:
    """The lines with the events in the span or shortly before it.

    An event of an object that has a line stands there; others of a kind make one line.
    """
    assert span.since
    near = Scope(span.system, span.since - NEAR, span.until)
    # That the system was loaded and not measured between two runs is no news.
    grave = GRAVE if baseline is None or baseline.by_time else set()
    point(con, near)
    rows = con.execute(
        "SELECT kind, object, count(*), min(event_at), max(event_at),"
        " arg_min(event_text, event_at) FROM events"
        f" WHERE {near.condition('event_at')} GROUP BY kind, object ORDER BY kind, 4, object"
    ).fetchall()
    result, kinds = (
        list(lines),
        defaultdict[str, list[tuple[str, int, datetime, datetime, str]]](list),
    )
    for kind, *row in rows:
        name, _, first, last, text = row
        line = Line("event", ORDINARY, name, f"{kind}: {text}", kind, first=first, last=last)
        if kind in grave or not _told(result, line):
            kinds[kind].append((name, row[1], first, last, text))
    for kind, events in kinds.items():
        where, _, first, _, text = events[0]
        more = sum(count for _, count, *_ in events) - 1
        what = f"{kind}: {text}" + (f"; {more} more of {kind}" if more else "")
        weight, last = 100.0 if kind in grave else ORDINARY, max(each[3] for each in events)
        result.append(Line("event", weight, where, what, kind, first=first, last=last))
    return result


def _add(lines: list[Line], line: Line) -> None:
    """Adds an exception, or its object to the line of its rule, in place."""
    for place, each in enumerate(lines):
        if each.kind == line.kind and each.name == line.name:
            others = each.also if line.object in (each.object, *each.also) else (line.object,)
            also = dict.fromkeys((*each.also, *others))
            lines[place] = replace(each, also=tuple(also)[:MOST_OBJECTS])
            return
    lines.append(line)


def _told(lines: list[Line], line: Line, text: str = "") -> bool:
    """Whether a line of the object of a line tells of it, too; it does so then, in place."""
    for place, each in enumerate(lines):
        if each.kind in ("object", "setting") and each.is_about(line.object):
            lines[place] = replace(each, also=(*each.also, text or line.what), first=line.first)
            return True
    return False
