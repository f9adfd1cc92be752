"""What `cpmon batch status` tells: the runs so far, the lag of systems, and the files that wait."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from ..store import Store
from .history import history
from .lock import holder
from .memory import SETTLED, Memory, recall
from .plain import plain_path
from .plan import Plan
from .quarantine import held
from .running import FOLDER

Rows = list[dict[str, Any]]


def state(store: Store, plan: Plan, last: int) -> dict[str, Any]:
    """Everything, for JSON as well: `now` a sentence; `runs`, `systems` and `waiting` rows."""
    folder = store.root / FOLDER
    memory, runs = recall(store, folder), history(folder, last)
    return {
        "now": _now(holder(folder), memory),
        "runs": [_run(said) for said in runs],
        "systems": _systems(memory),
        "waiting": _waiting(memory, plan),
    }


def _now(who: str, memory: Memory) -> str:
    done = memory.last_success
    when = f"{_minute(done)} UTC" if done is not None else "never"
    return f"{f'at work now: {who}' if who else 'no batch is at work'}; last success: {when}"


def _run(said: dict[str, Any]) -> dict[str, Any]:
    counts = said.get("counts", {})
    return {
        "started": said.get("started"),
        "seconds": said.get("seconds"),
        "ended_as": said.get("ended_as"),
        "status": said.get("status"),
        "landed": said.get("landed"),
        "known": said.get("known"),
        **{kind: counts.get(kind, 0) for kind in ("deferred", "quarantined", "trouble")},
        "failures": counts.get("failures", 0),
        "run": said.get("run"),
    }


def _systems(memory: Memory) -> Rows:
    now = time.time()
    return [
        {
            "system": name,
            "dumps": known.dumps,
            "records": known.records,
            "last_interval": None if known.last is None else _minute(known.last / 1e6),
            "lag_s": None if known.last is None else max(0, round(now - known.last / 1e6)),
            "open_days": len(memory.open.get(name, ())),
        }
        for name, known in sorted(memory.systems.items())
    ]


def _waiting(memory: Memory, plan: Plan) -> Rows:
    rows = [
        {
            "state": "deferred",
            "file": plain_path(path),
            "since": _minute(seen),
            "reason": "not complete",
        }
        for path, (_, _, seen) in sorted(memory.looks.items())
    ]
    rows += [
        {
            "state": outcome,
            "file": plain_path(path),
            "since": _minute(mtime / 1e9),
            "reason": reason,
        }
        for path, (_, mtime, outcome, reason) in sorted(memory.files.items())
        if outcome not in SETTLED
    ]
    rows += [
        {
            "state": "quarantined",
            "file": plain_path(str(file)),
            "since": _minute(file.stat().st_ctime),
            "reason": reason,
        }
        for file, reason in held(plan.quarantine)
    ]
    return rows


def _minute(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
