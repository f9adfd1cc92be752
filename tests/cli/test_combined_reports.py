"""Reports of several systems, and metrics of several reports in one table."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cpmon as library
from cpmon.cli.main import Status
from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.metrics.metric import TIME
from cpmon.reduce.reports.combined import _joined
from cpmon.reduce.reports.report_sql import BEGIN, END, MEASURED
from cpmon.store import Store
from tests.cli.answer import Cpmon

SAMPLES = Path(__file__).resolve().parents[2] / "sample-data"
DUMPS = {"PRODA": "linux-dasd-mdc/M11", "PRODB": "timer/2600NP", "TEST": "small-lab/LAB"}
REDUCED = ("system_summary_by_time", "paging_by_time", "users_by_time", "user_states_by_time")
SUMMARY, UTIL = "system_summary_by_time", "user_resource_util"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three systems, of which two are alike by name."""
    store = Store(tmp_path_factory.mktemp("fleet") / "store", create=True)
    for system, dump in DUMPS.items():
        ingest(SAMPLES / f"{dump}.mon.zst", store, system=system)
    reduce(store, REDUCED, Settings())
    return store.root


@pytest.fixture
def rows(cpmon: Cpmon, fleet: Path) -> Any:
    def asked(*words: object) -> list[dict[str, Any]]:
        answer = cpmon("report", *words, "--store", fleet, "--format", "json")
        assert answer.status is Status.DONE, answer.err
        return answer.rows

    return asked


def by_system(lines: list[dict[str, Any]], system: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["system"] == system]


def test_a_report_of_systems_has_the_lines_of_each(rows: Any, cpmon: Cpmon, fleet: Path):
    lines = rows(SUMMARY, "--system", "prod*", "--by", "1d")
    assert [line["system"] for line in lines] == ["PRODA", "PRODB"]
    for system in ("PRODA", "PRODB"):
        assert by_system(lines, system) == rows(SUMMARY, "--system", system, "--by", "1d")
    text = cpmon("report", SUMMARY, "--system", "PROD?", "--by", "1d", "--store", fleet).text
    assert "Systems PRODA, PRODB" in text and "Mean" not in text
    assert cpmon("report", SUMMARY, "--system", "Q*", "--store", fleet).status is Status.USAGE


@pytest.mark.slow
def test_the_greatest_are_those_of_all_systems(rows: Any):
    one_by_one = [line for name in DUMPS for line in rows(UTIL, "--system", name)]
    whole = rows(UTIL, "--system", "*", "--top", 3)
    greatest = sorted(one_by_one, key=lambda line: line["cpu_util"], reverse=True)[:3]
    assert [line["userid"] for line in whole] == [line["userid"] for line in greatest]
    worst = rows(SUMMARY, "--system", "*", "--sort", "total_util", "--top", 4)
    every = [line for name in DUMPS for line in rows(SUMMARY, "--system", name)]
    assert worst == sorted(every, key=lambda line: line["total_util"], reverse=True)[:4]


def test_columns_are_chosen_in_any_case_and_lines_sorted_by_others(rows: Any):
    words = ("--columns", "CPU_S", "--sort", "io_rate", "--top", 2)
    for system in ("TEST", "T*"):
        lines = rows(UTIL, "--system", system, *words)
        assert {"userid", "cpu_s"} <= {*lines[0]} and "io_rate" not in lines[0], system
        every = rows(UTIL, "--system", system, "--sort", "io_rate")
        assert [line["userid"] for line in lines] == [line["userid"] for line in every[:2]]


@pytest.mark.slow
def test_a_total_over_systems_is_of_sums_alone(cpmon: Cpmon, rows: Any, fleet: Path):
    words = ("report", UTIL, "--system", "*", "--columns", "cpu_util,cpu_s", "--store", fleet)
    (total,) = (line for line in cpmon(*words).text.splitlines() if line.startswith("Total"))
    seconds = sum(line["cpu_s"] for line in rows(UTIL, "--system", "*"))
    assert total.split() == ["Total", f"{seconds:.2f}"]


