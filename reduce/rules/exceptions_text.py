"""Exceptions as a reader sees them: the worst first, then what they mean and what is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from ...config.shifts import find_zone
from ...core.errors import CpmonError
from ...core.text import counted, length_of_time, printable
from ...render.render import render
from ...render.text import bullets
from ..reductions.reductions import inferred_notes
from ..reports.cells import UTC_ZONE, clock
from .exceptions import Exceptions, Unjudged
from .rule import Comparison, Rule

MOST_NAMED = 3
"""Objects that a note names."""
_IDENTITY = 12
"""Characters of a dump's identity, as `cpmon ingest` prints it."""


def render_exceptions(exceptions: Exceptions, format: str = "text", zone: str = "UTC") -> bytes:
    """Exceptions as text, or their episodes in any format of `render`, times in UTC.

    Args:
        zone: in which times are printed as text.

    Raises:
        CpmonError: there is no such format.
    """
    if format in ("text", "table"):
        return printable(_text(exceptions, find_zone(zone))).encode()
    return render(exceptions.table, format, title="Exceptions")


def render_rules(rules: Iterable[Rule], format: str = "table") -> bytes:
    """The rules, a line each: what they look for, and where they were written.

    Raises:
        CpmonError: there is no such format, or no rule.
    """
    rows = [
        {
            "rule": rule.id,
            "severity": str(rule.severity),
            "area": rule.area,
            "limit": limit_of(rule),
            "minutes": rule.for_minutes,
            "shift": rule.shift,
            "title": rule.title,
            "written_in": ", ".join(rule.files),
        }
        for rule in rules
    ]
    if not rows:
        raise CpmonError(
            "no rule is switched on", remedy="look for enabled = false in the settings"
        )
    return render(pa.Table.from_pylist(rows), "table" if format == "text" else format)


def limit_of(rule: Rule) -> str:
    """The limit of a rule in words: above 90 %."""
    if rule.limit is None:
        return "any"
    return f"{rule.comparison} {_number(rule.limit)} {rule.unit}".rstrip()


def _text(exceptions: Exceptions, zone: ZoneInfo) -> str:
    count, unknown = exceptions.table.num_rows, unknowns(exceptions, zone)
    lines = [f"Exceptions: {count:,} by {counted(len(exceptions.rules), 'rule')}"]
    lines += [exceptions.coverage.line(zone), ""]
    if count:
        shown = pa.table(_columns(exceptions, zone))
        lines += [render(shown, "table").decode().rstrip(), ""]
    else:
        lines.append("No exceptions in what is known." if unknown else "No exceptions.")
    notes = _meanings(exceptions)
    if exceptions.earlier:
        episodes = counted(exceptions.earlier, "episode")
        notes.append(f"{episodes} began before this span: First is where.")
    return "\n".join(lines + bullets([*notes, *unknown])) + "\n"


def _columns(exceptions: Exceptions, zone: ZoneInfo) -> dict[str, Any]:
    rows = exceptions.table.to_pylist()
    columns: dict[str, list[Any]] = {
        "Severity": [row["severity"] for row in rows],
        "Rule": [row["rule"] for row in rows],
        "System": [row["system"] for row in rows],
        "Object": [row["object"] for row in rows],
        "First": [clock(row["first_interval"], zone) for row in rows],
        "Last": [clock(row["last_interval"], zone) for row in rows],
        "Intervals": [row["intervals"] for row in rows],
        "Worst": [f"{_number(row['value'])} {row['unit']}".rstrip() for row in rows],
        "Limit": [_limit(row) for row in rows],
        "At": [clock(row["worst_interval"], zone) for row in rows],
        "Dump": [(row["dump"] or "")[:_IDENTITY] for row in rows],
        "Offset": ["" if (n := row["record_offset"]) is None else f"{n:#x}" for row in rows],
    }
    if exceptions.coverage.scope.system:
        del columns["System"]
    return columns


def _meanings(exceptions: Exceptions) -> list[str]:
    """What the rules that were met say, with how long it must last, and what they rest on."""
    ids = set(exceptions.table.column("rule").to_pylist())
    met = [rule for rule in exceptions.rules if rule.id in ids]
    notes: list[str] = []
    for rule in met:
        lasting = f" for {_minutes(rule.for_minutes)}" if rule.for_minutes else ""
        shift = f", shift {rule.shift}" if rule.shift else ""
        limit = f" ({limit_of(rule)}{lasting}{shift})" if rule.limit is not None else ""
        notes.append(f"{rule.id}: {rule.title}{limit}.")
    return notes + inferred_notes(frozenset[str]().union(*(rule.tables for rule in met)))


def unknowns(exceptions: Exceptions, zone: ZoneInfo = UTC_ZONE) -> list[str]:
    """What could not be judged, so that nothing found is not taken for good news."""
    notes = []
    is_one = bool(exceptions.coverage.scope.system)
    for rule, systems in exceptions.unseen:
        of = "" if is_one else f" of {', '.join(systems)}"
        notes.append(
            f"{rule.id}: not known, since the store has no figures for it{of} in this span."
        )
    for part in exceptions.lacking:
        of = "" if is_one else f" of {part.system}"
        notes.append(
            f"{part.rule.id}: not known in {part.missing:,} of"
            f" {counted(part.measured, 'interval')}{of}, which have no figures for it."
        )
    for name in dict.fromkeys(part.rule.id for part in exceptions.unjudged):
        parts = [part for part in exceptions.unjudged if part.rule.id == name]
        notes.append(_unjudged(parts, zone, with_system=not is_one))
    return notes


def _unjudged(parts: Sequence[Unjudged], zone: ZoneInfo, *, with_system: bool) -> str:
    """One note for what is too short to be judged by one rule, the longest first."""
    rule = parts[0].rule
    longest = sorted(parts, key=lambda p: (-p.minutes, p.system, p.object, p.last))
    named = [
        f"{f'{part.system} ' if with_system else ''}{part.object} for {_minutes(part.minutes)}"
        f" up to {clock(part.last, zone)}"
        for part in longest[:MOST_NAMED]
    ]
    more = [f"{len(parts) - MOST_NAMED} more"] if len(parts) > MOST_NAMED else []
    return (
        f"{rule.id}: too little data to judge figures {limit_of(rule)} next to time of which "
        f"nothing is known; the rule asks for {_minutes(rule.for_minutes)}: "
        f"{'; '.join([*named, *more])}."
    )


def _minutes(value: float) -> str:
    return length_of_time(timedelta(minutes=value))


def _limit(row: dict[str, Any]) -> str:
    if row["limit"] is None:
        return ""
    return f"{Comparison(row['comparison']).sign} {_number(row['limit'])}"


def _number(value: float) -> str:
    """Up to one decimal from 10 on, three significant digits below."""
    if abs(value) < 10:
        return f"{value:.3g}"
    return f"{value:,.1f}".removesuffix(".0")
