"""Reports of some objects, of some lines, in another order, and as wide as a terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cpmon.cli.main import Status
from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.store import Store
from tests.cli.answer import Cpmon
from tests.cli.terminal import Terminal

SAMPLES = Path(__file__).resolve().parents[2] / "sample-data" / "small-lab"
UTIL = "user_resource_util"
REDUCED = ("users_by_time", "user_classes_by_time", "dasd_by_activity", "lpar_by_time")
"""What most reports here are of, kept: they would compute it again each time."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an hour of ten users, some of whom are of a class."""
    store = Store(tmp_path_factory.mktemp("lab") / "lab", create=True)
    ingest(SAMPLES / "LAB.mon.zst", store)
    (store.root / "classes.txt").write_text("WEB LXWEB*\nSTAFF STAFF*\n")
    reduce(store, REDUCED, Settings())
    return store.root


@pytest.fixture(scope="module")
def answered() -> dict[tuple[object, ...], bytes]:
    """What reports of the store have answered; it does not change."""
    return {}


@pytest.fixture
def rows(cpmon: Cpmon, lab: Path, answered: dict[tuple[object, ...], bytes]) -> Any:
    """Asks for a report, which is computed once in all tests."""

    def asked(*words: object) -> list[dict[str, Any]]:
        if words not in answered:
            answer = cpmon("report", *words, "--store", lab, "--format", "json")
            assert answer.status is Status.DONE, answer.err
            answered[words] = answer.out
        return json.loads(answered[words])

    return asked


def users(lines: list[dict[str, Any]]) -> list[str]:
    return [line["userid"] for line in lines]


@pytest.mark.slow
def test_a_line_of_each_object_is_that_of_the_object_alone(rows: Any):
    lines = rows(UTIL, "--by", "15m")
    ends = [line["interval_end"] for line in lines]
    assert ends == sorted(ends) and len(set(ends)) == 4
    for user in ("LXWEB001", "STAFF003"):
        alone = rows(UTIL, "--by", "15m", "--user", user)
        assert [line for line in lines if line["userid"] == user] == alone


@pytest.mark.slow
def test_the_greatest_are_those_of_the_span_or_of_each_line(rows: Any):
    whole = rows(UTIL, "--sort", "page_rate", "--top", 2)
    of_span = rows(UTIL, "--by", "15m", "--sort", "page_rate", "--top", 2)
    assert set(users(of_span)) == set(users(whole)) and len(of_span) == 8
    every = rows(UTIL, "--by", "15m")
    of_line = rows(UTIL, "--by", "15m", "--sort", "io_rate", "--top", 1, "--top-of", "line")
    for line in of_line:
        same = [each for each in every if each["interval_end"] == line["interval_end"]]
        assert line == max(same, key=lambda each: each["io_rate"])
    processors = rows("processors_by_time", "--by", "30m", "--sort", "cpu", "--top", 1)
    assert {line["cpu"] for line in processors} == {0}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--user", "lxweb*"), {"LXWEB001"}),
        (("--user", "STAFF00?"), {f"STAFF00{n}" for n in range(1, 6)}),
        (("--class", "web"), {"LXWEB001"}),
        (("--class", "WEB", "--user", "LX*"), {"LXWEB001"}),
    ],
)
def test_users_are_chosen_by_a_pattern_or_a_class(rows: Any, words: Any, expected: set[str]):
    lines = rows(UTIL, *words)
    every = {line["userid"]: line for line in rows(UTIL)}
    assert lines == sorted((every[u] for u in expected), key=lambda r: -r["cpu_s"])


