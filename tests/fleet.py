"""A store of two systems with several days each, a gap, and damage; quickly made."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path

from bench.copies import copy_dump
from cpmon.generate import damaged, load_scenario, parse_damage, write_run
from cpmon.ingest import ingest
from cpmon.store import Store
from cpmon.store.check import rebuild
from cpmon.store.format.manifest import Manifest

SYSTEMS = {"PRODA": (1, 2), "PRODB": (1, 3)}
"""Days behind the first that each system has as well."""
DAMAGE = ("zero-frames:60%:2", "repeat-frames:30%:1")
"""What is wrong with the dumps of the second system."""


def fleet(
    folder: Path, *, intervals: int = 4, systems: Mapping[str, Collection[int]] = SYSTEMS
) -> Store:
    """Make the store in a new folder; nothing of it is reduced."""
    store = Store(folder / "store", create=True)
    for number, (system, days) in enumerate(systems.items()):
        place = folder / system
        run = write_run(
            load_scenario("small-lab"), "LAB", place, intervals=intervals, compression=None
        )
        dump = run.dump
        if number:
            dump, data = place / "damaged.mon", run.dump.read_bytes()
            kinds = [parse_damage(kind) for kind in DAMAGE]
            dump.write_bytes(b"".join(damaged([data], kinds, 0, len(data))))
        landed = ingest(dump, store, system=system)
        copy_dump(Path(str(store.find(landed.dump))), (timedelta(days=day) for day in days))
    rebuild(store)
    return store


def rebuilt(store: Store) -> None:
    """Make the manifest again from the files of dumps and results alone."""
    shutil.rmtree(store.root / "manifest")
    store.manifest = Manifest(store.files)  # whose numbers begin again
    rebuild(store)
