"""A path is never a pattern: every command works in a folder of any name as in any other folder."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.core.errors import StoreError
from cpmon.ingest import ingest
from cpmon.store import Store
from cpmon.store.files import plain_paths
from cpmon.store.files.plain_paths import plain_path
from tests.batch.site import Site
from tests.cli import conftest as commands
from tests.cli.answer import Cpmon
from tests.faults.conftest import dump_of

cpmon = commands.cpmon
LAB = Path(__file__).resolve().parents[2] / "sample-data" / "small-lab" / "LAB.mon.zst"
A_MONTH = 22_000
"""Dumps of `dump_of` that are so far apart are of different months."""
ALL = "o[d]d*?\\ {a}=%d%{name}#'\"\N{LATIN SMALL LETTER E WITH ACUTE};$&,:+@~!"
ODD = [
    *("st[1]", "st?x", "st*", "**", "[", "[!a]", "[[]", "back\\slash", "\\", "\\[x", "a\\*b"),
    *("system=OTHER", "env=prod/date=1999-01-01/dump=d", "vmduser=U9", "level=hour", "a b "),
    *("it's", 'say "so"', "{a,b}", "%41", "#1", "~", "new\nline", "-o", ALL),
]
CONFIG = """[[output]]
report = "PROCESSORS_BY_TIME"
path = "out/{system}/{date}.%Y.csv"
[batch]
summary = "out/%j.txt"
"""


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stores in folders that patterns would find, some with rows; one that DuckDB cannot list."""
    folder = tmp_path_factory.mktemp("beside")
    for name in ("st1", "stAx", "sta", "a", "b", "back", "\\\\"):
        Store(folder / name / "s", create=True)
    dumps = dumps_in(tmp_path_factory.mktemp("dumps"), 0, 1)
    for name in ("st1", "stAx", "a"):
        for file in dumps:
            ingest(file, Store(folder / name / "s"), system="BESIDE")
    return folder


@pytest.fixture(autouse=True)
def _neighbours(beside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(beside, tmp_path, dirs_exist_ok=True)


def dumps_in(folder: Path, *numbers: int) -> list[Path]:
    files = [folder / f"{number}.mon" for number in numbers]
    for file, number in zip(files, numbers, strict=True):
        file.write_bytes(dump_of(number))
    return files


QUICK = (ODD[0], "st*", "back\\slash", "system=OTHER", "level=hour", "it's", "-o", ALL)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in ODD]
)
def test_a_store_in_a_folder_of_any_name_shows_its_own_rows(
    name: str, tmp_path: Path, cpmon: Cpmon
):
    folder = tmp_path / name
    folder.mkdir(parents=True)
    dumps = dumps_in(tmp_path, 0, 1)
    assert cpmon("ingest", *dumps, "--store", folder / "s").status is Status.DONE
    sql = "select system, count(*) as n from monitor.sytrsp group by all order by all"
    answer = cpmon("query", sql, "--format", "json", "--store", folder / "s")
    assert answer.out, answer.err
    assert [(row["system"], row["n"]) for row in answer.rows] == [("VMFAULT", 12)]
    columns = cpmon("query", "describe monitor.sytrsp", "--format", "json", "--store", folder / "s")
    beside = cpmon("query", "describe monitor.sytrsp", "--format", "json", "--store", "st1/s")
    assert columns.rows == beside.rows


