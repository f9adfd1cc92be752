"""The command as a whole: help, exit statuses, what goes to which stream."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from cpmon import __version__
from cpmon.cli.main import COMMANDS, Status
from cpmon.core.errors import BusyError
from cpmon.ingest import landing
from cpmon.store import Store
from tests.cli.answer import Cpmon
from tests.dumps import FRAME, dump, interval
from tests.jobs import work
from tests.scenarios import CONFIG, SAMPLE
from tests.waiting import PATIENCE_S, wait_until

CPMON = [sys.executable, "-m", "cpmon"]
HEAVY = {"pyarrow", "duckdb", "numpy", "polars", "scipy", "rich", "jinja2", "construct"}
ESCAPE = b"\x1b"
GOOD = dump(interval(60, CONFIG, SAMPLE))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.mon"
    file.write_bytes(GOOD)
    return file


def test_a_failure_in_one_dump_stops_no_other(
    good: Path, tmp_path: Path, cpmon: Cpmon, monkeypatch: pytest.MonkeyPatch
):
    bad, other, cut = (tmp_path / name for name in ("bad.mon", "other.mon", "cut.mon"))
    bad.write_bytes(GOOD)
    cut.write_bytes(GOOD[:-100])
    other.write_bytes(GOOD[:-FRAME] + interval(120, SAMPLE) + GOOD[-FRAME:])
    real = landing.open_source

    def fails(path: Path, *rest: object) -> object:
        if path == bad:
            raise ZeroDivisionError("a bug")
        return real(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(landing, "open_source", fails)
    store = tmp_path / "store"

    assert cpmon("check", cut).status is Status.DAMAGED
    answer = cpmon("ingest", good, bad, other, cut, "--store", store)

    assert answer.status is Status.FAILED, "worse than damage, although its number is lower"
    assert f"{bad} failed\ncpmon: ZeroDivisionError: a bug" in answer.err
    assert len([*Store(store).dumps()]) == 3


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """Without its end, the last frame not whole: a warning."""
    file = tmp_path / "cut.mon"
    file.write_bytes(GOOD[: 2 * FRAME - 100])
    return file


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_answers_and_has_an_example(name: str, cpmon: Cpmon):
    answer = cpmon(name, "--help")

    assert answer.status is Status.DONE
    assert answer.text.startswith(f"Usage: cpmon {name} ")
    assert f"\n    cpmon {name} " in answer.text.partition("Example")[2]
    assert answer.err == ""


def test_help_names_every_command(cpmon: Cpmon):
    answer = cpmon("-h")
    assert answer.status is Status.DONE
    for name, (_, said) in COMMANDS.items():
        assert f"  {name} " in answer.text and said in answer.text


def test_the_version_is_that_of_the_package(cpmon: Cpmon):
    assert cpmon("--version").text == f"cpmon, version {__version__}\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["--version"]], ids=" ".join)
def test_what_needs_no_data_imports_no_heavy_library(words: list[str]):
    code = (
        "import sys; from cpmon.cli.main import run; run(sys.argv[1:]); "
        f"print('heavy', *sorted({HEAVY} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"heavy"


def test_a_process_ends_in_order_without_taking_its_objects_apart():
    code = """
import atexit, sys
from cpmon.cli import main
cli = sys.modules["cpmon.cli.main"]

class Kept:
    def __del__(self):
        print("taken apart")

def run(arguments):
    atexit.register(print, "called")
    print("written")
    return cli.Status.WARNINGS

sys.kept, cli.run = Kept(), run
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (Status.WARNINGS, "written\ncalled\n")


LIBRARIES = {"pandas", "scipy", "altair", "great_expectations", "polars", "prometheus_client"}
"""What most commands do not need, and what takes a long time to import."""


@pytest.mark.slow
def test_commands_about_data_import_only_the_libraries_that_they_need(store: Store):
    dump = "sample-data/small-lab/LAB.mon.zst"
    query = "SELECT count(*) FROM users_by_time"
    assert _imported("ingest", dump, "--store", str(store.root)) == set()
    reports = (["reduce"], ["report", "USER_RESOURCE_UTIL"], ["query", query])
    for words in (*reports, ["exceptions"], ["validate"]):
        assert _imported(*words, "--store", str(store.root)) == set(), words
    expected = _imported("validate", "--expectations", "--store", str(store.root))
    assert "great_expectations" in expected
    # Which takes 20 ms with what it imports, and DuckDB reads the files.
    assert (
        _imported("query", "select 1", "--store", str(store.root), among={"pyarrow.parquet"})
        == set()
    )


