"""Names from dumps, files and users are data wherever they go: SQL, paths, pages, terminals."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.core.errors import NothingToReportError
from cpmon.core.text import one_line, printable
from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.page.runtime import FILE
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_names import report_names
from cpmon.store import Store, connect
from cpmon.store.measured.runs import run_name
from tests.cli.answer import Answer, Cpmon
from tests.cli.terminal import Terminal
from tests.safety.names import CONTROL, SYSTEM, USERS, hostile

PLAIN_RUN = "../../run <b>'x"
RUN = "../../run <b>'\x1b[31m\nx"
BAD = [
    "'; DROP VIEW meta.dump; --",
    '" OR 1=1',
    "line\nbreak\ttab",
    "<script>alert(1)</script>",
    "../../../etc/passwd",
    "/etc/passwd",
    "..",
    "nul\0nul",
    "\x1b[31mred\x9b",
    "\u202egnp.exe",
    "$(touch made)`touch made`;touch made",
    "x" * 300,
    "Größe 図 😀",
    "\udcff\udc80",
    "%s %n {0} {system}",
    "*?[a-z]",
    "--help",
]
OPTIONS = ("--system", "--run", "--user", "--shift", "--tz")
PIPED = ("markdown", "table", "text")


def some(
    names: Iterable[object], every: int, others: pytest.MarkDecorator = pytest.mark.long
) -> list[object]:
    """All names; those but every fifth or so are left to the long tests, or to `others`."""
    return [
        pytest.param(name, marks=[] if number % every == 0 else [others])
        for number, name in enumerate(names)
    ]


@pytest.fixture(scope="module")
def dump_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dump, in a file whose name is hostile too, with a run file beside it."""
    folder = tmp_path_factory.mktemp("hostile")
    plan = load_scenario("small-lab")
    made = write_run(plan, "LAB", folder, intervals=3)
    file = folder / "a'b <i>\x1b[1m\n$(x) .mon"
    file.write_bytes(hostile(made.dump.read_bytes()))
    said = {"run_id": PLAIN_RUN, "base_run_id": PLAIN_RUN}
    attributes = {"cp_level": "<b>'\x1b", "users": "\"'", "no\nte": "</script>"}
    run_file = "".join(f"{key} = {json.dumps(value)}\n" for key, value in said.items())
    run_file += "[attributes]\n"
    run_file += "".join(f"{json.dumps(k)} = {json.dumps(v)}\n" for k, v in attributes.items())
    file.with_suffix(".run.toml").write_text(run_file)
    return file


