"""A store in which files of a dump are missing: what is, and how it gets whole again, is said."""

from __future__ import annotations

import functools
import itertools
import re
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from cpmon.cli.main import Status, run
from cpmon.store import Store, answers, connect
from cpmon.store.check import collect_garbage
from cpmon.store.connection import Connection
from cpmon.store.files import location, objects
from cpmon.store.files.files import Files
from cpmon.store.format.compaction import compact, months
from tests.batch.fleet import hourly
from tests.cli import conftest as commands
from tests.cli.answer import Answer, Cpmon

cpmon = commands.cpmon
PLACES = ("on a disk", "in object storage")
ROWS = (
    "SELECT dump, count(*) AS rows, sum(pfxutime) AS used FROM monitor.sytprp GROUP BY 1 ORDER BY 1"
)
DUMPS = "SELECT dump, intervals FROM meta.dump ORDER BY 1"
BY_TIME = "SELECT interval_end, cpu, busy_tod FROM processors_by_time ORDER BY ALL"
DAYS = {"first": "2001-12-18", "second": "2001-12-19", "late": "2001-12-20"}
LOST = {
    "its folder": ("date=2001-12-20", "", ("late",)),
    "one table": ("date=2001-12-20", "sytprp.parquet", ("late",)),
    "its intervals": ("date=2001-12-20", "interval.parquet", ("late",)),
    "one table of a month": ("months/", "sytprp.parquet", ("first", "second")),
    "one table of a month that one dump has": ("months/", "mtrspr.parquet", ("first",)),
}
"""Files -> the dumps that lack them then. A month has the first and the second, late came later."""


@dataclass
class Site:
    """A store of four dumps, of which two were merged, in a place."""

    cpmon: Cpmon
    store: str
    folder: Path
    names: dict[str, str] = field(default_factory=dict)

    def do(self, *words: object) -> Answer:
        return self.cpmon(*words, "--store", self.store)

    def ask(self, sql: str) -> list[dict[str, Any]]:
        answer = self.do("query", sql, "--format", "json")
        assert answer.status is Status.DONE, answer.err
        return answer.rows

    def ingest(self, *names: str) -> Answer:
        return self.do("ingest", *(self.folder / f"{n}.mon" for n in names), "--system", "ALPHA")

    def named(self, dump: str) -> str:
        """What a dump is called here."""
        return next(name for name, known in self.names.items() if known == dump)

    @property
    def files(self) -> Files:
        return location.open_files(self.store)

    def lose(self, place: str, file: str) -> None:
        """Remove the files of an end from a place, and folders that are empty then."""
        gone = [name for name in self.files.names() if place in name and name.endswith(file)]
        assert gone
        self.files.delete(gone)
        if self.files.is_local:
            for folder in {Path(self.store, name).parent for name in gone}:
                if not any(folder.iterdir()):
                    folder.rmdir()


def trials(*quick: tuple[str, str]) -> pytest.MarkDecorator:
    """All places and losses; only a few of them are quick."""
    every = itertools.product(PLACES, LOST)
    marked = [pytest.param(*t, marks=() if t in quick else pytest.mark.slow) for t in every]
    return pytest.mark.parametrize(("site", "lost"), marked, indirect=["site"])


