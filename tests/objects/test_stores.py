"""Stores in object storage, against a server: what lands, what is seen, what is asked for."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from cpmon.batch.alerts import Alerts
from cpmon.cli.main import Status
from cpmon.config import Settings
from cpmon.core.sql import text
from cpmon.ingest import following, ingest
from cpmon.ingest.following import Follower
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.check import collect_garbage
from cpmon.store.files import open_files
from cpmon.store.files.objects import ObjectFiles
from cpmon.store.format.manifest import Manifest
from tests.batch.fleet import hourly
from tests.cli import conftest as commands
from tests.cli.answer import Cpmon
from tests.ingest.test_following import land, live, relations, sets
from tests.objects.server import BUCKET, SECRET, Server

pytestmark = pytest.mark.slow
cpmon = commands.cpmon
LAB = Path(__file__).resolve().parents[2] / "sample-data" / "small-lab"
HALF = ("--system", "SMALLLAB", "--since", "2003-05-06T08:00", "--until", "2003-05-06T08:30")
WRITES = (
    ("ingest", LAB / "LAB.mon.zst"),
    ("reduce",),
    ("runs", "--define", "half", *HALF),
    ("classes", "set", "-"),
    ("reduce", "--jobs", "2"),
    ("store", "prune", "--keep", "interval=30d", "--as-of", "2003-06-30"),
    ("store", "rebuild"),
)
FEW = ("processors_by_time", "system_summary_by_time", "run_summary")
READS = (
    ("query", "SELECT count(*) AS rows, max(tod) AS last FROM monitor.sytprp"),
    ("query", "SELECT * FROM meta.dump ORDER BY ALL"),
    ("query", "SELECT * FROM meta.reduced ORDER BY ALL"),
    ("query", "busiest_users"),
    ("report", "user_resource_util"),
    ("report", "events"),
    ("exceptions",),
    ("validate",),
    ("runs",),
    ("classes", "show"),
)
KILLED = """
import os, sys
from cpmon.ingest import ingest
from cpmon.store import Store
from cpmon.store.files import open_files
from cpmon.store.files.objects import ObjectFiles
store = Store(sys.argv[2], create=True)
ObjectFiles.create = lambda *_: os._exit(9)
ingest(sys.argv[1], store)
"""


@pytest.fixture
def dumps(tmp_path: Path) -> list[Path]:
    """An hour of each of four days of two systems."""
    files = []
    for number, system in enumerate(("ALPHA", "BETA/2")):
        for day in range(4):
            files.append(tmp_path / f"{number}-{day}.mon")
            files[-1].write_bytes(hourly(system, number, 24 * day).data)
    return files


def test_every_command_answers_as_it_does_in_a_folder(cpmon: Cpmon, place: str, tmp_path: Path):
    for write in WRITES:
        answers = [
            cpmon(*write, "--store", store, stdin=b"SERVER TCPIP*\n")
            for store in (place, tmp_path / "store")
        ]
        assert answers[0].status is answers[1].status, answers[0].err
    for read in READS:
        here, there = (
            cpmon(*read, "--store", store, "--format", "json")
            for store in (tmp_path / "store", place)
        )
        assert here.status is there.status, there.err
        assert here.out, here.err
        assert without_times(there.text) == without_times(here.text), read
    assert Store(place).files.inside("reduced").folders


def test_sql_reads_no_other_object_and_no_key(place: str, cpmon: Cpmon, dumps: list[Path]):
    assert cpmon("ingest", dumps[0], "--store", place).status is Status.DONE
    other = f"s3://{BUCKET}/other/store"
    assert cpmon("ingest", dumps[1], "--store", other).status is Status.DONE
    files = [
        f"{root}/{file.name}"
        for root in (place, other)
        for file in Store(root).files.inside("").files
    ]
    assert len(files) > 1
    for source in (*(f"read_blob({text(file)})" for file in files), "duckdb_secrets()"):
        answer = cpmon("query", f"FROM {source}", "--store", place)
        assert answer.status is Status.USAGE, source
        assert SECRET not in answer.err


def without_times(text: str) -> object:
    """An answer without when its dumps landed."""
    answer = json.loads(text)
    for row in answer if isinstance(answer, list) else []:
        row.pop("landed_at", None)
    return answer


def test_several_processes_land_and_reduce_there(
    place: str, dumps: list[Path], s3: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CPMON_STORE", place)
    cpmon = [sys.executable, "-m", "cpmon"]
    subprocess.run([*cpmon, "ingest", "--jobs", "2", *dumps], check=True, capture_output=True)
    subprocess.run([*cpmon, "reduce", *FEW, "--jobs", "2"], check=True, capture_output=True)
    assert len(Store(place).dumps()) == len(dumps)
    with connect(Store(place), reductions()) as connection:
        reduced = connection.sql("SELECT count(*) FROM meta.reduced").fetchall()
    assert reduced[0][0] > 0


def test_of_two_writers_of_a_dump_one_lands_it(
    place: str, dumps: list[Path], monkeypatch: pytest.MonkeyPatch
):
    store, together, create = Store(place, create=True), Barrier(2), ObjectFiles.create

    def both_have_sent(files: ObjectFiles, name: str, data: bytes) -> bool:
        if name.endswith(".0.json"):
            together.wait(30)
        return create(files, name, data)

    monkeypatch.setattr(ObjectFiles, "create", both_have_sent)
    with ThreadPoolExecutor(2) as pool:
        landed = [*pool.map(lambda _: ingest(dumps[0], Store(place)), range(2))]
    assert sorted(each.already for each in landed) == [False, True]
    assert len(store.dumps()) == 1
    (dump,) = store.dumps()
    names = sorted(store.files.names("records"))
    assert names == sorted([f"{dump.folder}/{table}.parquet" for table in dump.tables]
                           + [f"{dump.folder}/dump.json"])  # fmt: skip
    assert not [*store.files.names("staging")]


def test_of_two_writers_under_two_names_one_lands_it_too(
    place: str, dumps: list[Path], monkeypatch: pytest.MonkeyPatch
):
    Store(place, create=True)
    together, find = Barrier(2), Manifest.find
    asked: list[str] = []

    def both_have_looked(manifest: Manifest, name: str) -> object:
        found = find(manifest, name)
        asked.append(name)
        if len(asked) <= 2:
            together.wait(30)
        return found

    monkeypatch.setattr(Manifest, "find", both_have_looked)
    with ThreadPoolExecutor(2) as pool:
        named = pool.map(lambda name: ingest(dumps[0], Store(place), system=name), ("A", "B"))
        landed = {each.system: each.already for each in named}
    (dump,) = Store(place).dumps()
    assert not landed[dump.system]
    assert Store(place).files.exists(f"{dump.folder}/interval.parquet")


def test_a_dump_whose_writer_died_is_not_seen_and_goes_away(
    place: str, dumps: list[Path], cpmon: Cpmon
):
    ingest(dumps[0], Store(place, create=True))
    died = subprocess.run([sys.executable, "-c", KILLED, dumps[1], place], check=False)
    assert died.returncode == 9
    store = Store(place)
    (seen,) = store.dumps()
    sent = [name for name in store.files.names("records") if not name.startswith(seen.folder)]
    assert sent
    with connect(store) as connection:
        counted = connection.sql("SELECT count(DISTINCT dump) FROM monitor.sytprp").fetchall()
    assert counted == [(1,)]
    store.clean()  # its writer may be at work
    assert set(sent) <= set(store.files.names("records"))
    collect_garbage(store, -60)
    assert set(sent) <= set(store.files.names("records")), "it is whole: its line may be lost"
    assert not ingest(dumps[1], Store(place)).already
    collect_garbage(Store(place), -60)
    assert set(sent).isdisjoint(store.files.names("records"))
    assert len(Store(place).dumps()) == 2


def test_a_question_about_a_day_looks_at_its_dumps_only(
    place: str, dumps: list[Path], s3: Server, cpmon: Cpmon
):
    assert cpmon("ingest", *dumps, "--store", place).status == 0
    question = """SELECT count(*) AS rows FROM interval.sytprp
        WHERE interval_end >= '2001-12-20' AND interval_end < '2001-12-21'"""
    first = cpmon("query", question, "--store", place, "--format", "json").rows
    before = len(s3.requests())
    assert cpmon("query", question, "--store", place, "--format", "json").rows == first
    assert first[0]["rows"] > 0
    root = place.removeprefix(f"s3://{BUCKET}/")
    asked = [r for r in s3.requests()[before:] if r.name.startswith(root)]
    listed = {r.name.removeprefix(f"{root}/") for r in asked if r.method == "LIST"}
    assert listed <= {"manifest/", "runs/", "reduced/"}, listed
    read = {r.name for r in asked if r.method in ("GET", "HEAD") and "/records/" in r.name}
    days = {name.partition("date=")[2][:10] for name in read}
    assert days <= {"2001-12-19", "2001-12-20", "2001-12-18"}, days
    assert len(asked) < 40, len(asked)


def test_pruned_samples_go_though_the_process_be_killed(
    place: str, dumps: list[Path], cpmon: Cpmon, monkeypatch: pytest.MonkeyPatch
):
    assert cpmon("ingest", *dumps[:2], "--store", place).status == 0
    assert cpmon("reduce", "--store", place).status == 0
    store = Store(place)
    before = set(store.files.names("records"))
    prune = ("store", "prune", "--raw", "1d", "--as-of", "2030-01-01", "--store", place)

    def killed(_: ObjectFiles, names: Iterable[str]) -> None:
        if list(names):
            raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(ObjectFiles, "delete", killed)
        cpmon(*prune)
    assert set(store.files.names("records")) == before
    assert [dump.pruned for dump in store.dumps()] == [True, False]
    assert cpmon(*prune).status == 0  # removes what is left
    assert set(store.files.names("records")) < before
    assert not [*store.files.names("staging")]
    rows = "SELECT count(*) AS rows FROM monitor.sytprp"
    assert cpmon("query", rows, "--store", place, "--format", "json").rows == [{"rows": 0}]


def test_nothing_is_kept_on_this_machine_but_caches(place: str, dumps: list[Path]):
    store = Store(place, create=True)
    ingest(dumps[0], store)
    connect(store).close()
    assert store.root.is_relative_to(Path(os.environ["XDG_CACHE_HOME"]))
    for file in sorted(store.root.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    with connect(Store(place)) as connection:
        assert connection.sql("SELECT count(*) FROM meta.dump").fetchall() == [(1,)]


def test_the_files_of_a_store_in_a_folder_can_be_copied_there(
    place: str, dumps: list[Path], tmp_path: Path
):
    folder = Store(tmp_path / "store", create=True)
    ingest(dumps[0], folder)
    files = open_files(place)
    for name in folder.files.names():
        files.replace(name, folder.files.read(name))
    with connect(Store(place)) as connection:
        ((counted,),) = connection.sql("SELECT count(*) FROM monitor.sytprp").fetchall()
    assert counted > 0


def test_dumps_of_a_month_are_merged_there(place: str, tmp_path: Path, cpmon: Cpmon):
    for day in (0, 1, 2, 40):
        (tmp_path / f"{day}.mon").write_bytes(hourly("ALPHA", 0, 24 * day).data)
    assert cpmon("ingest", *sorted(tmp_path.glob("*.mon")), "--store", place).status == 0
    query = "SELECT dump, count(*) AS rows, max(tod) AS last FROM monitor.sytprp GROUP BY ALL"
    questions = [("query", f"{query} ORDER BY ALL"), ("query", "FROM meta.dump ORDER BY dump")]
    questions.append(("report", "processors_by_time", "--since", "2001-12-19T00:00"))
    words = ("--store", place, "--format", "json")
    before = [cpmon(*question, *words).text for question in questions]
    assert all(before)
    assert "3 dumps of 1 month" in cpmon("store", "compact", "--store", place).out.decode()
    store = Store(place)
    collect_garbage(store, -60)
    assert len({name.split("/")[2] for name in store.files.names("records")}) == 1
    assert not [*store.files.names("staging")]
    assert [cpmon(*question, *words).text for question in questions] == before


def test_what_is_followed_lands_there_part_by_part(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(following, "FAN", 3)
    chunks = [*sets(*range(1, 7)), *sets(1441, 1442, named=False)]
    there, here = Store(place, create=True), Store(tmp_path / "here", create=True)
    for store in (there, here):
        with Follower(store, "a.mon") as follower:  # and is killed
            assert len([*itertools.islice(follower.follow(live(*chunks)), 4)]) == 4
        land(Store(store.location), live(*chunks))
        assert land(Store(store.location), live(*chunks)) == []

    assert relations(Store(place)) == relations(here)
    told = tmp_path / "alerts.jsonl"
    told.touch()
    alerts = Alerts(Store(place), Settings(), told)
    alerts.catch_up()
    assert "monitor-gap" in told.read_text()
