"""`cpmon validate` of ten million rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.store import Store

from .machine import MEGA
from .process import command
from .result import Bar, Row, Section

SCENARIO, RUN = "large-storage", "E12187E0"
BAR_S = 10.0
"""For ten million rows."""


def measure(folder: Path, rows: int, repetitions: int) -> list[Section]:
    """One section; every command runs in a process of its own.

    Args:
        folder: where the dump and the store are made, and deleted again.
        rows: at least so many land.

    Raises:
        AssertionError: a rule fails, or more than a few do not apply.
    """
    place = folder / f"{SCENARIO}-validated"
    shutil.rmtree(place, ignore_errors=True)
    store = Store(place / "store", create=True)
    landed = _landed(store, place / "dump", rows)
    result = place / "validation.json"
    words = ("validate", "--store", str(store.root), "--format", "json", "-o", str(result))
    processes = [command(*words) for _ in range(repetitions)]
    seconds, peak = min(s for s, _ in processes), max(p for _, p in processes)
    found = json.loads(result.read_text(encoding="utf-8"))
    counts = found["counts"]
    if found["worst"] not in (None, "info") or counts["not applicable"] > counts["passed"] / 20:
        raise AssertionError(f"{counts} rules of a sound store")
    shutil.rmtree(place)
    given = (
        f"`{SCENARIO}`, {landed:,} rows, {counts['passed']} rules; each in a process of its own,"
        f" shortest of {repetitions}"
    )
    lines = (Row("validate", {"s": seconds, "peak MB": peak / MEGA}),)
    bar = Bar(f"{landed / MEGA:.1f} million rows, s", seconds, BAR_S, at_least=False)
    return [Section("Validating", given, lines, (bar,))]


def _landed(store: Store, folder: Path, rows: int) -> int:
    """Land a run of at least so many rows: two short ones tell how many an interval brings."""
    scenario = load_scenario(SCENARIO)
    one, two = (write_run(scenario, RUN, folder / f"probe{n}", intervals=n).dump for n in (1, 2))
    probes = Store(folder / "probes", create=True)
    few, more = (_rows(probes, dump) for dump in (one, two))
    intervals = max(2, 1 + -(-(rows - few) // (more - few)))
    dump = write_run(scenario, RUN, folder, intervals=intervals).dump
    landed = _rows(store, dump)
    shutil.rmtree(folder)
    return landed


def _rows(store: Store, dump: Path) -> int:
    """Land a dump; how many rows that brings, of all tables."""
    return sum(ingest(dump, store).about["rows"].values())
