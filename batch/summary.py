"""What a run did, fit for mail: at most 60 lines of 72 columns, plain ASCII."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from .plain import plain_line
from .result import Ended, Event, Result

LINES = 60
WIDTH = 72
_SAID = {
    Ended.DONE: "done",
    Ended.FAILED: "FAILED",
    Ended.WARNINGS: "done, with warnings",
    Ended.INVALID: "done, VALIDATION FAILED",
    Ended.INTERRUPTED: "interrupted",
}


def subject(result: Result) -> str:
    """A subject line for mail."""
    parts = [f"{result.landed} new dumps"]
    kinds = ("quarantined", "rejected", "trouble", "failures")
    parts += [f"{result.counts[k]} {k}" for k in kinds if result.counts[k]]
    return f"Subject: cpmon batch {_SAID[result.status]}: {', '.join(parts)}"[:WIDTH]


def summary(result: Result, *, with_subject: bool = False) -> str:
    """The account of a run.

    Args:
        with_subject: a subject line and an empty line stand before it.
    """
    head = [subject(result), ""] if with_subject else []
    lines = [_cut(line) for line in _lines(result)]
    room = LINES - len(head)
    if len(lines) > room:
        left = len(lines) - room + 1
        lines = [*lines[: room - 1], f"... {left} more lines; the JSON twin has them all"]
    return "".join(f"{line}\n" for line in [*head, *lines])


def _lines(result: Result) -> Iterator[str]:
    ended = result.ended or datetime.now(UTC)
    yield f"cpmon batch: {_SAID[result.status]} (exit status {int(result.status)})"
    yield f"run {result.run}"
    yield f"{result.started:%Y-%m-%d %H:%M:%S} to {ended:%H:%M:%S} UTC, {result.seconds:.1f} s"
    yield ""
    yield (
        f"files     {result.landed} landed, {result.known} known, "
        f"{result.counts['deferred']} deferred, {result.counts['quarantined']} quarantined, "
        f"{result.counts['rejected']} left"
    )
    yield f"outputs   {len(result.written)} written for {result.days} changed days"
    if result.removed[0]:
        yield f"retention {result.removed[0]:,} files removed, {result.removed[1] / 1e6:,.1f} MB"
    yield from _events("FAILURES", result, "failures", 8)
    yield from _events("TROUBLE", result, "trouble", 6)
    yield from _systems(result)
    yield from _findings(result)
    yield from _broken(result)
    yield from _events("quarantined", result, "quarantined", 5)
    yield from _events("no dumps, left where they are", result, "rejected", 5)
    yield from _events("deferred", result, "deferred", 3)


def _systems(result: Result) -> Iterator[str]:
    if not result.systems:
        return
    yield from ("", "system     dumps intervals     records  last interval    lag")
    shown = sorted(result.systems.items(), key=lambda item: (-item[1].dumps, item[0]))
    for name, part in shown[:10]:
        last = datetime.fromtimestamp(part.last, UTC) if part.last is not None else None
        yield (
            f"{plain_line(name)[:10]:<10} {part.dumps:>5} {part.intervals:>9,} {part.records:>11,}"
            f"  {f'{last:%Y-%m-%d %H:%M}' if last else '-':<16} {_length(part.lag)}"
        )
    if len(shown) > 10:
        yield f"... and {len(shown) - 10} more systems"


def _findings(result: Result) -> Iterator[str]:
    if not result.findings:
        return
    by = ", ".join(f"{count:,} {name}" for name, count in sorted(result.by_severity().items()))
    yield from ("", f"findings  {by}")
    rank = {"data_loss": 0, "warning": 1}
    grave = [(rank[s], code, n) for code, (s, n) in result.findings.items() if s in rank]
    for _, code, count in sorted(grave)[:6]:
        yield f"  {code} x {count:,}"


def _broken(result: Result) -> Iterator[str]:
    parts = (
        ("validation", result.validation, result.broken),
        ("exceptions", result.exceptions, result.worst),
    )
    for what, counted, events in parts:
        if +counted:
            said = ", ".join(f"{counted[severity]:,} {severity}" for severity in sorted(+counted))
            yield from ("", f"{what} {said}")
        for event in events[:6]:
            yield f"  {plain_line(event.what)[:8]} {plain_line(event.detail)}"


def _events(title: str, result: Result, kind: str, most: int) -> Iterator[str]:
    events: Sequence[Event] = getattr(result, kind)
    count = result.counts[kind]
    if not count:
        return
    yield from ("", f"{title} ({count:,})")
    for event in events[:most]:
        detail = " ".join(map(_tail, plain_line(event.detail).split()))
        said = f"{_tail(plain_line(event.what))}: {detail}"
        yield from textwrap.wrap(
            said, WIDTH - 2, initial_indent="  ", subsequent_indent="    ", max_lines=3
        )
    if count > most:
        yield f"  ... and {count - most:,} more"


def _tail(text: str) -> str:
    """The end of a long path: that is what tells files apart."""
    return text if len(text) <= 48 else f"...{text[-45:]}"


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."


def _length(seconds: float | None) -> str:
    """A length of time in its greatest unit."""
    if seconds is None:
        return "-"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