def _imported(*words: str, among: Collection[str] = frozenset(LIBRARIES)) -> set[str]:
    """Those of some libraries that a command imports in a process of its own."""
    code = (
        "import sys; from cpmon.cli.main import run; status = run(sys.argv[1:]); "
        f"print('imported', *sorted({set(among)} & set(sys.modules))); sys.exit(status)"
    )
    call = [sys.executable, "-c", code, *words]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode in (Status.DONE, Status.WARNINGS), done.stderr
    return {*done.stdout.splitlines()[-1].split()[1:]}


def test_a_program_that_has_run_a_command_can_load_pandas():
    code = "from cpmon.cli.main import run; run(['list', '--help']); import pandas"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_a_command_without_its_argument_says_how_to_get_help(cpmon: Cpmon):
    answer = cpmon("ingest")
    assert answer.status is Status.USAGE
    assert "Missing argument" in answer.err and "cpmon ingest --help" in answer.err
    assert answer.out == b""


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["repotr"], "report"),
        (["query", "busiest_usrs"], "busiest_users"),
        (["query", "busiest_users", "-p", "tpo=3"], "top"),
        (["query", "select * from monitor.sytrs"], "mean monitor.sytrs"),
        (["query", "select plsmvb2 from monitor.sytrsp"], "plsmvb2g"),
        (["report", "system-sumary2-by-time"], "SYSTEM_SUMMARY2_BY_TIME"),
        (["report", "SYSTEM_SUMMARY_BY_TIME", "--run", "2600N"], "2600NP"),
        (["report", "user_resource_util", "--user", "LINX591"], "mean LINXP591"),
        (["report", "dasd_by_activity", "--device", "7C0"], "mean 7C0"),
        (["report", "lpar", "--tz", "Europe/Viena"], "mean Europe/Vienna"),
        (["compare", "timer1"], "timer_t1"),
        (["reduce", "run_sumary"], "run_summary"),
        (["generate", "timers"], "timer"),
    ],
    ids=lambda words: " ".join(words)[:40] if isinstance(words, list) else "",
)
def test_an_unknown_name_is_answered_with_the_nearest(
    words: list[str], nearest: str, cpmon: Cpmon, perf: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CPMON_STORE", str(perf))
    answer = cpmon(*words)
    assert answer.status is Status.USAGE
    assert nearest in answer.err
    assert answer.out == b""
    assert "Traceback" not in answer.err


def test_a_store_that_is_none_is_a_usage_error_with_a_remedy(cpmon: Cpmon, tmp_path: Path):
    answer = cpmon("runs", "--store", tmp_path / "nowhere")
    assert answer.status is Status.USAGE
    assert "is no store" in answer.err and "cpmon ingest DUMP --store" in answer.err


def test_cpmon_store_stands_for_the_option(
    cpmon: Cpmon, perf: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CPMON_STORE", str(perf))
    assert "2600NP" in cpmon("runs").text


@pytest.mark.parametrize("words", [["ingest"], ["list"]], ids=" ".join)
def test_a_dump_with_warnings_gives_3_and_is_read(
    words: list[str], cpmon: Cpmon, cut: Path, tmp_path: Path
):
    store = ["--store", tmp_path / "store"] if words == ["ingest"] else []
    answer = cpmon(*words, cut, *store)
    assert answer.status is Status.WARNINGS
    assert "TRUNCATED" in answer.text + answer.err


def test_lost_bytes_give_5_although_the_rest_has_landed(cpmon: Cpmon, tmp_path: Path):
    file = tmp_path / "damaged.mon"
    file.write_bytes(GOOD[:FRAME] + SAMPLE + b"\0\x07" + b"\xff" * (FRAME - len(SAMPLE) - 2))
    answer = cpmon("ingest", file, "--store", tmp_path / "store")
    assert answer.status is Status.DAMAGED
    assert "landed as" in answer.text
    assert "data_loss: RECORD_SHORT" in answer.err and "remedy:" in answer.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"Dear reader,\n" * 1000, "is no monitor data"),
        (GOOD[:FRAME] + b"\r\n" + GOOD[FRAME:], "was transferred as text"),
        (b"\x7a\xc3\xc6\xc6" + GOOD, "is a VMARC archive"),
    ],
    ids=["empty", "a letter", "line ends", "archive"],
)
def test_what_is_no_dump_gives_5_and_lands_nothing(
    content: bytes, said: str, cpmon: Cpmon, tmp_path: Path
):
    file = tmp_path / "odd.mon"
    file.write_bytes(content)
    answer = cpmon("ingest", file, "--store", tmp_path / "store")
    assert answer.status is Status.DAMAGED
    assert said in answer.err and "remedy" in answer.err
    assert answer.out == b""
    assert list((tmp_path / "store").glob("records/**/*.parquet")) == []


