"""Notes below a report on records that its dumps write and the layouts do not know in full."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import duckdb

from ...schemas.layout import Layout
from ...schemas.registry import record_of, tables
from ...schemas.release import release_key

MULTITHREADING = "6.3.0"
"""The first release that can run two threads on a core."""
THREAD_TIMES = frozenset({"sytprp", "useact", "useint"})
"""Tables whose processor times are raw thread times where multithreading is on."""
LATEST = "5.3.0"
"""The latest release whose layouts are shipped in full."""


def layout_notes(
    con: duckdb.DuckDBPyConnection, dumps: Mapping[str, str], landed: Iterable[str]
) -> list[str]:
    """What dumps hold that is not read, and what that means for a report.

    Args:
        dumps: and the CP level of each. landed: tables that the report reads.
    """
    releases = sorted(filter(_is_release, set(dumps.values())), key=release_key)
    if not releases:
        return []
    records = {layout.name: layout for name in landed if (layout := _record(name))}
    longer = con.execute(
        "SELECT DISTINCT detail FROM meta.finding"
        " WHERE code = 'RECORD_LONGER' AND list_contains(?, dump) ORDER BY detail",
        [list(dumps)],
    ).fetchall()
    return [*_longer((detail for (detail,) in longer), records), *_newer(releases[-1], records)]


def _longer(details: Iterable[str], records: dict[str, Layout]) -> list[str]:
    found = {}
    for detail in details:
        words = re.match(r"records of (\w+)(?:: (\d+) bytes, (\d+) known)?", detail)
        if words and words[1] in records:
            layout = records[words[1]]
            sizes = f" {words[2]} bytes, {words[3]} of them known" if words[2] else ""
            found[layout.name] = f"{_named(layout)}{sizes}"
    if not found:
        return []
    pages = ", ".join(f"MR{name.upper()}" for name in found)
    return [
        f"Longer than the layouts: {'; '.join(found.values())}. What the other bytes say is not in "
        f"this report; IBM's pages of that release bring it: {pages}."
    ]


def _newer(release: str, records: dict[str, Layout]) -> list[str]:
    """A line on records that nobody has described as of a later release, and one on threads."""
    if release_key(release) <= release_key(LATEST):
        return []
    guessed = [layout for layout in records.values() if release not in dict(layout.lengths)]
    notes = []
    if guessed:
        names = ", ".join(_named(layout) for layout in guessed)
        notes.append(
            f"CP {release} is later than the layouts of {names}, which are of {LATEST}: a field "
            "that has moved or changed since then is misread."
        )
    if release_key(release) >= release_key(MULTITHREADING) and THREAD_TIMES & records.keys():
        notes.append(
            "Processor times are those of threads if the system runs multithreaded: two threads "
            "share a core, so that they overstate how much of it is used."
        )
    return notes


def _record(table: str) -> Layout | None:
    layout = tables().get(table)
    return record_of(layout) if layout else None


def _named(layout: Layout) -> str:
    return f"{layout.name.upper()} ({layout.domain}.{layout.record})"


def _is_release(release: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)*", release) is not None
