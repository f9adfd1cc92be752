"""Own files of a store that are lost or damaged: every command answers, or names the file.

Each command that reads a store is tried with each kind of file, damaged in one way; the next
command with the next way, so that the commands damage each file in each way. What a command
prints without a word about the file is what it prints when nothing is damaged.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from blake3 import blake3

from cpmon.cli.main import Status
from tests.batch.fleet import hourly
from tests.cli import conftest as commands
from tests.cli.answer import Answer, Cpmon

cpmon = commands.cpmon
REDUCTION = "system_summary_by_time"
KEPT = f"reduced/{REDUCTION}/level="
FILES = {
    "marker": "store.json",
    "manifest": "manifest",
    "line of a dump": "manifest/system=ALPHA/2001-12/{late}.0.json",
    "lines of a month": "manifest/*/2001-12/dumps.*[2-9].jsonl",
    "dump": "records/*/date=2001-12-20/*/*/dump.json",
    "dumps of a month": "months/*/*/dump.json",
    "table": "records/*/date=2001-12-20/*/*/sytprp.parquet",
    "table of a month": "months/*/*/interval.parquet",
    "run": "runs/am.json",
    "classes": "classes.txt",
    "entries of results": "manifest/*/2001-12/results.*.jsonl",
    "result": f"{KEPT}interval/system=ALPHA/2002-*.parquet",
    "result of a month": f"{KEPT}interval/system=ALPHA/2001-12.*.parquet",
    "roll-up of a month": f"{KEPT}hour/system=ALPHA/2001-12.*.parquet",
    "meanings": f"reduced/{REDUCTION}/columns.json",
    "definitions": "reduced/definitions.json",
    "batch": "batch/state.json",
}
"""Each kind of file that a store has."""


def missing(file: Path) -> None:
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink()


def cut(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def with_a_list(file: Path) -> None:
    """A column of numbers becomes one of lists."""
    rows = pq.ParquetFile(file).read()
    place = next(n for n, c in enumerate(rows.schema) if str(c.type) in ("double", "int64"))
    lists = pa.array([[1]] * len(rows))
    pq.write_table(rows.set_column(place, rows.column_names[place], lists), file)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": missing,
    "empty": lambda file: file.write_bytes(b""),
    "cut": cut,
    "garbage": lambda file: file.write_bytes(b"\x00\xff garbage \xfe" * 20),
    "of another version": lambda file: file.write_text('{"version": 99, "days": 7}\n'),
    "with a list": with_a_list,
}
UNKNOWN = {
    ("line of a dump", "missing"): "nobody can know that there was a dump",
    ("lines of a month", "missing"): "nor these",
    ("run", "missing"): "nor a run",
    ("classes", "missing"): "nor classes",
    ("classes", "empty"): "then there are none",
    ("classes", "cut"): "it is text: another pattern",
    ("entries of results", "missing"): "nor results, of which none is lost that can be computed",
}
"""What is not seen, and why: answers may differ without a word."""
STORE = "{store}"
READERS = {
    "rows": ("query", "SELECT dump, count(*) AS rows FROM monitor.sytprp GROUP BY 1 ORDER BY 1"),
    "intervals": ("query", "SELECT system, interval_end FROM meta.interval ORDER BY ALL"),
    "dumps and runs": ("query", "SELECT dump, run_id FROM meta.dump, meta.run ORDER BY ALL"),
    "a reduction": ("query", f"SELECT * FROM {REDUCTION} ORDER BY ALL"),
    "report": ("report", REDUCTION, "--system", "ALPHA"),
    "report by hour": ("report", REDUCTION, "--system", "ALPHA", "--by", "1h"),
    "pages": ("report", "--html", "--run", "am", "-o", "{pages}"),
    "exceptions": ("exceptions", "--system", "ALPHA"),
    "validate": ("validate", "--system", "ALPHA"),
    "compare": ("compare", "--run", "am", "--base", "pm"),
    "runs": ("runs",),
    "classes": ("classes", "show"),
}
WRITERS = {
    "info": ("store", "info"),
    "ingest": ("ingest", "{dump}"),
    "reduce": ("reduce", REDUCTION, "run_summary"),
    "compact": ("store", "compact"),
    "prune": ("store", "prune", "--keep", "interval=1d", "--raw", "1d"),
    "rebuild": ("store", "rebuild"),
    "check": ("store", "check"),
    "export": ("store", "export", "--iceberg", "{export}"),
    "define": ("runs", "--define", "new", "--system", "ALPHA", "--since", "2001-12-18T00:00",
               "--until", "2001-12-19T00:00"),
    "batch": ("batch", "run", "-q", "--config", "{settings}"),
    "batch status": ("batch", "status", "--config", "{settings}"),
}  # fmt: skip
ENDED = (Status.DONE, Status.WARNINGS, Status.INVALID)
DEAR = {"pages"}
"""It reads what `report` reads, and takes ten seconds a trial."""
QUICK = (
    ("manifest", "missing", "ingest"),
    ("dumps of a month", "cut", "rows"),
    ("run", "garbage", "dumps and runs"),
    ("run", "of another version", "prune"),
    ("result of a month", "with a list", "a reduction"),
    ("entries of results", "cut", "report"),
    ("result", "missing", "a reduction"),
    ("table", "cut", "report"),
)


@dataclass
class Site:
    """A folder with a store, dumps and settings, made again for each trial."""

    made: Path
    here: Path

    def renew(self) -> None:
        shutil.rmtree(self.here, ignore_errors=True)
        shutil.copytree(self.made, self.here)

    def file(self, kind: str) -> Path:
        late = blake3((self.here / "2.mon").read_bytes()).hexdigest(length=16)
        return max((self.here / "store").glob(FILES[kind].format(late=late)))

    def words(self, command: str) -> list[str]:
        places = {
            "{dump}": "2.mon",
            "{pages}": "pages",
            "{export}": "iceberg",
            "{settings}": "cpmon.toml",
        }
        words = (READERS | WRITERS)[command]
        said = [str(self.here / places[word]) if word in places else word for word in words]
        return said if "--config" in words else [*said, "--store", str(self.here / "store")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Two dumps of a month that were merged and reduced, one that came late, one of later."""
    from cpmon.cli.main import run

    folder = tmp_path_factory.mktemp("own")
    site = Site(folder / "made", folder / "site")
    (site.here / "inbox").mkdir(parents=True)
    (site.here / "cpmon.toml").write_text('store = "store"\n[[inbox]]\nfolder = "inbox"\n')
    for day in (0, 1, 2, 40):
        (site.here / f"{day}.mon").write_bytes(hourly("ALPHA", 0, 24 * day).data)
    (site.here / "classes.txt").write_text("WEB USER*\n", encoding="utf-8")
    at = ("--store", str(site.here / "store"))
    days = ("--since", "2001-12-18T00:00", "--until", "2001-12-20T00:00")
    for words in (
        ("ingest", *(str(site.here / f"{day}.mon") for day in (0, 1, 40)), *at),
        ("classes", "set", str(site.here / "classes.txt"), *at),
        *(("runs", "--define", name, "--system", "ALPHA", *days, *at) for name in ("am", "pm")),
        ("reduce", REDUCTION, *at),
        ("store", "compact", *at),
        ("ingest", str(site.here / "2.mon"), *at),
        ("batch", "run", "-q", "--config", str(site.here / "cpmon.toml")),
        ("query", "SELECT 1", *at),
    ):
        assert run([*words]) in ENDED, words
    site.here.rename(site.made)  # trials are where it was made: the catalogue is of that place
    return site


