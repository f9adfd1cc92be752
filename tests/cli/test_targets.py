"""What a command writes is never what it reads, nor a part of a store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.cli.output import Target
from cpmon.ingest import ingest
from cpmon.store import Store
from cpmon.store.format.store import OWN
from tests.cli.answer import Cpmon
from tests.commands import leaves
from tests.dumps import dump, fields, interval
from tests.scenarios import CONFIG

DATA = dump(
    interval(0, CONFIG, fields("sytrsp"), fields("sytprp")),
    interval(60, fields("sytrsp", 60), fields("sytprp", 60, pfxutime=1 << 32)),
    interval(120, fields("sytrsp", 120), fields("sytprp", 120, pfxutime=1 << 33)),
)
WRITERS = {
    "slice": "slice D --since 2001-12-18T10:01 -o T",
    "merge": "merge D -o T",
    "damage": "damage D truncate:50% -o T",
    "show": "show D -o T",
    "list": "list D -o T",
    "check": "check D --format csv -o T",
    "doctor": "doctor D -o T",
    "runs": "runs --store S -o T",
    "report": "report processors_by_time --store S -o T",
    "plot": "report processors_by_time --store S --plot T",
    "exceptions": "exceptions --store S -o T",
    "validate": "validate --store S -o T",
    "query": "query SELECT+1 --store S --format csv -o T",
    "store info": "store info --store S -o T",
    "classes show": "classes show --store S -o T",
    "config show": "config show --store S -o T",
}
"""Commands that write a file: D is a dump that has landed in the store S, T the target."""
LINKS: dict[str, Callable[[Path, Path], None]] = {
    "symbolic": lambda link, file: link.symlink_to(file),
    "hard": lambda link, file: link.hardlink_to(file),
}


@pytest.fixture
def landed(tmp_path: Path) -> Path:
    """A folder with a dump, whose name says no format, and a store that it has landed in."""
    file = tmp_path / "D1218"
    file.write_bytes(DATA)
    ingest(file, Store(tmp_path / "store", create=True))
    return tmp_path


def words(command: str, place: Path, target: Path) -> list[str]:
    named = {"D": str(place / "D1218"), "S": str(place / "store"), "T": str(target)}
    return [named.get(word, word.replace("+", " ")) for word in WRITERS[command].split()]


@pytest.mark.parametrize("command", WRITERS)
def test_a_dump_that_is_read_or_has_landed_is_not_replaced(
    command: str, cpmon: Cpmon, landed: Path
):
    answer = cpmon(*words(command, landed, landed / "D1218"))

    assert answer.status is Status.USAGE, answer.err
    assert "remedy    name another file with -o" in answer.err
    assert (landed / "D1218").read_bytes() == DATA


@pytest.mark.parametrize("kind", LINKS)
def test_links_to_an_input_are_the_input(kind: str, cpmon: Cpmon, landed: Path):
    link = landed / "link"
    LINKS[kind](link, landed / "D1218")

    answer = cpmon(*words("show", landed, link))

    assert answer.status is Status.USAGE
    assert f"found     the input {landed / 'D1218'}" in answer.err
    assert link.samefile(landed / "D1218")


@pytest.mark.parametrize("kind", [None, *LINKS])
@pytest.mark.parametrize("command", ["query", "slice", "report"])
def test_a_file_of_a_store_is_not_replaced(
    command: str, kind: str | None, cpmon: Cpmon, landed: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CPMON_STORE", str(landed / "store"))
    (target,) = landed.glob("store/records/*/*/*/*/sytprp.parquet")
    before = target.read_bytes()
    link = landed / "link"
    if kind:
        LINKS[kind](link, target)
    line = words(command, landed, link if kind else target)
    if command == "slice":
        line = [word if word != str(landed / "D1218") else str(other(landed)) for word in line]

    answer = cpmon(*line, *(["--format", "parquet"] if command == "query" else []))

    assert answer.status is Status.USAGE, answer.err
    assert target.read_bytes() == before
    assert not kind or link.samefile(target)


def other(place: Path) -> Path:
    """A dump that has not landed."""
    file = place / "other.mon"
    file.write_bytes(
        dump(interval(0, CONFIG, fields("sytrsp")), interval(180, fields("sytrsp", 180)))
    )
    return file


def test_all_that_a_store_writes_is_its_own(cpmon: Cpmon, landed: Path):
    store = ("--store", landed / "store")
    cpmon("reduce", "processors_by_time", *store)
    cpmon("classes", "set", "-", *store, stdin=b"ALL *\n")
    cpmon("store", "compact", *store)
    cpmon("report", "processors_by_time", *store)
    assert {file.name for file in (landed / "store").iterdir()} <= OWN


def test_a_new_file_is_not_put_among_those_of_a_store(cpmon: Cpmon, landed: Path):
    for target in ("records/new.csv", "manifest/x", "store.json", "pages/../runs/a.json"):
        answer = cpmon("runs", "--store", landed / "store", "-o", landed / "store" / target)
        assert "a file of a store would be replaced" in answer.err, answer.err
    pages = landed / "store" / "records" / "pages"
    answer = cpmon("report", "--html", "--store", landed / "store", "-o", pages)
    assert (answer.status, pages.exists()) == (Status.USAGE, False)
    assert cpmon("runs", "--store", landed / "store", "-o", landed / "store" / "own.csv").err == ""


def test_the_dumps_of_the_store_of_the_environment_are_kept_too(
    cpmon: Cpmon, landed: Path, monkeypatch: pytest.MonkeyPatch
):
    line = ("slice", other(landed), "-o", landed / "D1218")
    monkeypatch.setenv("CPMON_STORE", str(landed / "store"))
    answer = cpmon(*line)
    assert "a dump that has landed would be replaced" in answer.err
    assert (landed / "D1218").read_bytes() == DATA
    monkeypatch.delenv("CPMON_STORE")
    assert cpmon(*line).status is Status.DONE


def test_files_that_a_command_names_are_its_inputs(cpmon: Cpmon, landed: Path):
    files = {name: landed / name for name in ("spec", "rules", "sql", "cpmon.toml")}
    for file in files.values():
        file.write_text("# mine\n")
    store = ("--store", landed / "store")
    for line in (
        ("compare", files["spec"], *store, "-o", files["spec"]),
        ("exceptions", "--rules", files["rules"], *store, "-o", files["rules"]),
        ("query", "--file", files["sql"], *store, "-o", files["sql"]),
        ("runs", "--config", files["cpmon.toml"], *store, "-o", files["cpmon.toml"]),
        ("generate", files["spec"], "-o", landed, "--run", "a"),
    ):
        assert cpmon(*line).status is Status.USAGE
    assert all(file.read_text() == "# mine\n" for file in files.values())


def test_generate_replaces_no_dump_that_has_landed(
    cpmon: Cpmon, landed: Path, monkeypatch: pytest.MonkeyPatch
):
    dumps = landed / "dumps"
    line = ("generate", "timer", "--run", "2600P", "--intervals", 1, "-o", dumps)
    assert cpmon(*line).status is Status.DONE
    assert cpmon(*line).status is Status.DONE
    cpmon("ingest", dumps / "2600P.mon", "--store", landed / "store")
    monkeypatch.setenv("CPMON_STORE", str(landed / "store"))
    assert "a dump that has landed would be replaced" in cpmon(*line).err


def test_standard_output_that_goes_into_the_input_is_noticed(cpmon: Cpmon, landed: Path):
    file = landed / "D1218"
    saved = os.dup(1)
    with file.open("ab") as stream:
        os.dup2(stream.fileno(), 1)
        try:
            answer = cpmon("slice", file, "-o", "-")
        finally:
            os.dup2(saved, 1)
            os.close(saved)
    assert answer.status is Status.USAGE
    assert file.read_bytes() == DATA


@pytest.mark.parametrize(
    ("line", "name", "instead"),
    [
        ("report", "x.pdf", "x.txt"),
        ("report", "x.html", "add --html"),
        ("report", "x.csv.gz", "x.csv.txt"),
        ("report", "x.mon", "x.csv"),
        ("check", "x.json", "x.csv"),
        ("query", "x.tsv", "x.csv"),
        ("doctor", "x.csv", "x.json"),
        ("slice", "x.csv", "x.mon"),
        ("show", "x.png", "x.parquet"),
    ],
)
def test_a_name_that_says_another_format_is_refused(
    line: str, name: str, instead: str, cpmon: Cpmon, landed: Path
):
    answer = cpmon(*words(line, landed, landed / name))
    assert answer.status is Status.USAGE
    assert "the name of the output says another format" in answer.err
    assert instead in answer.err.partition("remedy")[2]
    assert not (landed / name).exists()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        *(("report", "x" + end) for end in ("", ".txt", ".lst", ".2026", ".CSV", ".md", ".xlsx")),
        *(("check", "x" + end) for end in (".csv", ".txt", ".out")),
        *(("slice", "x" + end) for end in ("", ".mon", ".mon.gz", ".zst", ".dump", ".bin")),
    ],
)
def test_a_name_that_says_the_format_or_nothing_is_taken(
    line: str, name: str, cpmon: Cpmon, landed: Path
):
    assert cpmon(*words(line, landed, landed / name)).status is Status.DONE
    assert (landed / name).exists()


def test_every_output_of_every_command_is_known_as_one():
    written = {"output", "plot", "effects", "archive", "into", "alerts"}
    exported = {"duckdb", "parquet", "csv", "iceberg"}
    for name, command in leaves():
        for option in command.params:
            is_target = "-o" in option.opts or option.name in written
            is_target |= name == "store export" and option.name in exported
            assert isinstance(option.type, Target) == is_target, (name, option.name)


def test_every_command_with_an_output_has_parents():
    own_folders = {"demo"}
    for name, command in leaves():
        writes = any(isinstance(option.type, Target) for option in command.params)
        has = any("--parents" in option.opts for option in command.params)
        assert has == (writes and name not in own_folders), name


def test_demo_lands_in_a_store_of_its_own(
    cpmon: Cpmon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from cpmon.cli.dump import demo_command

    class Stop(Exception):
        pass

    used: list[Path] = []

    def land(_scenario: str, _folder: Path, store: Store) -> None:
        used.append(store.root)
        raise Stop

    somebody = tmp_path / "somebody"
    monkeypatch.setattr(demo_command, "_land", land)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cpmon.toml").write_text(f'store = "{somebody}"\n')
    monkeypatch.setenv("CPMON_STORE", str(somebody))
    cpmon("demo")
    cpmon("demo", "-o", "here")
    cpmon("demo", "--store", somebody)
    assert used == [Path("cpmon-demo/store"), Path("here/store"), somebody]
