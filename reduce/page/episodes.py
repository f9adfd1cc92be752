"""Exceptions and events on a page: where exceptions link to, and what is marked in charts.

An exception links to its time in the charts of a page, and to the page of its object.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa

from ..metrics.report_set import reports
from ..reports.report_sql import Span
from ..rules.rule import KEY, Rule

Links = Mapping[tuple[str, Any], str]
"""Option that follows an object (`user`), and its value -> address of the page of the object."""

AROUND = timedelta(minutes=5)
"""Shortest time that is shown before and behind an episode."""
USERS = "user"
"""The area of rules whose SQL names a user in the first word of the object."""
MOST_MARKS = 100
"""Maximum number of exceptions, and of events, that are marked in charts."""
OWN_EVENTS = {"user": "userid = ?", "device": "device = ?", "cpu": "cpu = ?"}
"""Option that follows an object -> condition of its events."""


USER_COLUMNS = ("controller",)
"""Columns that name a user whom their report cannot follow."""
LOG_COLUMNS = ("object",)
"""Columns of logs, which name objects of several kinds."""
IN_LOGS = {"processor": ("cpu", 10), "device": ("device", 16)}
"""Noun before a name in a log -> kind of object, and base of its number."""


def named_in_log(texts: Sequence[str | None], links: Links) -> list[str]:
    """The addresses of objects that a log names: processor 0, device 7C04, or a user.

    Only users that `links` lists: a log names systems, pools and segments as plainly.
    """
    users = {value: href for (kind, value), href in links.items() if kind == USERS}
    addresses = []
    for text in texts:
        href = users.get(text or "", "")
        noun, _, name = (text or "").partition(" ")
        if noun in IN_LOGS and name:
            kind, base = IN_LOGS[noun]
            with suppress(ValueError):
                href = links.get((kind, int(name, base)), "")
        addresses.append(href)
    return addresses


def linked_episodes(
    table: pa.Table, rules: Sequence[Rule], first: datetime, last: datetime, links: Links
) -> tuple[Mapping[str, Any], ...]:
    """Episodes with the addresses that a page links them to.

    Args:
        table: rows of `exceptions.SCHEMA`.
        first, last: begin and end of the page, UTC without zone.
        links: the objects that have pages.

    Returns:
        Each row, with `at`, the fragment of its time, and `href`, the address of the page of its
        object; both may be empty.
    """
    by_id = {rule.id: rule for rule in rules}
    rows = []
    for row in table.to_pylist():
        at, begin, end = "", row["first_interval"], row["last_interval"]
        if begin is not None and end is not None and begin <= last and end >= first:
            around = max(AROUND, (end - begin) / 2)
            at = time_fragment(max(begin - around, first), min(end + around, last))
        href = _page(by_id[row["rule"]], row["object"] or "", links)
        rows.append({**row, "at": at, "href": href + at if href else ""})
    return tuple(rows)


def time_fragment(begin: datetime, end: datetime) -> str:
    """The part of an address that zooms the charts of a page to a span, UTC without zone."""
    return f"#from={begin:%Y-%m-%dT%H:%M:%SZ}&to={end:%Y-%m-%dT%H:%M:%SZ}"


def exception_marks(episodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The marks of exceptions in charts, the first MOST_MARKS.

    Returns:
        begin, end: milliseconds since 1970, UTC. kind: the severity, or "event". text: for the
        reader. rule, area: of an exception, which is marked in charts of that rule or area.
    """
    timed = [each for each in episodes if each["first_interval"] and each["last_interval"]]
    return [
        {
            "begin": _milliseconds(each["first_interval"]),
            "end": _milliseconds(each["last_interval"]),
            "kind": each["severity"],
            "text": ": ".join(filter(None, (each["title"], each["object"]))),
            "rule": each["rule"],
            "area": each["area"],
        }
        for each in timed[:MOST_MARKS]
    ]


def event_marks(
    con: duckdb.DuckDBPyConnection, span: Span, kind: str = "", value: Any = None
) -> list[dict[str, Any]]:
    """The marks of events of the system, and of an object (option, value); the first MOST_MARKS."""
    where, values = span.where()
    own = OWN_EVENTS.get(kind, "")
    of_object, named = (f" OR {own}", [value]) if own else ("", [])
    rows = con.execute(
        f"SELECT event_at, concat_ws(': ', kind, event_text) FROM events WHERE {where}"
        f" AND (userid IS NULL AND device IS NULL{of_object})"
        f" ORDER BY ALL LIMIT {MOST_MARKS}",
        [*values, *named],
    ).fetchall()
    return [
        {"begin": at, "end": at, "kind": "event", "text": text}
        for at, text in ((_milliseconds(time), text) for time, text in rows)
    ]


def _milliseconds(time: datetime) -> int:
    return int(time.replace(tzinfo=UTC).timestamp() * 1000)


def _page(rule: Rule, text: str, links: Links) -> str:
    """The address of the page of the object that the text of a rule names; empty if none."""
    if rule.sql:
        return links.get((USERS, text.partition(" ")[0]), "") if rule.area == USERS else ""
    kinds = {column: kind for each in reports().values() for kind, column in each.follows.items()}
    parts = KEY.split(rule.object_name)  # text, key, format, text, key, format, ..., text
    texts, keys = map(re.escape, parts[::3]), ["(.*?)"] * len(parts[1::3])
    pattern = "".join(itertools.chain(*itertools.zip_longest(texts, keys, fillvalue="")))
    found = re.fullmatch(pattern + r"\s*", text + " ")  # a key without a value leaves no blank
    if found is None:
        return ""
    for key, spec, named in zip(parts[1::3], parts[2::3], found.groups(), strict=True):
        for (kind, value), href in links.items():
            if kind == kinds.get(key) and named == format(value, "04X" if spec else ""):
                return href
    return ""
