"""Links of exceptions: to their time in the charts of a page, and to the page of their object."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from ..metrics.report_set import reports
from ..rules.rule import KEY, Rule

Links = Mapping[tuple[str, Any], str]
"""Option that follows an object (`user`), and its value -> address of the page of the object."""

AROUND = timedelta(minutes=5)
"""Shortest time that is shown before and behind an episode."""
USERS = "user"
"""The area of rules whose SQL names a user in the first word of the object."""


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
        at = _fragment(row["first_interval"], row["last_interval"], first, last)
        href = _page(by_id[row["rule"]], row["object"] or "", links)
        rows.append({**row, "at": at, "href": href + at if href else ""})
    return tuple(rows)


def time_fragment(begin: datetime, end: datetime) -> str:
    """The part of an address that zooms the charts of a page to a span: #t=begin/end, in UTC.

    Args:
        begin, end: UTC without zone.
    """
    return f"#t={begin:%Y-%m-%dT%H:%M:%SZ}/{end:%Y-%m-%dT%H:%M:%SZ}"


def _fragment(begin: datetime | None, end: datetime | None, first: datetime, last: datetime) -> str:
    """The fragment of an episode with some time around it, within the page."""
    if begin is None or end is None or end < first or begin > last:
        return ""
    around = max(AROUND, (end - begin) / 2)
    return time_fragment(max(begin - around, first), min(end + around, last))


def _page(rule: Rule, text: str, links: Links) -> str:
    """The address of the page of the object that the text of a rule names; empty if none."""
    if rule.sql:
        return links.get((USERS, text.partition(" ")[0]), "") if rule.area == USERS else ""
    kinds = {column: kind for each in reports().values() for kind, column in each.follows.items()}
    parts = KEY.split(rule.object_name)  # text, key, format, text, key, format, ..., text
    pattern = "".join("(.*?)" if n % 3 == 1 else re.escape(parts[n]) for n in _shown(parts))
    found = re.fullmatch(pattern + r"\s*", text + " ")  # a key without a value leaves no blank
    if found is None:
        return ""
    for key, spec, named in zip(parts[1::3], parts[2::3], found.groups(), strict=True):
        for (kind, value), href in links.items():
            if kind == kinds.get(key) and named == format(value, "04X" if spec else ""):
                return href
    return ""


def _shown(parts: Sequence[str | None]) -> list[int]:
    """The numbers of texts and keys among the parts of a name, without those of formats."""
    return [n for n in range(len(parts)) if n % 3 != 2]
