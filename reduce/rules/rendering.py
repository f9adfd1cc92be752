"""Renders rules and their results, with their meanings and what could not be evaluated."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from ...config.moments import find_zone
from ...core.errors import CpmonError
from ...core.text import counted, length_of_time, printable
from ...render.html import html_page
from ...render.render import render
from ...render.text import bullets
from ..reductions.reductions import inferred_notes
from ..reports.cells import UTC_ZONE, clock
from .exceptions import Exceptions, Unjudged
from .rule import Comparison, Purpose, Rule
from .suite import Expectations
from .validation import RuleResult, Status, Validation

MOST_NAMED = 3
"""Maximum number of objects that a note names."""


def render_rules(rules: Sequence[Rule], format: str = "table") -> bytes:
    """A list of the rules of one purpose, with their conditions and sources.

    Raises:
        CpmonError: there is no such format, or no rule.
    """
    if not rules:
        raise CpmonError(
            "no rule is switched on",
            code="rules-disabled",
            remedy="look for enabled = false in the settings",
        )
    rows = [
        {
            "rule": rule.id,
            "severity": str(rule.severity),
            "area": rule.area,
            "limit": limit_of(rule),
            "minutes": rule.for_minutes,
            "shift": rule.shift,
            "title": rule.title,
            "written_in": rule.written_in,
        }
        for rule in rules
    ]
    table = pa.Table.from_pylist(rows)
    if rules[0].purpose is Purpose.VALIDATION:
        table = table.drop_columns(["area", "limit", "minutes", "shift"])  # of exceptions only
    return render(table, "table" if format == "text" else format)


def render_findings(
    found: Exceptions | Validation, format: str = "text", zone: str = "UTC"
) -> bytes:
    """Results as text with times in `zone`, or in any format of `render` with times in UTC.

    Validation is a document as JSON, and may be a page (html).

    Raises:
        CpmonError: there is no such format.
    """
    if format in ("text", "table"):
        if isinstance(found, Validation):
            lines = _validation(found)
        else:
            lines = _exceptions(found, find_zone(zone))
        return printable("\n".join(lines) + "\n").encode()
    if isinstance(found, Validation):
        if format == "html":
            return _page(found)
        if format == "json":
            return (json.dumps(found.document(), indent=1, ensure_ascii=False) + "\n").encode()
    return render(found.table, format, title=type(found).__name__)


def render_expectations(found: Expectations, format: str = "text") -> bytes:
    """Results of expectations: as text only those not met, as JSON all of them.

    Raises:
        CpmonError: there is no such format.
    """
    if format == "json":
        return (json.dumps(found.document(), indent=1, ensure_ascii=False) + "\n").encode()
    if format not in ("text", "table"):
        return render(found.table, format, title=type(found).__name__)
    met = sum(found.table["success"].to_pylist())
    names = ["reduction", "column", "expectation", "unexpected", "rows", "examples"]
    failed = found.table.slice(0, len(found.table) - met).select(names)
    shown = failed.rename_columns([name.capitalize() for name in names])
    head = (
        f"Expectations: {len(failed)} not met, {met:,} met, of"
        f" {counted(len(found.results), 'kept result')}"
    )
    lines = _lines(head, found.coverage.line(), shown, [])
    return printable("\n".join(lines) + "\n").encode()


def limit_of(rule: Rule) -> str:
    """The limit of a rule in words: above 90 %."""
    if rule.limit is None:
        return "any"
    return f"{rule.comparison} {_number(rule.limit)} {rule.unit}".rstrip()


def _lines(head: str, span: str, table: pa.Table, notes: Iterable[str]) -> list[str]:
    rows = ["", render(table, "table").decode().rstrip(), ""] if table.num_rows else []
    return [head, span, *rows, *bullets(notes)]


def _exceptions(found: Exceptions, zone: ZoneInfo) -> list[str]:
    count, unknown = found.table.num_rows, unknowns(found, zone)
    head = f"Exceptions: {count:,} by {counted(len(found.rules), 'rule')}"
    ids, notes = set(found.table.column("rule").to_pylist()), []
    met = [rule for rule in found.rules if rule.id in ids]
    for rule in met:
        lasting = f" for {_minutes(rule.for_minutes)}" if rule.for_minutes else ""
        shift = f", shift {rule.shift}" if rule.shift else ""
        limit = f" ({limit_of(rule)}{lasting}{shift})" if rule.limit is not None else ""
        said = (f"{rule.id}: {rule.title}{limit}.", rule.meaning, rule.remedy)
        notes.append(" ".join(filter(None, said)))
    notes += inferred_notes(frozenset[str]().union(*(rule.tables for rule in met)))
    if found.earlier:
        episodes = counted(found.earlier, "episode")
        notes.append(f"{episodes} began before this span: First is where.")
    lines = _lines(head, found.coverage.line(zone), pa.table(_columns(found, zone)), [])
    if not count:
        lines += ["", "No exceptions in what is known." if unknown else "No exceptions."]
    return lines + bullets([*notes, *unknown])


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
        "Limit": [
            ""
            if row["limit"] is None
            else f"{Comparison(row['comparison']).sign} {_number(row['limit'])}"
            for row in rows
        ],
        "At": [clock(row["worst_interval"], zone) for row in rows],
        "Dump": [(row["dump"] or "")[:12] for row in rows],  # as `cpmon ingest` prints them
        "Offset": ["" if (n := row["record_offset"]) is None else f"{n:#x}" for row in rows],
    }
    if exceptions.coverage.scope.system:
        del columns["System"]
    return columns


def unknowns(exceptions: Exceptions, zone: ZoneInfo = UTC_ZONE) -> list[str]:
    """Notes on what could not be evaluated, so that an empty result is not misread."""
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
    """One note for the values of a rule that lasted too short to decide, longest first."""
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


def _number(value: float) -> str:
    """Up to one decimal from 10 on, three significant digits below."""
    if abs(value) < 10:
        return f"{value:.3g}"
    return f"{value:,.1f}".removesuffix(".0")


def _counts(validation: Validation) -> str:
    failed, passed, rest = (len(validation.of(status)) for status in Status)
    return f"{failed} failed, {passed} passed, {rest} not applicable"


def _notes(failed: Sequence[RuleResult]) -> list[str]:
    """Meanings and remedies of failed rules; rules of the same kind share a note."""
    groups: dict[str, list[str]] = {}
    for outcome in failed:
        note = f"{outcome.rule.meaning} {outcome.rule.remedy}".replace("\n", " ")
        groups.setdefault(note, []).append(outcome.rule.id)
    notes = [f"{', '.join(rules)}: {note}" for note, rules in groups.items()]
    return notes + inferred_notes(table for outcome in failed for table in outcome.rule.needs)


def _missing(validation: Validation) -> list[tuple[str, list[str]]]:
    """Reasons why rules do not apply, each with its rules."""
    rest = sorted(
        validation.of(Status.NOT_APPLICABLE), key=lambda outcome: (outcome.reason, outcome.rule.id)
    )
    groups = itertools.groupby(rest, key=lambda outcome: outcome.reason)
    return [(reason, [outcome.rule.id for outcome in group]) for reason, group in groups]


def _validation(found: Validation) -> list[str]:
    failed, names = found.of(Status.FAILED), ["severity", "rule", "bad", "checked", "title"]
    shown = found.table.select(names).slice(0, len(failed))
    shown = shown.rename_columns(["Severity", "Rule", "Bad", "Checked", "Must hold"])
    head = f"Validation: {_counts(found)}"
    lines = _lines(head, found.coverage.line(), shown, _notes(failed))
    if failed:
        lines.append(f"  The rows: cpmon validate --rows {failed[0].rule.id}")
    missing = (f"{reason}: {', '.join(rules)}" for reason, rules in _missing(found))
    return lines + bullets(f"not applicable, {reason}" for reason in missing)


def _page(validation: Validation) -> bytes:
    failed = validation.of(Status.FAILED)
    return html_page(
        __package__,
        "validation.html",
        counts=_counts(validation),
        span=validation.coverage.line(),
        failed=failed,
        passed=validation.of(Status.PASSED),
        missing=_missing(validation),
        notes=_notes(failed),
    )