@pytest.mark.slow
def test_a_class_has_its_users_where_their_samples_are_gone(
    cpmon: Cpmon, lab: Path, tmp_path: Path
):
    """Users without a record but those of samples are in no relation then."""
    store = tmp_path / "store"
    shutil.copytree(lab, store)
    words = ("report", UTIL, "--class", "staff", "--format", "json", "--store", store)
    before = users(cpmon(*words).rows)
    assert cpmon("runs", "--delete", "LAB", "--store", store).status is Status.DONE
    assert cpmon("reduce", "--store", store).status is Status.DONE
    for table in ("mtrusr", "uselon", "uselof"):
        for file in store.rglob(f"{table}.parquet"):
            pq.write_table(pq.read_table(file).slice(0, 0), file)
    prune = ("store", "prune", "--store", store, "--raw", "1d", "--as-of", "2003-06-01")
    assert "samples of dump" in cpmon(*prune).text
    known = cpmon("query", "from meta.user_class", "--store", store, "--format", "json").rows
    assert "STAFF001" not in {row["userid"] for row in known}
    assert len(before) == 5 and users(cpmon(*words).rows) == before
    unknown = cpmon("report", UTIL, "--class", "web2", "--store", store)
    assert unknown.status is Status.USAGE and "STAFF, WEB" in unknown.err


def test_a_partition_whose_name_has_stars_is_one(rows: Any):
    lines = rows("lpar", "--partition", "*PHYSICAL*")
    assert len(lines) == 60 and {line["partition_name"] for line in lines} == {"*PHYSICAL*"}
    times = rows(UTIL, "--user", "LXDB0001", "--sort", "interval_end:desc")
    assert times == sorted(times, key=lambda line: line["interval_end"], reverse=True)
    assert rows(UTIL, "--by", "1h", "--where", "interval_end < '2000-01-01'") == []


def test_devices_are_chosen_by_a_range_and_a_class_is_followed(rows: Any, cpmon: Cpmon, lab: Path):
    numbers = {line["device"] for line in rows("dasd_by_activity", "--device", "0B02-0B04")}
    every = {line["device"] for line in rows("dasd_by_activity")}
    assert numbers == {n for n in every if 0xB02 <= n <= 0xB04} and len(numbers) == 3
    followed = rows("uclass_resource_util", "--class", "WEB", "--by", "30m")
    assert [line["class"] for line in followed] == ["WEB", "WEB"]
    heading = cpmon("report", "dasd_by_activity", "--device", "0B02-0B04", "--store", lab).text
    assert "device 0B02-0B04" in heading


def test_a_condition_keeps_lines_and_leaves_out_lines_of_all(rows: Any, cpmon: Cpmon, lab: Path):
    chosen = rows(UTIL, "--where", "cpu_util > 5 and userid like 'LX%'")
    assert chosen == [
        line for line in rows(UTIL) if line["cpu_util"] > 0.05 and line["userid"][:2] == "LX"
    ]
    assert rows(UTIL, "--where", "cpu_util > 0", "--top", 2) == rows(UTIL, "--top", 2)
    assert rows(UTIL, "--where", "cpu_util > 1000") == []
    printed = cpmon("report", UTIL, "--where", "cpu_util > 5", "--store", lab).text
    assert "where cpu_util > 5" in printed and "Total" not in printed
    limit = next(line for line in rows(UTIL) if line["userid"] == "STAFF001")
    printed = round(100 * limit["cpu_util"], 2)  # what is printed is what is judged
    assert limit["cpu_util"] * 100 != printed
    assert limit in rows(UTIL, "--where", f"cpu_util = {printed}")
    logons = rows("events", "--where", "kind = 'logon'")
    assert {line["kind"] for line in logons} == {"logon"}


@pytest.mark.parametrize(
    "condition",
    [
        "cpu_util > (SELECT 1)",
        "cpu_util > 1) UNION (SELECT 2",
        "cpu_util > 1 ORDER BY 1",
        "userid IN (FROM meta.dump)",
        "cpu_utl > 1",
        "cpu_util > 'x'",
        "sum(cpu_util) > 1",
        "cpu_util > ?",
        "getenv('HOME') = ''",
        "cpu_util >",
    ],
)
def test_what_is_no_condition_over_a_line_is_refused(cpmon: Cpmon, lab: Path, condition: str):
    answer = cpmon("report", UTIL, "--where", condition, "--store", lab)
    assert answer.status is Status.USAGE and not answer.out, answer


