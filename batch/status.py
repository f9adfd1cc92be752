"""The status that `cpmon batch status` prints: last batches, lag of systems, waiting files."""

from __future__ import annotations

import time
from typing import Any

from ..store import Store
from .inbox import quarantined
from .log import ascii_path
from .plan import Plan
from .state import FOLDER, SETTLED, State, load_state, lock_holder, read_history
from .summary import minute

Rows = list[dict[str, Any]]
EVENTS = ("deferred", "quarantined", "trouble", "failures")
RUN = ("started", "seconds", "ended_as", "status", "landed", "known")


def batch_status(store: Store, plan: Plan, last: int) -> dict[str, Any]:
    """The status as a JSON document: `now` a sentence; `runs`, `systems` and `waiting` rows.

    Args:
        last: maximum number of batches in `runs`.
    """
    folder = store.root / FOLDER
    state = load_state(store, folder)
    return {
        "now": _now(lock_holder(folder), state),
        "runs": [_run(entry) for entry in read_history(folder, last)],
        "systems": _systems(state),
        "waiting": _waiting(state, plan),
    }


def _now(holder: str, state: State) -> str:
    success = f"{minute(state.last_success)} UTC" if state.last_success is not None else "never"
    working = f"at work now: {holder}" if holder else "no batch is at work"
    return f"{working}; last success: {success}"


def _run(entry: dict[str, Any]) -> dict[str, Any]:
    counts = entry.get("counts", {})
    return {
        **{key: entry.get(key) for key in RUN},
        **{kind: counts.get(kind, 0) for kind in EVENTS},
        "run": entry.get("run"),
    }


def _systems(state: State) -> Rows:
    now = time.time()
    return [
        {
            "system": name,
            "dumps": totals.dumps,
            "records": totals.records,
            "last_interval": None if totals.last is None else minute(totals.last / 1e6),
            "lag_s": None if totals.last is None else max(0, round(now - totals.last / 1e6)),
            "open_days": len(state.open.get(name, ())),
        }
        for name, totals in sorted(state.systems.items())
    ]


def _waiting(state: State, plan: Plan) -> Rows:
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
        {"state": name, "file": ascii_path(path), "since": minute(since), "reason": reason}
        for name, path, since, reason in (*deferred, *settled, *moved)
    ]
