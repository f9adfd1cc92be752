"""The summary of a batch for mail: at most 60 lines of 72 columns, printable ASCII."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from .log import ascii_line
from .result import BatchResult, Event, ExitStatus

LINES = 60
WIDTH = 72
_OUTCOMES = {
    ExitStatus.DONE: "done",
    ExitStatus.FAILED: "FAILED",
    ExitStatus.WARNINGS: "done, with warnings",
    ExitStatus.INVALID: "done, VALIDATION FAILED",
    ExitStatus.INTERRUPTED: "interrupted",
}


def subject_line(result: BatchResult) -> str:
    """The subject line of a mail."""
    parts = [f"{result.landed} new dumps"]
    kinds = ("quarantined", "rejected", "trouble", "failures")
    parts += [f"{result.counts[k]} {k}" for k in kinds if result.counts[k]]
    return f"Subject: cpmon batch {_OUTCOMES[result.status]}: {', '.join(parts)}"[:WIDTH]


def render_summary(result: BatchResult, *, with_subject: bool = False) -> str:
    """The summary as text.

    Args:
        with_subject: a subject line and an empty line come first.
    """
    head = [subject_line(result), ""] if with_subject else []
    lines = [_cut(line) for line in _lines(result)]
    room = LINES - len(head)
    if len(lines) > room:
        more = len(lines) - room + 1
        lines = [*lines[: room - 1], f"... {more} more lines; the JSON twin has them all"]
    return "".join(f"{line}\n" for line in [*head, *lines])


def _lines(result: BatchResult) -> Iterator[str]:
    ended = result.ended or datetime.now(UTC)
    yield f"cpmon batch: {_OUTCOMES[result.status]} (exit status {int(result.status)})"
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
    yield from _rules(result)
    yield from _events("quarantined", result, "quarantined", 5)
    yield from _events("no dumps, left where they are", result, "rejected", 5)
    yield from _events("deferred", result, "deferred", 3)


def _systems(result: BatchResult) -> Iterator[str]:
    if not result.systems:
        return
    yield from ("", "system     dumps intervals     records  last interval    lag")
    shown = sorted(result.systems.items(), key=lambda item: (-item[1].dumps, item[0]))
    for name, part in shown[:10]:
        last = datetime.fromtimestamp(part.last, UTC) if part.last is not None else None
        yield (
            f"{ascii_line(name)[:10]:<10} {part.dumps:>5} {part.intervals:>9,} {part.records:>11,}"
            f"  {f'{last:%Y-%m-%d %H:%M}' if last else '-':<16} {_duration(part.lag)}"
        )
    if len(shown) > 10:
        yield f"... and {len(shown) - 10} more systems"


def _findings(result: BatchResult) -> Iterator[str]:
    if not result.findings:
        return
    totals = sorted(result.by_severity().items())
    yield from ("", f"findings  {', '.join(f'{count:,} {name}' for name, count in totals)}")
    rank = {"data_loss": 0, "warning": 1}
    serious = [(rank[s], code, n) for code, (s, n) in result.findings.items() if s in rank]
    for _, code, count in sorted(serious)[:6]:
        yield f"  {code} x {count:,}"


def _rules(result: BatchResult) -> Iterator[str]:
    parts = (
        ("validation", result.validation, result.broken),
        ("exceptions", result.exceptions, result.worst),
    )
    for title, counts, events in parts:
        if +counts:
            totals = ", ".join(f"{counts[severity]:,} {severity}" for severity in sorted(+counts))
            yield from ("", f"{title} {totals}")
        for event in events[:6]:
            yield f"  {ascii_line(event.what)[:8]} {ascii_line(event.detail)}"


def _events(title: str, result: BatchResult, kind: str, limit: int) -> Iterator[str]:
    events: Sequence[Event] = getattr(result, kind)
    count = result.counts[kind]
    if not count:
        return
    yield from ("", f"{title} ({count:,})")
    for event in events[:limit]:
        detail = " ".join(map(_shortened, ascii_line(event.detail).split()))
        text = f"{_shortened(ascii_line(event.what))}: {detail}"
        yield from textwrap.wrap(
            text, WIDTH - 2, initial_indent="  ", subsequent_indent="    ", max_lines=3
        )
    if count > limit:
        yield f"  ... and {count - limit:,} more"


def _shortened(text: str) -> str:
    """The end of a long word: paths differ there."""
    return text if len(text) <= 48 else f"...{text[-45:]}"


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."


def _duration(seconds: float | None) -> str:
    """A duration in its largest unit."""
    if seconds is None:
        return "-"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
