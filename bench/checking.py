"""`cpmon check` and `cpmon validate` of four hours of `bank-day`, beside its ingest."""

from __future__ import annotations

import shutil
from pathlib import Path

from cpmon.generate import load_scenario, write_run

from .machine import MEGA
from .process import processor_seconds
from .result import Bar, Row, Section

SCENARIO, RUN = "bank-day", "BANKDAY"
CHECK_BAR = 1.5
"""Of the processor time of the ingest."""
VALIDATE_BAR_S = 5.0


def measure(folder: Path, intervals: int, repetitions: int) -> list[Section]:
    """One section of processor times; every command runs in a process of its own, in turn.

    Args:
        folder: where the dump and the store are made, and deleted again.
    """
    place = folder / f"{SCENARIO}-checked"
    shutil.rmtree(place, ignore_errors=True)
    dump = write_run(load_scenario(SCENARIO), RUN, place, intervals=intervals).dump
    store, output = str(place / "store"), str(place / "out.txt")
    commands = {
        "ingest": ("ingest", str(dump), "--store", store),
        "check": ("check", str(dump), "-o", output),
        "validate": ("validate", "--store", store, "-o", output),
    }
    least = dict.fromkeys(commands, float("inf"))
    for _ in range(repetitions):
        shutil.rmtree(store, ignore_errors=True)
        for name, words in commands.items():
            least[name] = min(least[name], processor_seconds(*words))
    given = (
        f"`{SCENARIO}` of {intervals} intervals, {dump.stat().st_size / MEGA:,.0f} MB; processor"
        f" time, each command in a process of its own; least of {repetitions}"
    )
    shutil.rmtree(place)
    bars = (
        Bar("check / ingest", least["check"] / least["ingest"], CHECK_BAR, at_least=False),
        Bar("validate, processor s", least["validate"], VALIDATE_BAR_S, at_least=False),
    )
    rows = tuple(Row(name, {"processor s": seconds}) for name, seconds in least.items())
    return [Section("Checking", given, rows, bars)]