@pytest.mark.slow
def test_a_system_without_lines_is_named(cpmon: Cpmon, fleet: Path):
    words = ("report", SUMMARY, "--system", "*", "--since", "2003-01-01", "--store", fleet)
    text = cpmon(*words, "--by", "1d").text
    assert "System TEST" in text and "* PRODA has no line: no measured interval" in text


def test_metrics_of_several_reports_stand_side_by_side(rows: Any, cpmon: Cpmon, fleet: Path):
    words = ("--system", "TEST", "--by", "15m")
    table = rows("total_util", "steal_rate", "Users-Active", *words)
    assert [*table[0]][:4] == ["interval_end", "total_util", "steal_rate", "users_active"]
    summary, paging = rows(SUMMARY, *words), rows("paging_by_time", *words)
    for line, first, second in zip(table, summary, paging, strict=True):
        for name in ("interval_end", "total_util", "users_active", "begin", "end", "measured_s"):
            assert line[name] == first[name], name
        assert line["steal_rate"] == second["steal_rate"]
    (worst,) = rows(
        "total_util", "steal_rate", "--system", "TEST", "--sort", "steal_rate", "--top", 1
    )
    assert worst["steal_rate"] == max(
        line["steal_rate"] for line in rows("paging_by_time", "--system", "TEST")
    )
    text = cpmon("report", "total_util", "steal_rate", *words, "--store", fleet).text
    assert "Metrics of " in text and "\nMean " in text


def test_metrics_of_one_object_are_of_its_reports(rows: Any, cpmon: Cpmon, fleet: Path):
    words = ("--system", "TEST", "--user", "LXDB0001")
    table = rows("cpu_util", "running_share", *words)
    assert [line["cpu_util"] for line in table] == [line["cpu_util"] for line in rows(UTIL, *words)]
    states = rows("user_states", *words)
    assert [line["running_share"] for line in table] == [line["running_share"] for line in states]
    for wrong in (("cpu_util",), ("cpu_util", "--user", "LX*"), ("cpu_util", "nonsense")):
        answer = cpmon("report", *wrong, "--system", "TEST", "--store", fleet)
        assert answer.status is Status.USAGE and answer.err, wrong


def test_metrics_of_several_systems(rows: Any):
    lines = rows("total_util", "steal_rate", "--system", "PROD*", "--by", "1d")
    assert [line["system"] for line in lines] == ["PRODA", "PRODB"]
    alone = rows("total_util", "steal_rate", "--system", "PRODB", "--by", "1d")
    assert by_system(lines, "PRODB") == alone


@pytest.mark.slow
def test_programs_ask_the_same(rows: Any, fleet: Path):
    store = library.open(fleet)
    frame = store.report(["total_util", "steal_rate"], system="*", by="1d", statistics="max")
    lines = rows("total_util", "steal_rate", "--system", "*", "--by", "1d", "--with", "max")
    assert frame.get_column("total_util_max").to_list() == [x["total_util_max"] for x in lines]


def test_metrics_of_several_reports_are_drawn(cpmon: Cpmon, fleet: Path, tmp_path: Path):
    words = ("total_util", "steal-rate", "--system", "TEST", "--by", "15m", "--store", fleet)
    assert cpmon("report", *words, "--plot", tmp_path / "m.svg").status is Status.DONE
    drawn = (tmp_path / "m.svg").read_text()
    assert "Steals" in drawn and "Total Util" in drawn


def test_what_two_reports_measured_differently_is_not_said():
    at = [datetime(2026, 1, 1, hour) for hour in (1, 2, 3)]  # noqa: DTZ001
    one = pa.table({TIME: at, "a": [1, 2, 3], BEGIN: at, END: at, MEASURED: [60.0, 60.0, 60.0]})
    other = pa.table(
        {TIME: at[:2], "b": [1, 2], BEGIN: at[:2], END: at[:2], MEASURED: [60.0, 30.0]}
    )
    joined = _joined(one, other).sort_by(TIME)
    assert joined.column(MEASURED).to_pylist() == [60.0, None, 60.0]
    assert joined.column(END).to_pylist() == at
