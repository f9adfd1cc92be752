"""A store of many small dumps with everything in it that lets engines differ.

Gaps, intervals and frames that repeat, wraps of counters, most kinds of damage, times that go back,
records of releases from 4.2 to 7.3, runs with companions, and classes of users.
"""

from __future__ import annotations

from pathlib import Path

from cpmon.cli.main import Status, run
from cpmon.store import Store, save_classes
from tests.virtual_devices import virtual_devices

SAMPLES = Path(__file__).resolve().parents[2] / "sample-data"
DUMPS = ("bad-day", "cp-regression", "linux-dasd-mdc", "pfault", "small-lab", "timer", "zvm73-smt")
SLICES = (
    ("2003-05-06T08:10", "2003-05-06T08:20"),
    ("2003-05-06T08:15", "2003-05-06T08:30", "--thin", "2"),
)
"""Parts of a dump that is whole in the store as well: two or three hold one interval."""


def damaged_store(folder: Path) -> Store:
    """Land them in a folder; takes 10 s."""
    root = folder / "store"
    lab = SAMPLES / "small-lab" / "LAB.mon.zst"
    dumps = [file for name in DUMPS for file in (SAMPLES / name).glob("*.mon.*")]
    for number, (since, until, *every) in enumerate(SLICES):
        part = folder / f"{number}.mon"
        _run("slice", lab, "--since", since, "--until", until, *every, "-o", part)
        dumps.append(part)
    (virtual := folder / "virtual.mon").write_bytes(virtual_devices())
    _run("ingest", *sorted(dumps), virtual, "--store", root)
    store = Store(root)
    save_classes(store, "linux LX*\ncms CMS*\n", "classes.txt")
    return store


def _run(*words: str | Path) -> None:
    """Run a command; dumps that are damaged, or are none, are what it is about."""
    status = run([str(word) for word in words])
    assert status in {Status.DONE, Status.WARNINGS, Status.DAMAGED}, words
