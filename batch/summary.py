"""What a batch reports to people: summary and status.

A summary for mail has at most 60 lines of 72 columns; its template `summary.txt` is printable
ASCII.
"""

from __future__ import annotations

import textwrap
import time
from datetime import UTC, datetime
from typing import Any

from ..core.text import counted, megabytes
from ..render.html import text_page
from ..store import Store
from .inbox import quarantined
from .log import ascii_line, ascii_path
from .plan import BatchPlan
from .result import BatchResult, Event, ExitStatus
from .state import FOLDER, SETTLED, State, load_state, lock_holder, read_history

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
    """Render the summary as text.

    Args:
        with_subject: begin with a subject line and an empty line.
    """
    head = [subject_line(result), ""] if with_subject else []
    rank = {"data_loss": 0, "warning": 1}
    serious = [(rank[s], code, n) for code, (s, n) in result.findings.items() if s in rank]
    text = text_page(
        __package__,
        "summary.txt",
        result=result,
        outcome=_OUTCOMES[result.status],
        ended=result.ended or datetime.now(UTC),
        systems=sorted(result.systems.items(), key=lambda item: (-item[1].dumps, item[0])),
        serious=[(code, count) for _, code, count in sorted(serious)],
        line=ascii_line,
        entry=_entry,
        totals=lambda counts: ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items())),
        counted=counted,
        megabytes=megabytes,
        minute=_minute,
        duration=_duration,
    )
    lines = [
        line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..." for line in text.splitlines()
    ]
    room = LINES - len(head)
    if len(lines) > room:
        more = len(lines) - room + 1
        lines = [*lines[: room - 1], f"... {more} more lines; the JSON twin has them all"]
    return "".join(f"{line}\n" for line in [*head, *lines])


def _entry(event: Event) -> str:
    """Formats an event as a list item of at most three lines."""
    detail = " ".join(map(_shortened, ascii_line(event.detail).split()))
    return textwrap.fill(
        f"{_shortened(ascii_line(event.what))}: {detail}",
        WIDTH - 2,
        initial_indent="  ",
        subsequent_indent="    ",
        max_lines=3,
    )


def _shortened(text: str) -> str:
    """Shortens a long word to its end, where paths differ."""
    return text if len(text) <= 48 else f"...{text[-45:]}"


def _minute(seconds: float | None) -> str:
    """Formats seconds since 1970 to the minute."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}" if seconds is not None else "-"


def _duration(seconds: float | None) -> str:
    """Formats a duration in its largest unit."""
    if seconds is None:
        return "-"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def batch_status(store: Store, plan: BatchPlan, last: int) -> dict[str, Any]:
    """The status as a JSON document: `now` a sentence; `runs`, `systems` and `waiting` rows.

    Args:
        last: maximum number of batches in `runs`.
    """
    folder = store.root / FOLDER
    state, now = load_state(store, folder), time.time()
    keys = ("started", "seconds", "ended_as", "status", "landed", "known")
    kinds = ("deferred", "quarantined", "trouble", "failures")
    success = f"{_minute(state.last_success)} UTC" if state.last_success is not None else "never"
    holder = lock_holder(folder)
    working = f"at work now: {holder}" if holder else "no batch is at work"
    return {
        "now": f"{working}; last success: {success}",
        "runs": [
            {
                **{key: entry.get(key) for key in keys},
                **{kind: entry.get("counts", {}).get(kind, 0) for kind in kinds},
                "run": entry.get("run"),
            }
            for entry in read_history(folder, last)
        ],
        "systems": [
            {
                "system": name,
                "dumps": totals.dumps,
                "records": totals.records,
                "last_interval": None if totals.last is None else _minute(totals.last / 1e6),
                "lag_s": None if totals.last is None else max(0, round(now - totals.last / 1e6)),
                "open_days": len(state.open.get(name, ())),
            }
            for name, totals in sorted(state.systems.items())
        ],
        "waiting": _waiting(state, plan),
    }


def _waiting(state: State, plan: BatchPlan) -> list[dict[str, Any]]:
    deferred = [
        ("deferred", path, since, "not complete")
        for path, (_, _, since) in sorted(state.observations.items())
    ]
    settled = [
        (outcome, path, mtime / 1e9, reason)
        for path, (_, mtime, outcome, reason) in sorted(state.files.items())
        if outcome not in SETTLED
    ]
    moved = [
        ("quarantined", str(file), file.stat().st_ctime, reason)
        for file, reason in quarantined(plan.batch.quarantine)
    ]
    return [
        {"state": name, "file": ascii_path(path), "since": _minute(since), "reason": reason}
        for name, path, since, reason in (*deferred, *settled, *moved)
    ]
