"""A validation as a reader sees it: what failed, what that means, what could not be looked at."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from ...render.html import html_page
from ...render.render import render
from ...render.text import bullets
from ..reductions.reductions import inferred_notes
from .outcome import Outcome, Status, Validation
from .rule import Rule

COLUMNS = ("rule", "severity", "status", "checked", "bad", "title", "reason")
SCHEMA = pa.schema([(n, pa.int64() if n in ("checked", "bad") else pa.string()) for n in COLUMNS])
"""A rule a row: `status` is failed, passed or not applicable, `reason` says why it is the last."""


def render_validation(validation: Validation, format: str = "table") -> bytes:
    """A validation as text, as a JSON document, as a page (html), or its rules by `render`.

    Raises:
        CpmonError: there is no such format.
    """
    if format in ("table", "text"):
        return "".join(f"{line}\n" for line in _lines(validation)).encode()
    if format == "html":
        return _page(validation)
    if format == "json":
        return (json.dumps(validation.document(), indent=1, ensure_ascii=False) + "\n").encode()
    return render(_table(validation.outcomes), format, title="Validation")


def _table(outcomes: Iterable[Outcome]) -> pa.Table:
    """Rules as `SCHEMA`."""
    return pa.Table.from_pylist([outcome.row() for outcome in outcomes], schema=SCHEMA)


def render_rules(rules: Iterable[Rule], format: str = "table") -> bytes:
    """The rules, a line each: what must hold, and where that was written.

    Raises:
        CpmonError: there is no such format.
    """
    schema = pa.schema([(n, pa.string()) for n in ("rule", "severity", "title", "written_in")])
    rows = [(rule.id, str(rule.severity), rule.title, rule.place) for rule in rules]
    named = [dict(zip(schema.names, row, strict=True)) for row in rows]
    table = pa.Table.from_pylist(named, schema=schema)
    return render(table, "table" if format == "text" else format)


def _counts(validation: Validation) -> str:
    failed, passed, rest = (len(validation.of(status)) for status in Status)
    return f"{failed} failed, {passed} passed, {rest} not applicable"


def _notes(failed: Sequence[Outcome]) -> list[str]:
    """What rules that failed mean and what to do; those of one kind share a note."""
    groups: dict[str, list[str]] = {}
    for outcome in failed:
        note = f"{outcome.rule.meaning} {outcome.rule.remedy}".replace("\n", " ")
        groups.setdefault(note, []).append(outcome.rule.id)
    notes = [f"{', '.join(rules)}: {note}" for note, rules in groups.items()]
    return notes + inferred_notes(table for outcome in failed for table in outcome.rule.needs)


def _missing(validation: Validation) -> list[tuple[str, list[str]]]:
    """Why rules do not apply, each reason with the rules that it is given for."""
    rest = sorted(
        validation.of(Status.NOT_APPLICABLE), key=lambda outcome: (outcome.reason, outcome.rule.id)
    )
    groups = itertools.groupby(rest, key=lambda outcome: outcome.reason)
    return [(reason, [outcome.rule.id for outcome in group]) for reason, group in groups]


def _lines(validation: Validation) -> Iterator[str]:
    yield f"Validation: {_counts(validation)}"
    yield validation.coverage.line()
    failed = validation.of(Status.FAILED)
    if failed:
        yield ""
        shown = _table(failed).select(["severity", "rule", "bad", "checked", "title"])
        shown = shown.rename_columns(["Severity", "Rule", "Bad", "Checked", "Must hold"])
        yield from render(shown, "table").decode().splitlines()
        yield ""
        yield from bullets(_notes(failed))
        yield f"  The rows: cpmon validate --rows {failed[0].rule.id}"
    yield from bullets(
        f"not applicable, {reason}: {', '.join(rules)}" for reason, rules in _missing(validation)
    )


def _page(validation: Validation) -> bytes:
    """One self-contained HTML page without a script."""
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
        version=validation.suite.get("meta", {}).get("great_expectations_version", ""),
    )