def test_lines_are_ordered_and_columns_chosen(rows: Any, cpmon: Cpmon, lab: Path):
    lines = rows(UTIL, "--sort", "userid", "--columns", "io_rate,cpu_s")
    assert users(lines) == sorted(users(rows(UTIL)))
    assert [*lines[0]][:-4] == ["userid", "io_rate", "cpu_s"]
    by_io = rows(UTIL, "--sort", "io_rate:asc")
    assert [x["io_rate"] for x in by_io] == sorted(x["io_rate"] for x in by_io)
    times = rows("events", "--sort", "event_at:desc")
    assert times == sorted(times, key=lambda line: line["event_at"], reverse=True)
    for wrong in (("--sort", "io"), ("--sort", "io_rate:up"), ("--columns", "io_rat")):
        assert cpmon("report", UTIL, *wrong, "--store", lab).status is Status.USAGE


@pytest.mark.slow
def test_the_greatest_lines_of_a_time_are_by_a_column(rows: Any, cpmon: Cpmon, lab: Path):
    every = rows("paging_by_time")
    greatest = sorted(every, key=lambda line: -line["steal_rate"])
    assert rows("paging_by_time", "--sort", "steal_rate", "--top", 5) == greatest[:5]
    words = ("paging_by_time", "--sort", "steal_rate", "--top", 5)
    printed = cpmon("report", *words, "--store", lab).text
    assert "the first 5, by steal_rate" in printed and "Mean" not in printed
    of_user = rows(UTIL, "--user", "LXDB0001")
    most = max(of_user, key=lambda line: line["io_rate"])
    assert rows(UTIL, "--user", "LXDB0001", "--sort", "io_rate", "--top", 1) == [most]


def test_a_line_has_the_maximum_of_its_intervals_and_its_time(rows: Any, cpmon: Cpmon, lab: Path):
    every = rows("system_summary_by_time")
    words = ("--by", "1h", "--with", "max,p95", "--columns", "total_util")
    (line,) = rows("system_summary_by_time", *words)
    assert [*line][1:5] == ["total_util", *(f"total_util_{n}" for n in ("max", "max_at", "p95"))]
    ranked = sorted(every, key=lambda row: row["total_util"], reverse=True)
    assert line["total_util_max"] == ranked[0]["total_util"]
    assert line["total_util_max_at"] == ranked[0]["interval_end"]
    assert line["total_util_p95"] == ranked[3]["total_util"]  # the fourth of 60
    query = "FROM rollup.users_by_time WHERE level = 'hour' AND shift = ''"
    rolled = {
        row["userid"]: row for row in cpmon("query", query, "--store", lab, "--format", "json").rows
    }
    for row in rows(UTIL, "--with", "max, p95"):
        for name in ("cpu_util_max", "io_rate_p95", "cpu_s_max"):
            assert row[name] == pytest.approx(rolled[row["userid"]][name]), name
    for wrong in ("median", "max,p9"):
        assert cpmon("report", UTIL, "--with", wrong, "--store", lab).status is Status.USAGE


@pytest.mark.slow
def test_a_week_of_objects_comes_from_roll_ups(cpmon: Cpmon, lab: Path, tmp_path: Path):
    store = tmp_path / "store"
    shutil.copytree(lab, store)
    words = ("report", UTIL, "--by", "1w", "--top", 3, "--with", "max,p95")
    words = (*words, "--format", "json", "--store", store)
    before = cpmon(*words).rows
    assert cpmon("reduce", "users_by_time", "--store", store).status is Status.DONE
    keep = ("--keep", "interval=1d", "--as-of", "2003-06-01")
    assert cpmon("store", "prune", "--store", store, *keep).status is Status.DONE
    after = cpmon(*words)
    assert "rests on roll-ups" in cpmon(*words[:-4], "--store", store).text
    assert users(after.rows) == users(before)
    for old, new in zip(before, after.rows, strict=True):
        assert new["cpu_s"] == pytest.approx(old["cpu_s"])
        assert new["cpu_util_max"] == pytest.approx(old["cpu_util_max"])
        assert old["cpu_util_max_at"] < new["cpu_util_max_at"] == "2003-05-06T09:00:00.000000Z"


