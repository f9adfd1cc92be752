"""`cpmon list` against `cpmon ingest` of the same dump: looking inside must be worth it."""

from __future__ import annotations

import json
import os
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path

import cpmon.ingest
import cpmon.store  # noqa: F401 - loading libraries is not what is timed
from cpmon.cli.main import run

from .machine import MEGA
from .result import Bar, Row, Section
from .timing import Contestant, best_seconds

LISTING_BAR = 0.25
LIST, SHOW, CHECK, INGEST = "list", "show the first record", "check", "ingest"
NOTES = {
    LIST: "frames and headers of records; only the configuration is decoded",
    SHOW: "reads one window",
    CHECK: "decodes every record and looks at its values; writes nothing",
    INGEST: "dump to published store, every file synced",
}


def measure(dump: Path, repetitions: int) -> list[Section]:
    """One section.

    Raises:
        AssertionError: a command failed, or the list does not tell all bytes of the records.
    """
    check_list(dump)
    with tempfile.TemporaryDirectory(dir=dump.parent) as name:
        best = best_seconds(_contestants(dump, Path(name)), repetitions)
        best |= best_seconds({CHECK: lambda: command("check", str(dump))}, 1)
    size = dump.stat().st_size
    rows = tuple(
        Row(
            what,
            {"s": seconds, "MB/s": size / MEGA / seconds, "of ingest": seconds / best[INGEST]},
            NOTES[what],
        )
        for what, seconds in best.items()
    )
    given = f"dump of {size / MEGA:,.0f} MB in the page cache; best of {repetitions}, check once"
    bar = Bar("time to list / time to ingest", best[LIST] / best[INGEST], LISTING_BAR, False)
    return [Section("Looking inside a dump", given, rows, (bar,))]


def check_list(dump: Path) -> None:
    """What a list says of the dump is so.

    Raises:
        AssertionError: it is not.
    """
    with tempfile.TemporaryDirectory(dir=dump.parent) as name:
        file = Path(name) / "list.json"
        command("list", str(dump), "--format", "json", "-o", str(file))
        (listing,) = json.loads(file.read_text(encoding="utf-8"))
    listed = sum(kind["bytes"] for kind in listing["records"])
    size = dump.stat().st_size
    if listing["bytes"] != size or not 0.9 * size < listed < size or listing["findings"]:
        raise AssertionError(f"the list of {dump.name} tells {listed:,} of {size:,} bytes")


def command(*words: str) -> None:
    """Run a command without its output.

    Raises:
        AssertionError: it did not end well.
    """
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        status = run(list(words))
    if status != 0:
        raise AssertionError(f"cpmon {words[0]} ended with {status}")


def _contestants(dump: Path, folder: Path) -> dict[str, Contestant]:
    def ingest() -> None:
        command(INGEST, str(dump), "--store", str(folder / str(time.monotonic_ns())))

    return {
        LIST: lambda: command("list", str(dump)),
        SHOW: lambda: command("show", str(dump)),
        INGEST: ingest,
    }
