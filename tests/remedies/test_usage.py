"""What a command says of words that it cannot take, and the words that it takes then."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest

from cpmon.cli.main import Status
from cpmon.cli.main import cpmon as all_commands
from tests.cli.answer import Cpmon
from tests.commands import leaves
from tests.remedies.conftest import dump_of

Case = tuple[str, str, str]
ROOT = Path(__file__).resolve().parents[2]

STORE = "--store TINY"
DEFINE = "runs --define x --system VMTEST --since 2001-12-18T10:00 --until 2001-12-18T10:05"
CASES: list[Case] = [
    ("There is no command {}{}", "reprot --list", "report --list"),
    (
        "--new NAME needs --like REPORT, and --like a --new",
        f"report --new MINE {STORE}",
        "report --new MINE --like events",
    ),
    (
        "--new {}: a name has letters, digits, _ and -",
        "report --new ../MINE --like events",
        "report --new MINE --like events",
    ),
    ("which report? One of {}", "report --store LAB", "report events --store LAB"),
    (
        "--html takes --run, --system, --since, --until and --tz: a page has all reports",
        "report events --html -o OUT --store LAB",
        "report events -o OUT --store LAB",
    ),
    (
        "--html follows one object: name no pattern and no range",
        "report --html --user LNX* -o OUT --store LAB",
        "report --html -o OUT --store TINY",
    ),
    (
        "--single-file is for pages: add --html",
        "report events --single-file --store LAB",
        "report events --store LAB",
    ),
    (
        "--at names one interval: leave out --since and --until",
        "explain --at 2003-05-06T08:30 --since 2003-05-06T08:00 --store LAB",
        "explain --at 2003-05-06T08:30 --store LAB",
    ),
    (
        "--base names what to compare with: leave out --against",
        "explain --run after --base before --against before --store LAB",
        "explain --run after --base before --store LAB",
    ),
    (
        "give one of --duckdb, --parquet, --csv and --iceberg",
        "store export events --store LAB",
        "store export events --csv OUT --store LAB",
    ),
    (
        "--iceberg registers whole files of all tables; name nothing",
        "store export events --iceberg OUT --store LAB",
        "store export --iceberg OUT --store LAB",
    ),
    (
        "--plot draws one report: name it alone",
        "report processors_by_time paging_by_time --plot OUT.svg --store LAB",
        "report processors_by_time --plot OUT.svg --store LAB",
    ),
    (
        "--watch prints one report on standard output, as {}",
        "report processors_by_time paging_by_time --watch --store LAB",
        "report processors_by_time paging_by_time --store LAB",
    ),
    (
        "--watch needs lines by time: follow an object, or add --by",
        "report processors --watch --store LAB",
        "report processors --by 15m --store LAB",
    ),
    (
        "-o - writes a dump alone: leave out --compress and --truth",
        "generate small-lab --run LAB --intervals 1 --truth -o -",
        "generate small-lab --run LAB --intervals 1 -o -",
    ),
    (
        "-o - writes one run: name it with --run, one of {}",
        "generate small-lab --intervals 1 -o -",
        "generate small-lab --run LAB --intervals 1 -o -",
    ),
    (
        "--pace writes to standard output: add -o -",
        "generate small-lab --run LAB --intervals 1 --pace 9999x -o OUT",
        "generate small-lab --run LAB --intervals 1 --pace 9999x -o -",
    ),
    (
        "{} is no pace; write it like 60x",
        "generate small-lab --run LAB --intervals 1 --pace fast -o -",
        "generate small-lab --run LAB --intervals 1 --pace 9999x -o -",
    ),
    (
        "{} is no address; write it like :9117 or 10.0.0.1:9117",
        "follow DUMP --store OUT --metrics here",
        "follow DUMP --store OUT --metrics :19117",
    ),
    (
        "--webhook posts the lines of a file: add --alerts FILE",
        "follow DUMP --store OUT --webhook http://127.0.0.1:9/",
        "follow DUMP --store OUT --webhook http://127.0.0.1:9/ --alerts OUT.alerts",
    ),
    (
        "a SOURCE is shown without a store: leave --store out",
        "top DUMP --once --store LAB",
        "top DUMP --once",
    ),
    ("--format is of --once", "top --format json --store LAB", "top --once --store LAB"),
    (
        "the screen needs a terminal: add --once to print the last interval",
        "top --store LAB",
        "top --once --store LAB",
    ),
    (
        "--html writes several files: name their folder with -o DIR",
        "report --html --store LAB",
        "report --html -o OUT --store TINY",
    ),
    (
        "--master names a Spark: add --engine spark",
        "query busiest_users --master local --store TINY",
        "query busiest_users --store TINY",
    ),
    (
        "{} asks a store: leave out --dump",
        "notebook two_runs --dump DUMP --no-open -o OUT",
        "notebook two_runs --store TINY --no-open -o OUT",
    ),
    (
        "--dump is read here: leave out --engine spark",
        "query busiest_users --dump DUMP --engine spark",
        "query busiest_users --dump DUMP",
    ),
    (
        "--run-id names one run; give one dump with it",
        "ingest DUMP DUMP2 --run-id R --store OUT",
        "ingest DUMP --run-id R --store OUT",
    ),
    (
        "which table? One of {}, or a TOML file; or runs with --base and --run",
        "compare --store LAB",
        "compare --list",
    ),
    (
        "--base {} needs --run: the runs that are compared with it",
        "compare --base after --store LAB",
        "compare --base after --run before --store LAB",
    ),
    (
        "a table names its runs: leave out TABLE, or --base, --run, --since and --until",
        "compare timer_t1 --run before --base after --store LAB",
        "compare --run before --base after --store LAB",
    ),
    (
        "--html writes a page: name its folder with -o DIR",
        "compare --base before --run after --html --store LAB",
        "compare --base before --run after --html -o OUT --store LAB",
    ),
    (
        "--format {} holds one table: name it with --what",
        "batch status --format csv --config CONFIG",
        "batch status --format csv --what runs --config CONFIG",
    ),
    (
        "{} is no day; write it like 2026-01-31, today or yesterday",
        "batch run --as-of tomorrow --config CONFIG",
        "batch run --as-of 2026-01-31 --config CONFIG",
    ),
    (
        "{} is no day; write it like 2026-01-31, today or yesterday",
        f"store prune --keep interval=30d --as-of tomorrow --dry-run {STORE}",
        f"store prune --keep interval=30d --as-of 2026-01-31 --dry-run {STORE}",
    ),
    (
        "{} {} has no =; write {}",
        f"store prune --keep 30d --dry-run {STORE}",
        f"store prune --keep interval=30d,hour=5y --dry-run {STORE}",
    ),
    (
        "say how long what is kept: --keep, --raw or [retention] in settings",
        f"store prune --dry-run {STORE}",
        f"store prune --raw 90d --dry-run {STORE}",
    ),
    (
        "--hexdump is for reading; it has no --format {}",
        "show DUMP --hexdump --format csv",
        "show DUMP --hexdump",
    ),
    (
        "--sql says how --rows RULE finds its rows: name the rule",
        f"validate --sql {STORE}",
        f"validate --sql --rows useact.keys {STORE}",
    ),
    (
        "--html is a page of all rules, --rows the rows of one: take one",
        f"validate --html --rows useact.keys -o OUT {STORE}",
        f"validate --rows useact.keys -o OUT {STORE}",
    ),
    (
        "--expectations looks at kept results, not at rules: take one",
        f"validate --expectations --rule useact.keys {STORE}",
        f"validate --rule useact.keys {STORE}",
    ),
    (
        "--data-docs has the results of --expectations: name both",
        f"validate --data-docs OUT {STORE}",
        f"validate --rule useact.keys {STORE}",
    ),
    (
        "--html writes a page: name its file with -o FILE",
        f"validate --html {STORE}",
        f"validate --html -o OUT --rule useact.keys {STORE}",
    ),
    (
        "name the FILE here, or as classes in the settings",
        "classes set --store COPY",
        "classes set CLASSES --store COPY",
    ),
    (
        "--define needs --system, --since and --until",
        f"runs --define x {STORE}",
        f"{DEFINE} --store COPY",
    ),
    (
        "{} {} has no =; write {}",
        f"{DEFINE} --attribute users --store COPY",
        f"{DEFINE} --attribute users=VALUE --store COPY",
    ),
    (
        "give SQL, the name of a query, or --file FILE",
        f"query {STORE}",
        f"query --file SQL {STORE}",
    ),
    (
        "{} is no offset; write it like 8192 or 0x2000",
        "show DUMP --at frame2",
        "show DUMP --at 0x1010",
    ),
    (
        "name the folder; CPMON_STORE or store in the settings will do",
        "store info",
        f"store info {STORE}",
    ),
    (
        "name the folder; CPMON_STORE or store in the settings will do",
        "runs",
        "runs --config CONFIG",
    ),
    (
        "{} is no release; write it like 5.3.0",
        "schema diff z53 5.3.0",
        "schema diff 5.2.0 5.3.0",
    ),
    (
        "{} is no release; write it like 5.3.0 or 7.3.0+callevel.5",
        "check DUMP --release z53",
        "check DUMP --release 5.3.0",
    ),
    (
        "{} is no time; write it like {}",
        "slice DUMP --since 10am -o OUT",
        "slice DUMP --since 2001-12-18T10:00 -o OUT",
    ),
    (
        "{} is no length of time; write it like 15m, 1h, 1d, 1w or 1mo",
        "report processors_by_time --by quarter --store LAB",
        "report processors_by_time --by 15m --store LAB",
    ),
    (
        "{} is no device number or range of them; write it like 0A1F or 0A00-0AFF",
        "report dasd_by_activity --device disk --store LAB",
        "report dasd_by_activity --device 0B02 --store LAB",
    ),
    (
        "--jobs is of this machine; Spark has executors instead",
        "reduce users_by_time --jobs 2 --engine spark --store COPY",
        "reduce users_by_time --jobs 2 --store COPY",
    ),
    (
        "--master is of Spark; add --engine spark",
        "reduce users_by_time --master spark://host:7077 --store COPY",
        "reduce users_by_time --store COPY",
    ),
    (
        "standard input (-) lands alone: leave out --jobs and --engine",
        "ingest - --jobs 2 --store OUT",
        "ingest DUMP --store OUT",
    ),
    (
        "{} is empty or too long for a name",
        f"ingest DUMP --system {'X' * 300} --store OUT",
        "ingest DUMP --system X --store OUT",
    ),
    (
        "name one change: --add N, --remove N or --scale CLASS FACTOR",
        "whatif --like LNX1 --store LAB",
        "whatif --add 1 --like LNX1 --store LAB",
    ),
    (
        "name the guest that they are like: --like USERID",
        "whatif --add 1 --store LAB",
        "whatif --add 1 --like LNX1 --store LAB",
    ),
    (
        "--like goes with --add or --remove; --scale names a class",
        "whatif --scale GUESTS 2 --like LNX1 --store LAB",
        "whatif --scale GUESTS 2 --store LAB",
    ),
    (
        "--threshold {}={} is no number",
        "whatif --add 1 --like LNX1 --threshold total_util=much --store LAB",
        "whatif --add 1 --like LNX1 --threshold total_util=90 --store LAB",
    ),
]


DEAR = ("report --html", "top ")
"""Commands that take seconds."""
TYPED = [
    pytest.param(right, marks=pytest.mark.slow if right.startswith(DEAR) else ())
    for right in sorted(
        {" ".join(right.split()[:2]): right for _, _, right in CASES if "LAB" not in right}.values()
    )
]
"""One for each command; the others are read, and tests of the commands do the like."""


@pytest.fixture(scope="module")
def places(landed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What stands for the words in capitals."""
    folder = tmp_path_factory.mktemp("usage")
    names = {
        "DUMP": "a.mon",
        "DUMP2": "b.mon",
        "CONFIG": "cpmon.toml",
        "CLASSES": "classes.txt",
        "SQL": "ask.sql",
        "COPY": "copy",
    }
    found = {word: folder / name for word, name in names.items()}
    found["DUMP"].write_bytes(dump_of())
    found["DUMP2"].write_bytes(dump_of(1))
    (folder / "in").mkdir()
    found["CONFIG"].write_text('store = "copy"\n[[inbox]]\nfolder = "in"\n', encoding="utf-8")
    found["CLASSES"].write_text("ALL U*\n", encoding="utf-8")
    found["SQL"].write_text("SELECT 1", encoding="utf-8")
    shutil.copytree(landed, found["COPY"])
    return {
        "TINY": str(landed),
        "LAB": str(landed),
        **{word: str(path) for word, path in found.items()},
    }