def check(site: Site, cpmon: Cpmon, kind: str, how: str, command: str, whole: Answer) -> None:
    site.renew()
    file = site.file(kind)
    DAMAGES[how](file)
    answer = cpmon(*site.words(command))
    told = f"{kind} {how}: {command}: {answer.status}\n{answer.err}"
    assert answer.status is not Status.FAILED, told
    assert "failure of cpmon" not in answer.err and "Traceback" not in answer.err, told
    names_it = any(name in answer.err for name in (file.name, file.parent.name))
    if answer.status not in ENDED:
        assert names_it or (kind, how) in UNKNOWN, told
        assert "remedy" in answer.err or kind == "classes", told
    elif command in READERS and (kind, how) not in UNKNOWN and not names_it:
        assert (answer.status, answer.out) == (whole.status, whole.out), told


def applies(kind: str, how: str) -> bool:
    suffix = Path(FILES[kind]).suffix
    if kind == "manifest":
        return how == "missing"
    return how != "with a list" or (FILES[kind].startswith("reduced/") and suffix == ".parquet")


@pytest.mark.parametrize(("kind", "how", "command"), QUICK)
def test_a_damaged_file_is_named_or_done_without(
    made: Site, cpmon: Cpmon, kind: str, how: str, command: str
):
    made.renew()
    check(made, cpmon, kind, how, command, cpmon(*made.words(command)))


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted({*READERS, *WRITERS} - DEAR))
def test_every_damaged_file_is_named_or_done_without(made: Site, cpmon: Cpmon, command: str):
    made.renew()
    whole = cpmon(*made.words(command))
    assert whole.status in ENDED, whole.err
    wrong: list[str] = []
    turn = [*READERS, *WRITERS].index(command)
    # Every fourth file, and the others for the next commands: each is damaged for five of them.
    for number, kind in [*enumerate(FILES)][turn % 4 :: 4]:
        ways = [how for how in DAMAGES if applies(kind, how)]
        try:
            check(made, cpmon, kind, ways[(number + turn // 4) % len(ways)], command, whole)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n\n".join(wrong)


def test_the_files_of_the_matrix_are_all_that_a_store_has(made: Site):
    made.renew()
    store = made.here / "store"
    known = {
        file.suffix + file.parts[len(store.parts)] for kind in FILES for file in [made.file(kind)]
    }
    every = {f.suffix + f.parts[len(store.parts)] for f in store.rglob("*") if f.is_file()}
    assert every - known <= {".jsonlbatch", "batch", "staging"}
    assert json.loads((store / "store.json").read_text())["version"]
