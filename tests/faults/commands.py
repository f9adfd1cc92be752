"""Every command that changes several files, with a site for it; and what a site looks like."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from blake3 import blake3
from pyiceberg.catalog.sql import SqlCatalog

from cpmon.cli.main import run
from cpmon.schemas.registry import shipped
from cpmon.store import Store
from cpmon.store.check import collect_garbage
from cpmon.store.export.iceberg import CATALOG
from cpmon.store.format.landed_dump import ABOUT
from cpmon.store.results.entries import Entries
from tests.faults.conftest import dump_of
from tests.pages import Line, draft

DAY = 720
"""Dumps of faults/conftest that are so far apart are of different days."""
BY_TIME, OF_RUNS = "processors_by_time", "run_summary"
TIMES = {
    *("landed_at", "pruned_at", "started", "ended", "seconds", "last_success", "run", "lag"),
    *("steps", "looks", "pid", "landed", "known", "counts", "files", "trouble", "pruned"),
}
"""What differs from run to run of a command that does the same."""
UNIQUE = ("history.jsonl", ".lock", "summary.txt", ".reason.txt", "first.txt")


@dataclass(frozen=True)
class Command:
    """A command line of a site, and how the site is made for it.

    `reads`: it makes the catalogue if that is missing; the next that writes cleans up after it.
    """

    prepare: Callable[[Path], None]
    words: tuple[str, ...]
    reads: bool = False


def cpmon(*words: str | Path) -> None:
    status = run([str(word) for word in words])
    assert int(status) in (0, 3, 5), words


def put(folder: Path, *numbers: int, name: str = "dumps") -> list[Path]:
    """Dumps that were complete an hour ago."""
    (folder / name).mkdir(exist_ok=True, parents=True)
    files = [folder / name / f"{number}.mon" for number in numbers]
    for file, number in zip(files, numbers, strict=True):
        file.write_bytes(dump_of(number))
        os.utime(file, (time.time() - 3600,) * 2)
    return files


def landed(folder: Path, *numbers: int) -> Path:
    store = folder / "store"
    cpmon("ingest", *put(folder, *numbers), "--store", store)
    return store


def nothing(folder: Path) -> None:
    folder.mkdir(exist_ok=True)


def dumps(folder: Path) -> None:
    """A store with a dump, another dump with a run file beside it."""
    landed(folder, 0)
    put(folder, 1)
    (folder / "dumps" / "1.run.toml").write_text('run_id = "R1"\n', encoding="utf-8")


def outdated(folder: Path) -> None:
    """Results, and a dump of the same day that makes them outdated."""
    dumps(folder)
    cpmon("reduce", BY_TIME, OF_RUNS, "--store", folder / "store")
    cpmon("ingest", folder / "dumps" / "1.mon", "--store", folder / "store")


def old(folder: Path) -> None:
    """Two days and one of another month, of which two reductions are kept."""
    cpmon("reduce", BY_TIME, OF_RUNS, "--store", landed(folder, 0, DAY, 20 * DAY))


def a_day(folder: Path) -> None:
    """A day, reduced."""
    cpmon("reduce", "--store", landed(folder, 0))


def months(folder: Path) -> None:
    """Two months, reduced one after the other, so that the first is not merged yet."""
    store = landed(folder, 0, DAY)
    cpmon("reduce", BY_TIME, "--store", store)
    landed(folder, 40 * DAY)


def a_month(folder: Path) -> None:
    """A month of two dumps that were merged, and another dump."""
    months(folder)
    cpmon("store", "compact", "--store", folder / "store")


DROPPED = tuple(blake3(dump_of(number)).hexdigest(length=16) for number in (0, 40 * DAY))
"""One of the month, and the other one."""


def unnamed(folder: Path) -> None:
    """A store without its manifest."""
    shutil.rmtree(landed(folder, 0, 40 * DAY) / "manifest")


def asked(folder: Path) -> None:
    store = landed(folder, 0)
    cpmon("runs", "--store", store, "-o", folder / "runs.txt")
    (folder / "classes.txt").write_text("WEB U1*\n", encoding="utf-8")


def page(folder: Path) -> None:
    """A record of a later release with a field more: its layout and two lists change."""
    made = draft(shipped(), "sytrsp", "5.4.0")
    made.lines[-1:] = [Line(72, "Unsigned", 4, "SYTRSP_NEWER", "New things")]
    made.lines[0].length = 76
    folder.mkdir(exist_ok=True)
    (folder / "page.html").write_text(made.html(), encoding="utf-8")


def settings(folder: Path) -> None:
    """Those of a batch."""
    folder.mkdir(exist_ok=True)
    (folder / "cpmon.toml").write_text(BATCH, encoding="utf-8")


def inbox(folder: Path) -> None:
    """A batch with all that it can do: landing, quarantine, retention, outputs."""
    landed(folder, 0)
    put(folder, DAY, name="inbox")
    bad = folder / "inbox" / "bad.mon"
    bad.write_bytes(b"no dump at all")
    os.utime(bad, (time.time() - 3600,) * 2)
    settings(folder)
    cpmon("batch", "run", "--config", folder / "cpmon.toml", "-q", "-o", folder / "first.txt")
    put(folder, 2 * DAY, name="inbox")
    bad.write_bytes(b"again no dump")
    os.utime(bad, (time.time() - 3600,) * 2)


BATCH = """
store = "store"
[[inbox]]
folder = "inbox"
[batch]
quarantine = "bad"
summary = "out/summary.txt"
metrics = "out/cpmon.prom"
[retention]
interval = "1d"
raw = "1d"
[[output]]
report = "SYSTEM_SUMMARY2_BY_TIME"
path = "out/{date}-{system}.txt"
"""


def rotated(folder: Path) -> None:
    """Files of a folder in which one replaces the other, with gaps of which alerts tell."""
    put(folder, 0, 2, 4, 6, 8, 10)


SITE = "{site}"
ICEBERG = "iceberg"
STORE = ("--store", f"{SITE}/store")
COMMANDS = {
    "ingest": Command(dumps, ("ingest", f"{SITE}/dumps/1.mon", *STORE)),
    "follow": Command(
        rotated,
        ("follow", f"{SITE}/dumps", *STORE, "--alerts", f"{SITE}/alerts", "--idle", "1s"),
    ),
    "reduce": Command(outdated, ("reduce", BY_TIME, OF_RUNS, *STORE)),
    "store prune": Command(
        old,
        (
            *("store", "prune", *STORE, "--keep", "interval=1d,hour=2d", "--raw", "1d"),
            *("--as-of", "2002-01-07"),
        ),
    ),
    "store compact": Command(months, ("store", "compact", *STORE)),
    "store export": Command(asked, ("store", "export", *STORE, "--iceberg", f"{SITE}/{ICEBERG}")),
    "store drop": Command(a_month, ("store", "drop", *STORE, *DROPPED)),
    "store rebuild": Command(unnamed, ("store", "rebuild", *STORE)),
    "runs": Command(
        asked,
        (
            *("runs", *STORE, "--define", "R", "--system", "VMFAULT", "-o", f"{SITE}/runs.txt"),
            *("--since", "2001-12-18T10:00", "--until", "2001-12-18T11:00"),
        ),
    ),
    "classes set": Command(asked, ("classes", "set", f"{SITE}/classes.txt", *STORE)),
    "query": Command(
        asked, ("query", "SELECT 1 AS a", *STORE, "-o", f"{SITE}/runs.txt"), reads=True
    ),
    "report": Command(a_day, ("report", "--html", *STORE, "-o", f"{SITE}/pages"), reads=True),
    "schema import": Command(
        page,
        ("schema", "import", f"{SITE}/page.html", "--into", f"{SITE}/own"),
    ),
    "generate": Command(
        nothing,
        ("generate", "timer", "--run", "2600P", "--intervals", "1", "-o", f"{SITE}/dumps"),
    ),
    "slice": Command(dumps, ("slice", f"{SITE}/dumps/1.mon", "-o", f"{SITE}/cut.mon.gz")),
    "batch run": Command(inbox, ("batch", "run", "--config", f"{SITE}/cpmon.toml", "-q")),
}
"""Commands that write more than one file, or remove any."""
COMPOSED = {"demo": ("generate", "ingest", "reduce", "report")}
"""Commands that do what others do, one after the other."""
LIKE = {
    "query": (
        "list",
        "show",
        "check",
        "doctor",
        "notebook",
        "top",
        "exceptions",
        "explain",
        "forecast",
        "whatif",
        "validate",
        "compare",
        "shell",
        "serve",
        "batch status",
        "store info",
        "store check",
        "store catalogue",
        "completion",
        "schema list",
        "schema show",
        "schema dictionary",
        "schema diff",
        "schema export",
        "classes show",
        "classes of",
        "config show",
        "config check",
    ),
    "slice": ("merge", "damage"),
}
"""A command -> others that write as it does: at most the catalogue, and one file by one rename."""


FORMAT = ("records", "months", "manifest", "reduced")
"""Folders of a store whose names of files differ from run to run."""


def snapshot(site: Path) -> dict[str, Any]:
    """Each file and folder, with what must be the same however often a command was run."""
    found: dict[str, Any] = {}
    if (site / "store" / "store.json").exists():
        found |= _told(Store(site / "store"))
    for path in sorted(site.rglob("*")):
        name = str(path.relative_to(site))
        if not name.startswith((ICEBERG, *(f"store/{each}" for each in FORMAT))):
            found[name] = "folder" if path.is_dir() else _content(path)
    if (site / ICEBERG).exists():
        found[ICEBERG] = _registered(site / ICEBERG)
    return found


def _told(store: Store) -> dict[str, Any]:
    """The dumps and results of a store; what it has beside them has to be garbage."""
    store.clean()
    collect_garbage(store, -60)
    found: dict[str, Any] = {}
    files = set[Path]()
    for dump in store.dumps():
        about = _without_times(store.about(dump.dump))
        folder = store.root / about.pop("folder")
        found[dump.dump] = about, dump.is_merged, sorted(dump.tables)
        files |= {folder / ABOUT}
        for table in dump.tables:
            files.add(folder / f"{table}.parquet")
            rows = _content(folder / f"{table}.parquet")
            own = pc.equal(rows["dump"], dump.dump) if dump.is_merged else [True] * len(rows)
            found[f"{dump.dump} {table}"] = rows.filter(own)
    for entry in Entries(store).all():
        files.add(store.root / entry.file)
        name = f"{entry.result} {entry.level} {entry.system} {list(entry.days)}"
        found[name] = entry.days, entry.version, _content(store.root / entry.file)
    there = {f for each in FORMAT for f in (store.root / each).rglob("*.parquet")}
    assert there == {file for file in files if file.suffix == ".parquet"}
    return found


def _registered(folder: Path) -> dict[str, list[str]]:
    """The files of each Iceberg table: names of their metadata are never the same."""
    catalog = SqlCatalog("cpmon", uri=f"sqlite:///{folder / CATALOG}")
    names = [name for space in catalog.list_namespaces() for name in catalog.list_tables(space)]
    files = {".".join(n): catalog.load_table(n).inspect.data_files() for n in names}
    catalog.close()
    return {name: sorted(rows["file_path"].to_pylist()) for name, rows in files.items()}


def _content(path: Path) -> Any:
    if path.name.endswith(UNIQUE):
        return "a file"
    if path.suffix == ".parquet":
        rows = pq.ParquetFile(path).read()
        return rows.drop_columns([name for name in rows.column_names if name in TIMES])
    if path.suffix == ".json":
        return _without_times(json.loads(path.read_text(encoding="utf-8")))
    if path.suffix == ".prom":
        return re.sub(r"[^\n]*(time|seconds|success|run|cpmon_files)[^\n]*", "", path.read_text())
    return hashlib.blake2b(path.read_bytes()).hexdigest()


def _without_times(said: Any) -> Any:
    if isinstance(said, dict):
        return {key: _without_times(value) for key, value in said.items() if key not in TIMES}
    return said