@pytest.fixture
def filled(
    places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], list[str]]:
    """The words of a line, with what those in capitals stand for."""
    monkeypatch.chdir(tmp_path)
    here = {**places, "OUT": str(tmp_path / "out"), "OUT.svg": str(tmp_path / "out.svg")}
    return lambda line: [here.get(word, word) for word in line.split()]


@pytest.mark.parametrize(("said", "wrong", "right"), CASES)
def test_what_cannot_be_taken_is_refused_and_what_the_message_says_can_be_read(
    said: str, wrong: str, right: str, cpmon: Cpmon, filled: Callable[[str], list[str]]
):
    refused = cpmon(*filled(wrong))
    assert refused.status is Status.USAGE
    assert re.search(".*".join(map(re.escape, said.split("{}"))), refused.err), refused.err
    words, commands = filled(right), dict(leaves())
    name = " ".join(words[:2]) if " ".join(words[:2]) in commands else words[0]
    given = words[len(name.split()) :]
    with suppress(click.exceptions.Exit):  # of --list
        commands[name].make_context(
            name, given, parent=click.Context(all_commands, info_name="cpmon")
        )


@pytest.mark.parametrize("right", TYPED)
def test_what_a_message_says_is_done(right: str, cpmon: Cpmon, filled: Callable[[str], list[str]]):
    done = cpmon(*filled(right))
    assert done.status in (Status.DONE, Status.WARNINGS), done.err


def text_of(said: ast.expr) -> str:
    """A text as it is written in a source, with {} for what is filled in."""
    match said:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) for part in parts)
    return "{}"


RAISE = ("UsageError", "MissingParameter", "fail")
NOT_TRIED = {
    "{} is no length of time; write it like 15m or 1h": "as that of reports, which has more",
    "{} cannot be read: {}": "no words of the command mend a file",
    "{} is no {}; write it like {}": "tried with the name of each kind of value",
    "{} is no text in UTF-8": "no words of the command mend a file, or a terminal",
}


def test_every_message_of_the_command_line_is_tried():
    tried = {said for said, _, _ in CASES}
    assert set(messages()) - tried == set(NOT_TRIED)


def messages() -> Iterator[str]:
    """The texts of all errors of usage in cli/, with {} for what is filled in."""
    for file in sorted((ROOT / "cli").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr in RAISE:
                yield text_of(node.args[0])
            elif isinstance(called, ast.Name) and called.id == "Parsed":
                kind, example = (text_of(part) for part in node.args[:2])
                yield f"{{}} is no {kind}; write it like {example}"
