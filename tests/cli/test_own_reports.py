"""Reports, metrics, reductions and questions of a site work wherever the shipped ones do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.config.definitions import Definitions, use
from cpmon.ingest import ingest
from cpmon.store import Store
from tests.batch.site import make_site
from tests.cli.answer import Cpmon
from tests.dumps import dump, fields, interval
from tests.scenarios import CONFIG

VIEW = """\
-- Moves of each processor.
CREATE OR REPLACE VIEW moves AS
SELECT s.system,
       s.interval_end,
       s.seconds,
       -- Processor address.
       s.pfxcpuad AS cpu,
       -- Pages moved below 2 GB. NULL where it is not known.
       s.plsmvb2g AS pages,
       s.doubts
FROM interval.sytrsp AS s;
"""
TABLES = """\
[[metric]]
name = "move_rate"
views = ["moves"]
kind = "ratio"
numerator = "pages"
denominator = "seconds"
unit = "/s"
format = "1"
heading = "Moves"
low = "0"
meaning = "Pages moved a second. NULL without SYTRSP deltas."

[[report]]
name = "MOVES"
title = "Moves below 2 GB"
group = "own"
reduction = "moves"
lines = "object"
keys = ["cpu"]
follows = { cpu = "cpu" }
sort = "move_rate"
columns = ["cpu", "move_rate"]
total = ["move_rate"]

[[chart]]
name = "own-moves"
title = "Moves of the busiest"
about = "Two processors."
top = 2
series = [{ report = "MOVES", column = "move_rate" }]
"""
LATEST = """\
[[metric]]
name = "pages"
views = ["moves"]
kind = "latest"
format = "0"
heading = "Pages"

[[report]]
name = "MOVES"
title = "Pages moved in the last interval"
group = "own"
reduction = "moves"
lines = "object"
keys = ["cpu"]
follows = { cpu = "cpu" }
sort = "cpu"
columns = ["cpu", "pages"]
"""
SPARE = """\
[[metric]]
name = "{}"
views = ["{}"]
kind = "ratio"
numerator = "pages"
denominator = "seconds"