@pytest.fixture(scope="module")
def lab(dump_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with it, for reading only."""
    store = Store(tmp_path_factory.mktemp("names") / "it's <a> store", create=True)
    ingest(dump_file, store)
    (file,) = store.runs.iterdir()  # as of a store from elsewhere, since no run can be called so
    run = json.loads(file.read_text()) | {"run_id": RUN, "base_run_id": RUN}
    (store.root / run_name(RUN)).write_text(json.dumps(run))
    file.unlink()
    return store.root


def clean(answer: Answer) -> str:
    """What was said, after a look that no control character is in it."""
    text = answer.out.decode() + answer.err
    assert not CONTROL.search(text.replace("\n", "")), CONTROL.search(text)
    assert "Traceback" not in text and "failure of cpmon" not in text, text
    return text


def test_control_characters_are_shown_as_what_they_are():
    assert printable("a\x1b[1m\x00\x9b\u202e\udcff\té\r\n") == (
        "a\\x1b[1m\\x00\\x9b\\u202e\\udcff\\té\\r\n"
    )
    assert one_line("a\nb\tc") == "a\\nb\\tc"


def test_a_dump_lands_inside_of_its_store(cpmon: Cpmon, dump_file: Path, tmp_path: Path):
    store = tmp_path / "a" / "b" / "store"
    store.parent.mkdir(parents=True)
    answer = cpmon("ingest", dump_file, "--store", store)
    assert answer.status is Status.DONE
    assert "<b>'\\x1b" in clean(answer)
    (system,) = (store / "records").iterdir()
    assert system.name == "system=..%2F%3Cb%3E%27%1B"
    everything = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert everything and all(store in file.parents for file in everything)
    assert [file.name for file in (store / "runs").iterdir()] == [
        "%2E%2E%2F%2E%2E%2Frun%20%3Cb%3E%27x.json"
    ]


def test_what_landed_is_what_was_in_the_dump(cpmon: Cpmon, lab: Path):
    answer = cpmon(
        "query",
        "SELECT DISTINCT system, vmduser FROM monitor.useact ORDER BY ALL",
        "--store",
        lab,
        "--format",
        "json",
    )
    assert {row["system"] for row in answer.rows} == {SYSTEM}
    landed = {row["vmduser"].rstrip(" \0") for row in answer.rows}
    assert landed == {name.rstrip(" \0") for name in USERS.values()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("list", "--format", "json"),
        ("check",),
        ("doctor", "--names"),
        ("show", "--record", "1.4"),
    ],
    ids=" ".join,
)
def test_commands_on_dumps_show_no_control_character(
    cpmon: Cpmon, dump_file: Path, words: tuple[str, ...]
):
    answer = cpmon(words[0], dump_file, *words[1:])
    assert answer.status in (Status.DONE, Status.WARNINGS), answer.err
    clean(answer)


@pytest.mark.parametrize("form", some(PIPED, 3))
@pytest.mark.parametrize(
    "words",
    [
        ("runs",),
        ("classes", "show"),
        ("store", "info"),
        ("exceptions", "--severity", "info"),
        ("query", "FROM meta.dump"),
        ("query", 'SELECT vmduser AS "<i>\n\x1b[1m|", system FROM monitor.useact'),
        ("compare", "--run", RUN),
    ],
    ids=lambda words: " ".join(words).encode("unicode_escape").decode(),
)
def test_commands_on_stores_show_no_control_character(
    cpmon: Cpmon, lab: Path, words: tuple[str, ...], form: str
):
    answer = cpmon(*words, "--store", lab, "--format", form)
    assert answer.status in (Status.DONE, Status.WARNINGS, Status.USAGE), answer.err
    text = clean(answer)
    if form == "markdown" and answer.out:
        assert not re.search(r"(?<!\\)<(b|i|img|script)\b", answer.text), text
        body = [line for line in answer.text.splitlines() if line.startswith("|")]
        bars = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in body}
        assert len(bars) == 1  # no cell looks like two


@pytest.mark.parametrize("name", report_names()[::7])
def test_reports_of_hostile_systems_are_printed(cpmon: Cpmon, lab: Path, name: str):
    answer = cpmon("report", name, "--store", lab, "--system", SYSTEM)
    text = clean(answer)
    assert answer.status is Status.DONE or "nothing" in text or "no " in text
    if answer.status is Status.DONE:
        assert "../<b>'\\x1b" in answer.text


@pytest.mark.slow
def test_all_reports_of_hostile_systems_are_printed(cpmon: Cpmon, lab: Path):
    """By one command: what it reads is made once for all of them."""
    names = []
    with connect(Store(lab), reductions()) as connection:
        for name in report_names():
            with suppress(NothingToReportError):
                report(connection, name, system=SYSTEM)
                names.append(name)
    answer = cpmon("report", *names, "--store", lab, "--system", SYSTEM)
    clean(answer)
    assert answer.status is Status.DONE
    assert answer.text.count("../<b>'\\x1b") >= len(names) > 15


@pytest.mark.slow
@pytest.mark.parametrize("user", [name.strip("\0 ") for name in USERS.values()], ids=ascii)
def test_a_report_follows_a_user_whatever_the_name(cpmon: Cpmon, lab: Path, user: str):
    answer = cpmon("report", "user_resource_util", "--store", lab, "--user", user)
    clean(answer)
    assert answer.status is Status.DONE or "user" in answer.err.lower()


class Tags(HTMLParser):
    """Elements of a page, and what scripts and styles hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


@pytest.mark.slow
def test_pages_hold_names_as_text(cpmon: Cpmon, lab: Path, tmp_path: Path):
    pages = tmp_path / "out" / "pages"
    answer = cpmon("report", "--html", "--store", lab, "-o", pages, "--parents")
    assert answer.status is Status.DONE, answer.err
    clean(answer)
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(written) > 1 and all(file.parent == pages for file in written)
    texts = [file for file in written if file.name != FILE]  # which has no names
    assert len(texts) == len(written) - 1
    for file in texts:
        text = file.read_text(encoding="utf-8")
        found = Tags(text)
        assert not {"b", "i", "img"} & set(found.tags), file.name
        assert not [name for name in found.attributes if name.startswith("on")]
        assert found.tags.count("script") == len(re.findall("<script", text)), file.name
        assert text.count("</script") == found.tags.count("script")
        assert not CONTROL.search(text.replace("\t", "")), CONTROL.search(text)


def test_a_table_page_holds_names_as_text(cpmon: Cpmon, lab: Path, tmp_path: Path):
    spec = tmp_path / "my <b>.toml"
    spec.write_text(
        'title = "<img src=x onerror=alert(1)>"\n'
        f"runs = [{json.dumps(RUN)}]\nbase = {json.dumps(RUN)}\n"
        '[[rows]]\nlabel = "<i>\'\\u001b"\nmetric = "total_util"\n'
    )
    page = tmp_path / "table.html"
    answer = cpmon("compare", spec, "--store", lab, "--format", "html", "-o", page)
    clean(answer)
    if answer.status is Status.DONE:
        assert not {"b", "i", "img"} & set(Tags(page.read_text()).tags)


@pytest.mark.parametrize("name", some(BAD, 9, pytest.mark.slow), ids=ascii)
def test_any_name_of_a_system_or_run_lands_or_is_refused(
    cpmon: Cpmon, dump_file: Path, name: str, tmp_path: Path
):
    store, dump = tmp_path / "in" / "store", tmp_path / "in" / "lab.mon"
    store.parent.mkdir()
    shutil.copy(dump_file, dump)
    answer = cpmon("ingest", dump, "--store", store, f"--system={name}", f"--run-id={name}")
    clean(answer)
    made = [file for file in tmp_path.rglob("*") if file.is_file() and file != dump]
    assert all(store in file.parents for file in made)
    if answer.status is not Status.DONE:
        assert answer.status is Status.USAGE, answer.err
        assert not list((store / "records").glob("*/*/*")), "landed although it was refused"
        return
    asked = cpmon("query", "SELECT system, run_id FROM meta.run", "--store", store,
                  "--format", "json")  # fmt: skip
    assert asked.rows == [{"system": name, "run_id": name}]
    report = cpmon("report", "system_config", "--store", store, f"--run={name}")
    assert report.status is Status.DONE
    clean(report)


@pytest.mark.parametrize("asked", some(zip(BAD, itertools.cycle(OPTIONS)), 2), ids=ascii)
def test_any_name_that_is_asked_for_is_looked_up_as_it_is(
    cpmon: Cpmon, lab: Path, asked: tuple[str, str]
):
    """Each name by one option, and the next name by the next."""
    name, option = asked
    answer = cpmon("report", "user_resource_util", "--store", lab, f"{option}={name}")
    assert answer.status is Status.USAGE
    clean(answer)


@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_any_class_pattern_is_taken_or_refused(cpmon: Cpmon, name: str, tmp_path: Path):
    store = tmp_path / "store"
    Store(store, create=True)
    text = f"WEB {name}".encode("utf-8", "surrogateescape")
    answer = cpmon("classes", "set", "-", "--store", store, stdin=text)
    clean(answer)
    assert answer.status in (Status.DONE, Status.USAGE)
    if answer.status is Status.DONE:
        assert cpmon("classes", "show", "--store", store).status is Status.DONE


@pytest.mark.slow
def test_names_that_mean_something_to_a_shell_are_not_run(
    cpmon: Cpmon, dump_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "$(touch made)`touch made`;touch made|touch made .mon"
    shutil.copy(dump_file, file)
    for words in (
        ("list", file),
        ("check", file),
        ("doctor", file),
        ("ingest", file, "--store", "s"),
    ):
        clean(cpmon(*words))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("form", some(["csv", "jsonl", "json"], 3))
def test_formats_for_programs_are_exact_in_a_pipe_and_safe_at_a_terminal(
    cpmon: Cpmon, lab: Path, form: str
):
    sql = "SELECT chr(27) || '[2J' || chr(155) || chr(8238) AS a"
    words = ["query", sql, "--store", str(lab), "--format", form]
    piped = cpmon(*words)
    value = json.loads(piped.out) if form != "csv" else piped.text.splitlines()[1].strip('"')
    value = value[0] if isinstance(value, list) else value
    assert (value["a"] if isinstance(value, dict) else value) == "\x1b[2J\x9b\u202e"

    with Terminal([sys.executable, "-m", "cpmon", *words], os.environ) as terminal:
        assert terminal.end() == Status.DONE
    assert not CONTROL.search(terminal.raw.decode().replace("\r", "").replace("\n", ""))
    assert "[2J" in terminal.raw.decode()
