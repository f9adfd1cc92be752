"""A store as cpmon of version 1 of the format made it, in tests/store/version_1.tar.xz.

Made by the code of commit 820da43, in an empty folder, from its sample-data:

    cp sample-data/pfault/31C81X0.mon.zst sample-data/bad-day/FLIP-BITS.* .
    cp sample-data/bad-day/UNKNOWN-RECORD.mon.zst .
    for run in 31C81X0 FLIP-BITS UNKNOWN-RECORD; do cpmon ingest $run.mon.zst --store v1; done
    echo 'STAFF STAFF*' > classes.txt; cpmon classes set classes.txt --store v1
    cpmon reduce --store v1
    cpmon store prune --store v1 --raw 1d --as-of 2004-09-01
    rm v1/catalog.duckdb
    tar c --sort=name --owner=0 --group=0 -C v1 . | xz -9e > tests/store/version_1.tar.xz
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from cpmon.cli.main import run

ROOT = Path(__file__).resolve().parents[1]
PACKED = ROOT / "tests" / "store" / "version_1.tar.xz"
DUMPS = ("pfault/31C81X0", "bad-day/FLIP-BITS", "bad-day/UNKNOWN-RECORD")
WITH_RUN_FILE = "bad-day/FLIP-BITS"


def unpacked(store: Path) -> Path:
    """The store of version 1, in a new folder."""
    with tarfile.open(PACKED) as packed:
        packed.extractall(store, filter="data")
    return store


def landed_anew(folder: Path) -> Path:
    """The same dumps in a store that the code of today makes."""
    store, dumps = folder / "anew", folder / "dumps"
    dumps.mkdir()
    for dump in DUMPS:
        shutil.copy(ROOT / "sample-data" / f"{dump}.mon.zst", dumps)
    shutil.copy(ROOT / "sample-data" / f"{WITH_RUN_FILE}.run.toml", dumps)
    for dump in DUMPS:
        cpmon("ingest", dumps / f"{Path(dump).name}.mon.zst", "--store", store)
    return store


def in_the_same_state(store: Path, classes: Path) -> None:
    """Do with a store of these dumps what was done with that of version 1."""
    classes.write_text("STAFF STAFF*\n", encoding="utf-8")
    cpmon("classes", "set", classes, "--store", store)
    cpmon("reduce", "--store", store)
    cpmon("store", "prune", "--store", store, "--raw", "1d", "--as-of", "2004-09-01")


def cpmon(*words: str | Path) -> None:
    """Run a command that has to work."""
    assert run([str(word) for word in words]) in (0, 3), words