[[report]]"""
QUESTION = """\
-- The busiest movers
-- Processors and the pages that they moved.
-- param: top = 1 -- how many
SELECT cpu, sum(pages) AS pages FROM moves GROUP BY cpu ORDER BY pages DESC LIMIT $top
"""
FILES = {"moves.sql": VIEW, "own.toml": TABLES, "movers.sql": QUESTION}


def moves(number: int) -> bytes:
    """Processor 0 moves 10 pages a second, processor 1 20."""
    config = CONFIG if number == 1 else b""
    samples = [
        fields("sytrsp", 60 * number, pfxcpuad=c, plsmvb2g=600 * (c + 1) * number) for c in range(2)
    ]
    return interval(60 * number, config, *samples)


DUMP = dump(*map(moves, range(1, 5)))


@pytest.fixture(autouse=True)
def _shipped_again() -> Iterator[None]:
    yield
    use(Definitions())


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("landed")
    (folder / "a.mon").write_bytes(DUMP)
    ingest(folder / "a.mon", store := Store(folder / "store", create=True))
    return store.root


@pytest.fixture
def site(tmp_path: Path, landed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings, definitions and a store, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "cpmon.toml").write_text('store = "perf"\n')
    write(tmp_path / "reports")
    shutil.copytree(landed, tmp_path / "perf")
    return tmp_path


def write(folder: Path) -> None:
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)


def rates(cpmon: Cpmon, *words: object) -> dict[int, float]:
    rows = cpmon("report", "moves", "--format", "json", *words).rows
    return {row["cpu"]: round(row["move_rate"], 3) for row in rows}


def test_a_report_is_listed_printed_and_followed(site: Path, cpmon: Cpmon):
    assert "MOVES  Moves below 2 GB" in cpmon("report", "--list").text
    assert rates(cpmon) == {1: 20, 0: 10}
    assert rates(cpmon, "--top", 1) == {1: 20}
    (line,) = cpmon("report", "moves", "--cpu", 0, "--by", "1h", "--format", "json").rows
    assert line["move_rate"] == pytest.approx(10, rel=1e-3)
    printed = cpmon("report", "MOVES").text
    assert "Total     30.0" in printed and "Moves" in printed


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_it_is_reduced_and_rolled_up_by_any_process(site: Path, cpmon: Cpmon, jobs: int):
    answer = cpmon("reduce", "moves", "--jobs", jobs)
    assert answer.status is Status.DONE, answer.err
    kept = {file.parent.parent.name for file in (site / "perf/reduced/moves").rglob("*.parquet")}
    assert kept == {"level=interval", "level=hour"}
    assert rates(cpmon) == {1: 20, 0: 10}
    (site / "reports/moves.sql").write_text(VIEW.replace("s.plsmvb2g", "2 * s.plsmvb2g"))
    assert rates(cpmon) == {1: 40, 0: 20}, "a kept result of another definition is not read"
    (outdated,) = (r for r in cpmon("store", "info", "--format", "json").rows if "out" in r["what"])
    assert (outdated["files"], outdated["note"]) == (2, "moves: cpmon reduce replaces them")


def test_a_report_of_latest_values_alone_is_rolled_up(site: Path, cpmon: Cpmon):
    (site / "reports/own.toml").write_text(LATEST)
    assert cpmon("reduce", "moves").status is Status.DONE
    prune = ("store", "prune", "--keep", "interval=1d", "--as-of", "2030-01-01")
    assert cpmon(*prune).status is Status.DONE
    kept = cpmon("report", "moves", "--by", "1h", "--format", "json")
    assert kept.status is Status.DONE, kept.err
    assert {row["cpu"]: row["pages"] for row in kept.rows} == {1: 1200, 0: 600}


def test_a_question_takes_parameters_in_a_file_too(site: Path, cpmon: Cpmon):
    assert "movers  The busiest movers" in cpmon("query", "--list").text
    assert cpmon("query", "movers", "-p", "top=2", "--format", "json").rows == [
        {"cpu": 1, "pages": 3600},
        {"cpu": 0, "pages": 1800},
    ]
    (site / "q.sql").write_text(
        "-- param: least = 0 -- pages\nSELECT cpu FROM moves WHERE pages > $least GROUP BY cpu"
    )
    rows = cpmon("query", "--file", "q.sql", "-p", "least=700", "--format", "json").rows
    assert rows == [{"cpu": 1}]
    assert len(cpmon("query", "--file", "q.sql", "--format", "json").rows) == 2


@pytest.mark.slow
def test_it_is_on_pages_and_drawn(site: Path, cpmon: Cpmon):
    assert cpmon("report", "--html", "-o", "pages").status is Status.DONE
    (page,) = (site / "pages").glob("system-*.html")
    text = page.read_text()
    assert "Moves below 2 GB" in text and "Moves of the busiest" in text
    assert cpmon("report", "moves", "--plot", "moves.svg").status is Status.DONE
    assert "<svg" in (site / "moves.svg").read_text()


@pytest.mark.slow
def test_rules_and_outputs_of_batches_name_it(
    tmp_path: Path, cpmon: Cpmon, monkeypatch: pytest.MonkeyPatch
):
    site = make_site(tmp_path, monkeypatch)
    write(site.folder / "reports")
    rule = 'title = "Moves"\nseverity = "warning"\nreduction = "moves"\nmetric = "move_rate"\n'
    site.configure(
        '[[output]]\nreport = "moves"\npath = "out/%d.csv"\n'
        f'[exceptions.moves]\n{rule}object = "{{cpu}}"\nlimit = 15\n'
    )
    site.put("a.mon", DUMP)
    monkeypatch.chdir(site.folder)
    cpmon("batch", "run")
    (file,) = (site.folder / "out").glob("*.csv")
    assert file.read_text().splitlines()[0] == "cpu,move_rate,system,begin,end,measured_s"
    found = cpmon("exceptions", "--format", "json").rows
    assert [(row["rule"], row["object"]) for row in found if row["rule"] == "moves"] == [
        ("moves", "1")
    ]


@pytest.mark.slow
def test_a_metric_of_runs_is_compared(site: Path, perf: Path, cpmon: Cpmon):
    (site / "reports/runs.toml").write_text(
        '[[metric]]\nname = "own_rate"\nviews = ["run_summary"]\nkind = "ratio"\n'
        'numerator = "busy_tod"\ndenominator = "processor_seconds"\nfactor = "1/4096e6"\n'
        'unit = "%"\nheading = "Own"\nformat = "1"\ncompare = "900 1"\n'
        'meaning = "Busy. NULL without SYTPRP deltas."\n'
    )
    answer = cpmon("compare", "--base", "2600NP", "--run", "3600P1", "--store", perf)
    lines = {line[:20].strip(): line[20:].split() for line in answer.text.splitlines()}
    assert lines["Own"] and lines["Own"] == lines["Total Util/Proc"]


def test_a_report_begins_as_a_copy(site: Path, cpmon: Cpmon):
    answer = cpmon("report", "--new", "MINE", "--like", "processors_by_time")
    assert answer.status is Status.DONE, answer.err
    copied = cpmon("report", "mine", "--format", "csv")
    assert copied.out == cpmon("report", "processors_by_time", "--format", "csv").out
    again = cpmon("report", "--new", "MINE", "--like", "processors_by_time")
    assert again.status is Status.USAGE and "there is a file for a report" in again.err
    assert cpmon("report", "--new", "MINE").status is Status.USAGE


def test_a_copy_is_read_in_the_folder_in_which_it_was_made(
    cpmon: Cpmon, tmp_path: Path, perf: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    new = cpmon("report", "--new", "MINE", "--like", "processors_by_time")
    assert "cpmon.toml: made" in new.err
    answer = cpmon("report", "mine", "--run", "2600NP", "--store", perf)
    assert answer.status is Status.DONE, answer.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "place", "found"),
    [
        ("own.toml", '"move_rate"]\ntotal', '"mov_rate"]\ntotal', "report[0]", "mov_rate"),
        ("own.toml", 'format = "1"', 'formt = "1"', "metric[0].formt", "formt"),
        ("own.toml", 'kind = "ratio"', 'kind = "rate"', "metric[0]", "rate"),
        ("own.toml", 'name = "MOVES"', 'name = "paging-by-time"', "report[0]", "paging-by-time"),
        ("own.toml", 'report = "MOVES"', 'report = "MOVE"', "chart[0]", "MOVE"),
        ("moves.sql", "interval.sytrsp AS s", "read_csv('/etc/passwd') AS s", "moves.sql", "read"),
        ("moves.sql", "interval.sytrsp AS s;", "moves AS s; DROP TABLE x", "moves.sql", "DROP"),
        ("moves.sql", "interval.sytrsp", "interval.sytrs", "moves.sql", "sytrs"),
        ("moves.sql", "       s.doubts\n", "       s.doubts AS d\n", "moves.sql", "interval_end"),
        ("moves.sql", "       -- Processor address.\n", "", "moves.sql", "cpu"),
        ("movers.sql", "-- param: top = 1", "-- param: top : 1", "movers.sql:3", "top : 1"),
        ("own.toml", "[[report]]", SPARE.format("rate", "move"), "metric[1]", "no reduction move"),
        ("own.toml", "[[report]]", SPARE.format("pages", "moves"), "metric[1]", "column of moves"),
        (
            *("own.toml", 'unit = "/s"', "expression = \"(FROM/**/read_text('/etc/passwd'))\""),
            *("metric[0]", "over the columns of a row"),
        ),
        (
            *("own.toml", 'unit = "/s"', "expression = \"1) FROM moves; COPY (SELECT 1\""),
            *("metric[0]", "over the columns of a row"),
        ),
        (
            *("moves.sql", "AS\nSELECT", "AS\nWITH moves AS (SELECT 1) SELECT", "moves.sql"),
            "a WITH with the name of a reduction, moves",
        ),
        ("moves.sql", "VIEW moves AS", "VIEW _moves AS", "moves.sql", "called as its view"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_place(
    site: Path, cpmon: Cpmon, file: str, old: str, new: str, place: str, found: str
):
    text = FILES[file]
    assert old in text
    (site / "reports" / file).write_text(text.replace(old, new))
    words = ("query", "movers") if file == "movers.sql" else ("report", "moves")
    answer = cpmon("report", "--html", "-o", "pages") if "chart" in place else cpmon(*words)
    assert answer.status is Status.USAGE, answer
    assert place in answer.err and found in answer.err


def test_rows_that_would_halve_a_rate_are_refused(site: Path, cpmon: Cpmon):
    own = TABLES.replace('keys = ["cpu"]\nfollows = { cpu = "cpu" }\n', "")
    own = own.replace('columns = ["cpu", ', "columns = [")
    (site / "reports/own.toml").write_text(own)
    answer = cpmon("report", "moves")
    assert answer.status is Status.USAGE
    assert "moves has several rows for one line of MOVES" in answer.err


def test_definitions_in_a_store_count_where_its_user_trusts_it(site: Path, cpmon: Cpmon):
    store = site / "perf"
    store.chmod(0o755)
    (site / "reports").rename(store / "reports")
    (site / "cpmon.toml").unlink()
    words = ("report", "moves", "--store", store)
    refused = cpmon(*words)
    assert refused.status is Status.USAGE and "there is no report moves" in refused.err
    assert "are left out" in refused.err and "is not trusted" in refused.err
    (site / "config/cpmon").mkdir(parents=True)
    users = site / "config/cpmon/config.toml"
    users.write_text(f"trusted_stores = [{json.dumps(str(store))}]\n")
    assert cpmon(*words).status is Status.DONE
    (store / "reports/moves.sql").chmod(0o666)
    exposed = cpmon(*words)
    assert exposed.status is Status.USAGE and "can be written by others" in exposed.err