def answers(folder: Path, cpmon: Cpmon) -> Iterator[tuple[str, Status, str]]:
    """What every command says in a folder, without the name of that."""
    folder.mkdir(parents=True)
    store, dumps = folder / "s", dumps_in(folder, 0, 1, A_MONTH)
    at = ("--store", store)
    sql = "select * exclude (dump, landed_at, source) from meta.dump order by all"
    for words in (
        ("ingest", LAB, *dumps[:2], *at),
        ("query", sql, *at),
        ("report", "PROCESSORS_BY_TIME", *at),
        ("reduce", "processors_by_time", "system_summary_by_time", *at),
        ("report", "PROCESSORS_BY_TIME", "--by", "hour", *at),
        ("ingest", dumps[2], *at),
        ("reduce", "processors_by_time", "system_summary_by_time", *at),
        ("store", "compact", *at),
        ("report", "PROCESSORS_BY_TIME", *at),
        ("query", "select count(*) from interval.sytrsp", *at),
        ("store", "rebuild", *at),
        ("runs", *at),
        ("runs", "--add", "R1", *at),
        ("validate", *at),
        ("exceptions", *at),
        ("store", "info", *at),
        ("store", "export", "--iceberg", folder / "ice", *at),
        ("store", "prune", "--keep", "interval=1d", *at),
        ("report", "PROCESSORS_BY_TIME", "--by", "hour", *at),
        ("check", *dumps),
        ("list", *dumps),
        ("doctor", dumps[0], "-o", folder / "doctor.md"),
        ("slice", dumps[0], "-o", folder / "slice.mon.gz"),
        ("check", folder / "slice.mon.gz"),
        ("merge", *dumps, "-o", folder / "merged.mon"),
        ("report", "PROCESSORS_BY_TIME", "-o", folder / "report.xlsx", *at),
        ("report", "PROCESSORS_BY_TIME", "-o", folder / "report.csv", *at),
        ("generate", "small-lab", "--intervals", "2", "-o", folder / "made"),
    ):
        answer = cpmon(*words)
        said = answer.text + answer.err
        for place in (folder, plain_path(folder)):
            said = said.replace(str(place), "FOLDER")
        said = re.sub(r"\(?\d+(\.\d+)? (s\b|MB/s\))|\d\d:\d\d:\d\d( UTC)?", "", said)
        yield " ".join(map(str, words[:2])).replace(str(folder), ""), answer.status, said
    shell = cpmon("shell", *at, stdin=b".tables\nselect count(*) from meta.dump;\n")
    yield "shell", shell.status, shell.text


@pytest.mark.long
def test_every_command_says_the_same_in_a_folder_of_any_name(tmp_path: Path, cpmon: Cpmon):
    odd = answers(tmp_path / f"system=X/{ALL}", cpmon)
    for plain, other in zip(answers(tmp_path / "plain", cpmon), odd, strict=True):
        assert other == plain


@pytest.mark.slow
def test_a_batch_works_in_a_folder_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / f"system=X/{ALL}"
    folder.mkdir(parents=True)
    site = Site(folder)
    site.configure(CONFIG)
    monkeypatch.chdir(folder)
    for config in ("cpmon.toml", site.config):
        site.put("a.mon.zst", LAB.read_bytes())
        shutil.rmtree(site.store, ignore_errors=True)
        assert commands.run(["batch", "run", "--config", str(config)]) is Status.DONE
        written = {file.relative_to(folder / "out") for file in (folder / "out").glob("**/*.*")}
        assert {file.suffix for file in written} == {".csv", ".txt"}
        assert {file.parent.name for file in written} == {"SMALLLAB", ""}
    assert {file.name for file in folder.iterdir()} == {"cpmon.toml", "inbox", "out", "store"}


def test_a_path_of_usual_characters_stays_as_it_is(tmp_path: Path):
    assert plain_path("/data/perf-1/s_t.d @x") == "/data/perf-1/s_t.d @x"
    assert plain_path("here") == str(tmp_path / "here")


def test_a_path_that_is_no_text_has_a_plain_name(tmp_path: Path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    folder.mkdir()
    (folder / "a").write_text("x")
    assert Path(plain_path(folder / "a")).read_text() == "x"


def test_a_link_that_leads_elsewhere_is_made_again(tmp_path: Path):
    folder = tmp_path / "a*b"
    link = Path(plain_path(folder))
    link.unlink()
    link.symlink_to(tmp_path)
    assert plain_path(folder) == str(link)
    assert link.readlink() == folder


def test_links_are_not_made_where_others_may_change_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = tmp_path / "cache" / "cpmon" / plain_paths.FOLDER
    place.mkdir(parents=True)
    place.chmod(0o777)
    assert not plain_path(tmp_path / "a*b").startswith(str(place))
    place.chmod(0o700)
    assert plain_path(tmp_path / "a*b").startswith(str(place))


def test_without_a_plain_place_for_links_the_remedy_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(plain_paths, "_folders", lambda: iter(()))
    with pytest.raises(StoreError, match="no folder can hold a link") as caught:
        plain_path(tmp_path / "a*b")
    assert "XDG_CACHE_HOME" in (caught.value.remedy or "")
