"""A validation as a reader sees it: what failed, what that means, what could not be looked at."""

from __future__ import annotations

import itertools
import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import pyarrow as pa

from ...schemas.field import Provenance
from ...schemas.registry import record_of, tables
from ..render.render import render
from .outcome import Outcome, Status, Validation
from .rule import Rule

SCHEMA = pa.schema(
    [
        ("rule", pa.string()),
        ("severity", pa.string()),
        ("status", pa.string()),
        ("checked", pa.int64()),
        ("bad", pa.int64()),
        ("title", pa.string()),
        ("reason", pa.string()),
    ]
)
"""A rule a row: `status` is failed, passed or not applicable, `reason` says why it is the last."""

_WIDTH = 100
_TIME = "%Y-%m-%d %H:%M:%S"


def render_validation(found: Validation, format: str = "table") -> bytes:
    """A validation as text, as one JSON document, or its rules in any other format of `render`.

    Raises:
        CpmonError: there is no such format.
    """
    if format in ("table", "text"):
        return "".join(f"{line}\n" for line in _lines(found)).encode()
    if format == "json":
        return (json.dumps(found.document(), indent=1, ensure_ascii=False) + "\n").encode()
    rows = [one.row() for one in found.outcomes]
    return render(pa.Table.from_pylist(rows, schema=SCHEMA), format, title="Validation")


def render_rules(rules: Iterable[Rule], format: str = "table") -> bytes:
    """The rules, a line each: what must hold, and where that was written.

    Raises:
        CpmonError: there is no such format.
    """
    rows = [
        {
            "rule": rule.id,
            "severity": str(rule.severity),
            "title": rule.title,
            "written_in": rule.place,
        }
        for rule in rules
    ]
    schema = pa.schema([(column, pa.string()) for column in ("rule", "severity", "title")])
    schema = schema.append(pa.field("written_in", pa.string()))
    table = pa.Table.from_pylist(rows, schema=schema)
    return render(table, "table" if format == "text" else format)


def heading(found: Validation) -> tuple[str, str]:
    """What was validated, in two lines."""
    failed, passed, rest = (len(found.of(status)) for status in Status)
    first = f"{failed} failed, {passed} passed, {rest} not applicable"
    where = f"System {found.scope.system}" if found.scope.system else "All systems"
    run = f", run {found.run_id}" if found.run_id else ""
    if found.first is None or found.last is None:
        return first, f"{where}{run}, no interval"
    noun = "interval" if found.intervals == 1 else "intervals"
    span = f"{_clock(found.first)} to {_clock(found.last)} UTC, {found.intervals:,} {noun}"
    return first, f"{where}{run}, {span}"


def notes(failed: Sequence[Outcome]) -> list[str]:
    """What rules that failed mean and what to do; those of one kind share a note."""
    groups: dict[str, list[str]] = {}
    for one in failed:
        said = f"{one.rule.meaning} {one.rule.remedy}".replace("\n", " ")
        groups.setdefault(said, []).append(one.rule.id)
    found = [f"{', '.join(rules)}: {said}" for said, rules in groups.items()]
    inferred = _inferred(failed)
    if inferred:
        whose, are = ("layout", "is") if len(inferred) == 1 else ("layouts", "are")
        found.append(f"The {whose} of {', '.join(inferred)}, on which this rests, {are} inferred.")
    return found


def _inferred(failed: Iterable[Outcome]) -> list[str]:
    """Records, as "USEACT (4.3)", that rules rest on and whose layout is inferred."""
    known = tables()
    records = {record_of(known[table]) for one in failed for table in one.rule.needs}
    inferred = [record for record in records if record.provenance is Provenance.INFERRED]
    ordered = sorted(inferred, key=lambda record: (record.domain, record.record))
    return [f"{record.name.upper()} ({record.domain}.{record.record})" for record in ordered]


def missing(found: Validation) -> list[tuple[str, list[str]]]:
    """Why rules do not apply, each reason with the rules that it is given for."""
    rest = sorted(found.of(Status.NOT_APPLICABLE), key=lambda one: (one.reason, one.rule.id))
    groups = itertools.groupby(rest, key=lambda one: one.reason)
    return [(reason, [one.rule.id for one in group]) for reason, group in groups]


def _lines(found: Validation) -> Iterator[str]:
    counts, span = heading(found)
    yield f"Validation: {counts}"
    yield span
    failed = found.of(Status.FAILED)
    if failed:
        yield ""
        yield from _table(failed)
        yield ""
        for said in notes(failed):
            yield from textwrap.wrap(said, _WIDTH, initial_indent="* ", subsequent_indent="  ")
        yield f"  The rows: cpmon validate --rows {failed[0].rule.id}"
    for reason, rules in missing(found):
        said = f"not applicable, {reason}: {', '.join(rules)}"
        yield from textwrap.wrap(said, _WIDTH, initial_indent="* ", subsequent_indent="  ")


def _table(failed: Iterable[Outcome]) -> list[str]:
    rows = [
        {
            "Severity": str(one.rule.severity),
            "Rule": one.rule.id,
            "Bad": one.bad,
            "Checked": one.checked,
            "Must hold": one.rule.title,
        }
        for one in failed
    ]
    return render(pa.Table.from_pylist(rows), "table").decode().splitlines()


def _clock(time: datetime) -> str:
    return time.strftime(_TIME)