@dataclass(frozen=True)
class Made:
    """Such a store as it is made once for each place, and copied for each test.

    `objects`: what it is in object storage.
    """

    folder: Path
    names: dict[str, str]
    objects: dict[str, bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    return functools.cache(lambda place: make(place, tmp_path_factory.mktemp("made")))


def make(place: str, folder: Path) -> Made:
    memory = MemoryStore()
    store = str(folder / "store") if place == PLACES[0] else "s3://perf/made"
    for name, day, damage in (
        *(("first", 0, ""), ("second", 1, "no configuration")),
        *(("late", 2, ""), ("next", 40, "")),
    ):
        (folder / f"{name}.mon").write_bytes(hourly("ALPHA", 0, 24 * day, damage).data)
    first = [str(folder / f"{name}.mon") for name in ("first", "second", "next")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objects, "_opened", lambda _location: memory)
        for words in (
            ("ingest", *first, "--system", "ALPHA"),
            ("store", "compact"),
            ("ingest", str(folder / "late.mon"), "--system", "ALPHA"),
        ):
            assert run([*words, "--store", store]) in (Status.DONE, Status.WARNINGS)
        with connect(Store(store)) as connection:
            dumps = connection.sql("SELECT source, dump FROM meta.dump").fetchall()
    kept = {entry["path"]: bytes(memory.get(entry["path"]).bytes())
            for page in memory.list() for entry in page}  # fmt: skip
    return Made(folder, {Path(source).stem: dump for source, dump in dumps}, kept)


@pytest.fixture
def site(
    request: pytest.FixtureRequest,
    cpmon: Cpmon,
    made: Callable[[str], Made],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Site:
    whole, memory = made(request.param), MemoryStore()
    monkeypatch.setattr(objects, "_opened", lambda _location: memory)
    if request.param == PLACES[0]:
        store = str(shutil.copytree(whole.folder / "store", tmp_path / "store"))
    else:
        store = f"s3://perf/{secrets.token_hex(6)}"
        for name, data in whole.objects.items():
            memory.put(name, data)
    return Site(cpmon, store, whole.folder, whole.names)


@pytest.mark.slow
@trials((PLACES[1], "one table of a month that one dump has"), (PLACES[0], "its folder"))
def test_what_is_missing_is_named_and_lands_again(site: Site, lost: str):
    place, file, lacking = LOST[lost]
    whole = {sql: site.ask(sql) for sql in (ROWS, DUMPS, BY_TIME)}
    site.lose(place, file)
    gone = {site.names[name] for name in lacking}

    assert site.ask("SELECT 1 AS a") == [{"a": 1}], "what reads no record needs none"
    answer = site.do("query", ROWS, "--format", "json")
    if answer.status is not Status.DONE:
        assert "cpmon store check" in answer.err and "Traceback" not in answer.err
    else:  # the question needs no such file
        assert answer.rows == whole[ROWS]

    found = site.do("store", "check", "--format", "json")
    assert found.status is Status.WARNINGS
    assert {row["name"] for row in found.rows} == {
        f"dump {name[:12]} of ALPHA, {DAYS[site.named(name)]}" for name in gone
    }
    named = [re.findall(r"cpmon store drop ([0-9a-f]+)", row["remedy"])[0] for row in found.rows]
    dropped = site.do("store", "drop", *named)
    assert dropped.status is Status.DONE, dropped.err
    assert "all its files are there" in site.do("store", "check").text
    left = [row for row in whole[ROWS] if row["dump"] not in gone]
    assert site.ask(ROWS) == left
    assert [row for row in site.ask(BY_TIME) if row not in whole[BY_TIME]] == []
    site.do("store", "rebuild")
    assert site.ask(ROWS) == left, "what was dropped stays so"
    assert "landed as" in site.ingest(*lacking).text
    assert {sql: site.ask(sql) for sql in whole} == whole


def test_a_question_whose_files_are_merged_meanwhile_is_answered(
    cpmon: Cpmon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    site = Site(cpmon, str(tmp_path / "store"), tmp_path)
    for name, day in (("first", 0), ("second", 1), ("next", 40)):
        (tmp_path / f"{name}.mon").write_bytes(hourly("ALPHA", 0, 24 * day).data)
    site.ingest("first", "second", "next")
    whole, ask = site.ask(ROWS), answers.ask

    def merged_meanwhile(connection: Connection, sql: str, *rest: Any) -> Any:
        connection.make_named(sql)
        store = Store(site.store)
        assert compact(store, months(store)).dumps == 2
        assert collect_garbage(store) == 0
        return ask(connection, sql, *rest)

    monkeypatch.setattr(answers, "ask", merged_meanwhile)
    assert site.ask(ROWS) == whole


@pytest.mark.parametrize("site", PLACES, indirect=True)
def test_a_dump_whose_line_was_lost_is_named_again(site: Site):
    before = site.ask(DUMPS)
    late = site.names["late"]
    site.lose("manifest/", f"{late}.0.json")
    assert [row["dump"] for row in site.ask(DUMPS)] == sorted({*site.names.values()} - {late})
    found = site.do("store", "check", "--format", "json")
    assert [row["remedy"] for row in found.rows] == ["cpmon store rebuild"]
    assert late[:12] in found.rows[0]["found"]
    collect_garbage(Store(site.store), -60)
    assert f"dump {late[:12]} is named again" in site.do("store", "rebuild").text
    assert site.ask(DUMPS) == before
    assert "all its files are there" in site.do("store", "check").text


@pytest.mark.parametrize("site", PLACES, indirect=True)
def test_what_cannot_be_dropped_is_said(site: Site):
    for name in ("", "f", "nobody", "reduced/none"):
        answer = site.do("store", "drop", name)
        assert answer.status is Status.USAGE or "dump" in answer.err, answer.err
    assert len(site.ask(DUMPS)) == 4
