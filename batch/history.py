"""The runs of a store's batches, a line each: `batch/history.jsonl`, no longer than told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..store.store import replace_durably
from .result import Result

FILE = "history.jsonl"
SLACK = 1.2
"""How much longer than wanted it grows before it is cut."""


def remember(folder: Path, result: Result, most: int) -> None:
    """Add a run; where there are far more than `most`, forget the oldest."""
    said = result.as_dict()
    for long in ("written", "deferred", "broken", "worst"):
        del said[long]
    for kind in ("quarantined", "rejected", "trouble", "failures"):
        said[kind] = said[kind][:20]
    file = folder / FILE
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(said) + "\n")
    with file.open(encoding="utf-8", errors="replace") as stream:
        lines = sum(1 for _ in stream)
    if lines > most * SLACK:
        kept = file.read_text(encoding="utf-8", errors="replace").splitlines()[-most:]
        replace_durably(file, "\n".join(kept) + "\n")


def history(folder: Path, most: int) -> list[dict[str, Any]]:
    """The last runs, the newest first. A line that a crash cut is left out."""
    try:
        lines = (folder / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found: list[dict[str, Any]] = []
    for line in reversed(lines):
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and "run" in said and len(found) < most:
            found.append(said)
    return found