def screen(words: list[str], **variables: str) -> Terminal:
    command = [sys.executable, "-m", "cpmon", "report", *words]
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    with Terminal(command, {**environment, "LINES": "100", **variables}) as terminal:
        assert terminal.end() == Status.DONE, terminal.screen
        return terminal


def test_notes_that_are_not_of_the_figures_shown_are_counted(cpmon: Cpmon, lab: Path):
    brief = cpmon("report", UTIL, "--store", lab).text
    assert "* 1 interval left out" in brief and "* Abs share: not known" in brief
    assert brief.endswith("* 4 more on inferred layouts and more: --notes.\n")
    whole = cpmon("report", UTIL, "--store", lab, "--notes").text
    assert "are inferred." in whole and "* Resident pages are those below 2 GB." in whole
    one = cpmon("report", "system_summary_by_time", "--store", lab).text
    assert "more" not in one.partition("\n* ")[2], "what is one line is printed"


def test_what_is_beyond_a_limit_has_a_mark_without_colours(cpmon: Cpmon, lab: Path, tmp_path: Path):
    settings = tmp_path / "cpmon.toml"
    settings.write_text(
        '[exceptions.busy]\ntitle = "Busy"\nseverity = "critical"\nreduction = "users_by_time"\n'
        'metric = "cpu_util"\nobject = "{userid}"\nscale = 100\nlimit = 25\n'
    )
    words = ("report", UTIL, "--store", lab, "--config", settings, "--columns", "cpu_util,io_rate")
    lines = {line.split()[0]: line for line in cpmon(*words).text.splitlines()[3:] if line}
    assert lines["LXWEB001"] == "LXWEB001   25.04!     72.5"
    assert lines["LXDB0001"] == "LXDB0001   20.61      38.9"
    assert "* ! is beyond the limit of a rule" in cpmon(*words).text
    peaks = cpmon(*words, "--with", "max").text
    assert " 36.78!" in peaks


@pytest.mark.slow
def test_a_terminal_shows_what_fits_and_colours_what_is_beyond_a_limit(lab: Path, tmp_path: Path):
    settings = tmp_path / "cpmon.toml"
    settings.write_text(
        '[exceptions.busy]\ntitle = "Busy"\nseverity = "critical"\nreduction = "users_by_time"\n'
        'metric = "cpu_util"\nobject = "{userid}"\nscale = 100\nlimit = 25\n'
        '[exceptions.warm]\ntitle = "Warm"\nseverity = "warning"\nreduction = "users_by_time"\n'
        'metric = "cpu_util"\nobject = "{userid}"\nscale = 100\nlimit = 5\n'
        "least = { page_rate = 1 }\n"
    )
    words = [UTIL, "--store", str(lab), "--config", str(settings)]
    shown = screen(words)
    assert b"\x1b[31m 25.04\x1b[0m" in shown.raw and b"\x1b[31m 20.61" not in shown.raw
    assert b"\x1b[33m 20.61\x1b[0m" in shown.raw and b"\x1b[33m  8.09" not in shown.raw
    assert "no room for" not in shown.screen
    narrow = screen(words, COLUMNS="60", NO_COLOR="1")
    assert b"\x1b[31m" not in narrow.raw and "25.04" in narrow.screen
    (table, _) = narrow.screen.split("\n\n* ", 1)
    assert max(map(len, table.splitlines()[3:])) <= 60
    assert "no room for: tv_ratio, io_rate, dasd_io_rate" in " ".join(narrow.screen.split())
    assert "no room for" not in screen([*words, "--wide"], COLUMNS="60").screen


@pytest.mark.slow
def test_what_is_longer_than_a_terminal_is_paged(lab: Path):
    words = [UTIL, "--store", str(lab)]
    assert "     1\tUSER_RESOURCE_UTIL" in screen(words, LINES="20", PAGER="cat -n").screen
    never = screen([*words, "--pager", "never"], LINES="20", PAGER="cat -n")
    assert "\tUSER_RESOURCE_UTIL" not in never.screen