def test_a_bad_dump_does_not_stop_the_others_and_decides_the_status(
    cpmon: Cpmon, good: Path, tmp_path: Path
):
    store = tmp_path / "store"
    answer = cpmon("ingest", tmp_path / "missing.mon", good, "--store", store)
    assert answer.status is Status.USAGE
    assert "missing.mon cannot be read" in answer.err
    assert f"{good}: landed as" in answer.text


def test_a_failure_of_ours_gives_1_and_its_traceback_only_when_asked(
    cpmon: Cpmon, good: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise LookupError("a bug")

    monkeypatch.setattr("cpmon.ingest.inspect.inventory.take_inventory", fail)
    answer, shown = cpmon("list", good), cpmon("--debug", "list", good)
    assert answer.status is shown.status is Status.FAILED
    assert "LookupError: a bug" in answer.err and "cpmon --debug" in answer.err
    assert "Traceback" not in answer.err
    assert "Traceback" in shown.err and "in fail" in shown.err


def test_a_busy_store_gives_75(cpmon: Cpmon, good: Path, monkeypatch: pytest.MonkeyPatch):
    def busy(*_: object) -> None:
        raise BusyError("held by another process")

    monkeypatch.setattr("cpmon.ingest.inspect.inventory.take_inventory", busy)
    assert cpmon("list", good).status is Status.BUSY


def test_an_interrupt_gives_130_and_leaves_no_dump(tmp_path: Path):
    store = tmp_path / "store"
    with subprocess.Popen(
        [*CPMON, "ingest", "-", "--store", str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        process.stdin.write(GOOD[:FRAME])
        process.stdin.flush()
        wait_until(lambda: any(store.glob("staging/*")))
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        assert process.wait(PATIENCE_S) == Status.INTERRUPTED
        assert process.stderr and b"Traceback" not in process.stderr.read()
    assert list(store.glob("records/*")) == []
    assert list(store.glob("staging/*")) == []


def test_an_interrupt_within_a_lock_ends_a_command_as_well(
    cpmon: Cpmon, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other, seen = tmp_path / "other.mon", []
    other.write_bytes(GOOD[:-FRAME] + interval(120, SAMPLE) + GOOD[-FRAME:])

    def opens(path: Path, *_: object) -> None:
        seen.append(path)
        work.interrupted()

    monkeypatch.setattr(landing, "open_source", opens)
    answer = cpmon("ingest", good, other, "--store", tmp_path / "store")
    assert (answer.status, answer.err) == (Status.INTERRUPTED, "interrupted\n")
    assert seen == [good]


@pytest.fixture(scope="module")
def start_s(perf: Path) -> float:
    """Processor time that a query of nothing takes on this machine."""
    before = os.times()
    words = [*CPMON, "query", "select 1", "--store", str(perf)]
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - sum(before[2:4])


def wait_until_it_asks(process: subprocess.Popen[bytes], start_s: float) -> None:
    """Wait until a query uses more processor time than its start."""

    def used_s() -> float:
        _, fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)
        return sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")

    wait_until(lambda: process.poll() is not None or used_s() > 2 * start_s)


def test_a_query_that_is_interrupted_stops_and_gives_130(perf: Path, start_s: float):
    endless = "select sum(a.range * b.range) from range(10000000) a, range(1000000) b"
    with subprocess.Popen(
        [*CPMON, "query", endless, "--store", str(perf)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        wait_until_it_asks(process, start_s)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(PATIENCE_S) == Status.INTERRUPTED
        finally:
            process.kill()
        assert process.stderr and b"Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_a_second_interrupt_ends_a_command_at_once(perf: Path, start_s: float):
    """DuckDB hears an interrupt between two blocks of rows; one call for a row may take longer."""
    deaf = "select levenshtein(repeat('a', 300000), repeat('b', 300000))"
    with subprocess.Popen(
        [*CPMON, "query", deaf, "--store", str(perf)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            wait_until_it_asks(process, start_s)
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == -signal.SIGINT
        finally:
            process.kill()


def test_a_reader_that_has_seen_enough_is_no_error(perf: Path):
    with subprocess.Popen(
        [*CPMON, "query", "select range from range(300000)", "--store", str(perf), "--format=csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout and process.stdout.readline() == b"range\n"
        process.stdout.close()
        assert process.stderr and process.stderr.read() == b""
        assert process.wait(PATIENCE_S) == Status.DONE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "words",
    [
        ("query", "select range from range(300000)", "--format=csv"),
        ("query", "select 1", "--format=parquet"),
        ("report", "processors_by_time"),
        ("runs",),
        ("--help",),
    ],
)
def test_output_that_does_not_fit_is_no_failure_of_cpmon(words: tuple[str, ...], perf: Path):
    place = () if words == ("--help",) else ("--store", str(perf))
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*CPMON, *words, *place], check=False, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == Status.USAGE
    said = done.stderr.decode()
    assert said.startswith("cpmon: standard output cannot be written\n"), said
    assert "No space left on device" in said and "failure" not in said


def test_in_a_pipe_there_are_neither_colours_nor_bars(
    cpmon: Cpmon, good: Path, cut: Path, tmp_path: Path
):
    store = tmp_path / "store"
    for words in (
        ["ingest", good, cut, "--store", store],
        ["list", good],
        ["runs", "--store", store],
        ["query", "select 1 as one", "--store", store],
        ["query", "selekt"],
        ["--help"],
    ):
        answer = cpmon(*words)
        assert ESCAPE not in answer.out + answer.err.encode()


def test_data_goes_to_standard_output_and_talk_to_standard_error(
    cpmon: Cpmon, cut: Path, tmp_path: Path
):
    answer = cpmon("list", cut, "--format", "json")
    assert answer.rows[0]["findings"]["TRUNCATED"] == 1
    assert answer.err == ""

    landed = cpmon("ingest", cut, "--store", tmp_path / "store")
    assert landed.text.count("\n") == 1
    assert "TRUNCATED" in landed.err


@pytest.mark.parametrize("command", ["ingest", "check", "doctor", "list", "show", "slice"])
def test_a_file_that_is_missing_is_a_wrong_word_and_no_damage(
    command: str, cpmon: Cpmon, tmp_path: Path
):
    more = {"ingest": ("--store", tmp_path / "store"), "slice": ("-o", tmp_path / "part.mon")}
    answer = cpmon(command, tmp_path / "missing.mon", *more.get(command, ()))
    assert answer.status is Status.USAGE
    assert "missing.mon cannot be read: No such file" in answer.err


def test_a_first_ingest_that_fails_leaves_no_store(cpmon: Cpmon, good: Path, tmp_path: Path):
    letter, store, empty = tmp_path / "letter.mon", tmp_path / "a" / "store", tmp_path / "empty"
    letter.write_bytes(b"Dear reader,\n" * 1000)
    empty.mkdir()
    for bad in (letter, tmp_path / "missing.mon"):
        assert cpmon("ingest", bad, "--store", store).status is not Status.DONE
        assert not store.exists()
        assert cpmon("ingest", bad, "--store", empty).status is not Status.DONE
        assert list(empty.iterdir()) == [], "a folder that was there stays"
    assert cpmon("ingest", letter, good, "--store", store).status is Status.DAMAGED
    assert cpmon("runs", "--store", store).status is Status.DONE
    cpmon("ingest", letter, "--store", store)
    assert (store / "store.json").exists(), "what has landed stays"


def test_another_name_for_a_dump_that_has_landed_is_not_passed_over(
    cpmon: Cpmon, good: Path, tmp_path: Path
):
    words = ("ingest", good, "--store", tmp_path / "store")
    assert cpmon(*words, "--system", "FIRST").status is Status.DONE
    again = cpmon(*words, "--system", "SECOND")
    assert again.status is Status.WARNINGS
    assert "--system SECOND has no effect" in again.err
    assert "under FIRST" in again.err
    same = cpmon(*words, "--system", "FIRST")
    assert (same.status, same.err) == (Status.DONE, "")


def test_what_this_user_may_not_read_is_no_failure_of_cpmon(
    cpmon: Cpmon, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = tmp_path / "store"
    cpmon("ingest", good, "--store", store)
    scan = os.scandir

    def refuse(path: str | Path = ".") -> object:
        if str(path).endswith("records"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    for words in (("report", "events"), ("query", "FROM meta.dump"), ("store", "info")):
        answer = cpmon(*words, "--store", store)
        assert answer.status is Status.USAGE
        assert "failure of cpmon" not in answer.err
        assert f"{store / 'records'}" in answer.err and "Permission denied" in answer.err
