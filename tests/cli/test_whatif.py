"""What if: a planted use of a guest is added to the hours of its system, as often as asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import cpmon as api
from cpmon.core.errors import CpmonError
from cpmon.reduce.forecast import Change, forecast, what_if
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import ReportResult
from cpmon.store import Store, connect
from tests.cli.answer import Cpmon
from tests.guests import batch, known, lnx1, store_of_guests, week_hour
from tests.months import WEEK

HOURS = 22 * 24
N = np.arange(HOURS)
LNX1, BATCH, KNOWN, WEEK_HOUR = lnx1(N), batch(N), known(N), week_hour(N)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return store_of_guests(tmp_path_factory.mktemp("whatif"), HOURS)


def told(store: Store, change: Change, **options: object) -> ReportResult:
    with connect(store, reductions()) as connection:
        return what_if(connection, change, **options)  # type: ignore[arg-type]


def lines(result: ReportResult) -> dict[str, dict[str, object]]:
    return {row["metric"]: row for row in result.table.to_pylist()}


def notes(result: ReportResult, word: str) -> str:
    return " ".join(note for note in result.notes if word in note)


def by_hour(values: np.ndarray, share: float) -> tuple[float, int]:
    """A quantile of the hour of the week with the greatest median, and that hour."""
    groups = {h: values[KNOWN & (h == WEEK_HOUR)] for h in range(WEEK)}
    hour = max(groups, key=lambda h: np.median(groups[h]) if len(groups[h]) > 2 else -1.0)
    return float(np.quantile(groups[hour], share)), hour


def test_copies_of_a_guest_add_what_it_uses(store: Store):
    result = told(store, Change.guests(5, "LNX1"))
    found = lines(result)
    busy, then = found["total_util"], 50 * (BATCH + 6 * LNX1)
    assert busy["peak"] == pytest.approx(by_hour(50 * (BATCH + LNX1), 0.5)[0])
    shares = {"peak_low": 0.05, "peak_then": 0.5, "peak_high": 0.95}
    for name, share in shares.items():
        assert busy[name] == pytest.approx(by_hour(then, share)[0])
    assert (by_hour(then, 0.5)[1], busy["peak_hour"]) == (34, "Tue 10:00")
    assert busy["met"] == pytest.approx((then[KNOWN] >= 90 - 1e-9).mean())
    assert {name: (row["mean"], row["mean_then"]) for name, row in found.items()} == {
        "total_util": (busy["mean"], busy["mean_then"]),
        "dasd_page_rate": (40, pytest.approx(65)),
        "page_used_share": (40, pytest.approx(45)),
        "overcommit": (0.5, pytest.approx(1.75)),
        "working_set_pages": (1000, pytest.approx(3500)),
        "resident_pages": (1200, pytest.approx(4200)),
        "dasd_io_rate": (25, pytest.approx(50)),
    }


def test_the_spread_is_that_of_the_weeks_and_hours_without_the_guest_are_counted(store: Store):
    result = told(store, Change.guests(5, "LNX1"))
    assert {row["hours"] for row in lines(result).values()} == {HOURS - 11}
    left_out = "11 hours in which LNX1 was not logged on or not known all the time"
    rare = "11 hours of the week known fewer than 3 times"
    assert f"Left out: {left_out}; {rare}." in result.notes
    assert "5 and 95 %: quantiles of its values over up to 4 weeks" in notes(result, "quantiles")
    assert "not what it would need" in notes(result, "resident_pages")


def test_it_says_where_waiting_is_not_linear_and_where_demand_is_beyond(store: Store):
    many = told(store, Change.guests(12, "LNX1"))
    beyond = int((BATCH + 13 * LNX1 > 2)[KNOWN].sum())
    assert "waiting is not linear" in notes(many, "linear")
    assert f"total_util: in {beyond} hours more is asked for" in notes(many, "asked")
    assert "page_used_share: in" in notes(told(store, Change.guests(70, "LNX1")), "asked")
    few = told(store, Change.guests(1, "LNX1"))
    assert not notes(few, "linear")
    assert not notes(few, "asked")


def test_guests_are_taken_away_but_no_more_than_there_are(store: Store):
    found = lines(told(store, Change.guests(-1, "LNX1")))
    assert found["total_util"]["peak_high"] == pytest.approx(by_hour(50 * BATCH, 0.95)[0])
    assert found["dasd_io_rate"]["mean_then"] == pytest.approx(20)
    with pytest.raises(CpmonError, match="more overcommit would be taken away") as error:
        told(store, Change.guests(-5, "LNX1"))
    assert error.value.code == "whatif-more-than-all"


def test_a_class_is_scaled(store: Store):
    """OTHER is all of BATCH, LINUX is LNX1: half as much again of each."""
    with_batch = lines(told(store, Change.scaled("OTHER", 1.5)))
    assert with_batch["total_util"]["hours"] == HOURS  # BATCH is always there
    assert with_batch["working_set_pages"]["peak_then"] == pytest.approx(1250)
    with_linux = lines(told(store, Change.scaled("LINUX", 1.5)))
    assert with_linux["overcommit"]["hours"] == HOURS - 11
    assert with_linux["overcommit"]["mean_then"] == pytest.approx(0.5 + 0.125)
    without = lines(told(store, Change.scaled("LINUX", 0)))
    assert without["dasd_io_rate"]["mean_then"] == pytest.approx(20)


def test_limits_are_those_of_rules_unless_given(store: Store):
    result = told(store, Change.guests(5, "LNX1"), thresholds={"dasd_page_rate": 60.0})
    found = lines(result)
    assert (found["total_util"]["threshold"], found["total_util"]["trend_met"]) == (90, None)
    assert (found["dasd_page_rate"]["threshold"], found["dasd_page_rate"]["met"]) == (60, 1)
    assert found["overcommit"]["threshold"] is None
    assert "trend not known: too few weeks" in notes(result, "rule processor-busy")
    assert "dasd_page_rate" not in notes(result, "No limit")


@pytest.mark.slow
def test_the_trend_alone_is_that_of_the_forecast(tmp_path: Path):
    weeks = store_of_guests(tmp_path, 7 * WEEK)
    result = told(weeks, Change.guests(1, "LNX1"))
    with connect(weeks, reductions()) as connection:
        ahead = timedelta(days=365)
        alone = forecast(connection, "total_util", report="processors_by_time", horizon=ahead)
    day = lines(result)["total_util"]["trend_met"]
    assert f"50 % by {day}," in " ".join(alone.result.notes)
    assert "by 2002-" in notes(result, "the trend alone has met it")


@pytest.mark.parametrize(
    ("change", "options", "problem"),
    [
        (Change.guests(1, "LNX2"), {}, "there is no user LNX2"),
        (Change.scaled("LINUXES", 2), {}, "there is no user class LINUXES"),
        (Change.guests(1, "LNX1"), {"thresholds": {"cpu": 1.0}}, "there is no metric"),
        (Change.guests(1, "LNX1"), {"system": "VMPROD"}, "there is no system VMPROD"),
        (
            Change.guests(1, "LNX1"),
            {"since": datetime(2001, 12, 28, tzinfo=UTC)},
            "too few hours are known of both VMTEST and LNX1",
        ),
        (
            Change.guests(1, "LNX1"),
            {"since": datetime(2010, 1, 1, tzinfo=UTC)},
            "no hours? (of|are)",
        ),
    ],
)
def test_what_cannot_be_told_is_refused(
    store: Store, change: Change, options: dict[str, object], problem: str
):
    with pytest.raises(CpmonError, match=problem):
        told(store, change, **options)


def test_the_command_prints_it_in_each_format(store: Store, cpmon: Cpmon):
    added = ("whatif", "--add", 5, "--like", "lnx1", "--store", store.root)
    table = cpmon(*added)
    assert table.text.startswith("WHATIF  5 guests more like LNX1\nSystem VMTEST")
    rows = cpmon(*added, "--format", "json").rows
    assert [row["metric"] for row in rows][:2] == ["total_util", "dasd_page_rate"]
    csv = cpmon(*added, "--threshold", "overcommit=1.5", "--format", "csv")
    assert csv.text.splitlines()[0].startswith("metric,unit,hours,mean,mean_then,peak,")
    assert "overcommit: limit of --threshold" in csv.err


def test_the_command_takes_away_and_scales(store: Store, cpmon: Cpmon):
    fewer = cpmon("whatif", "--remove", 1, "--like", "LNX1", "--store", store.root)
    assert "1 guest fewer like LNX1" in fewer.text
    scaled = cpmon("whatif", "--scale", "linux", 1.2, "--store", store.root)
    assert "class LINUX times 1.2" in scaled.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name one change"),
        (("--add", 1, "--remove", 1, "--like", "A"), "name one change"),
        (("--add", 1), "--like USERID"),
        (("--scale", "A", 2, "--like", "B"), "--scale names a class"),
        (("--add", 1, "--like", "A", "--threshold", "x"), "has no ="),
        (("--add", 1, "--like", "A", "--threshold", "x=y"), "is no number"),
    ],
)
def test_a_line_that_means_nothing_is_refused(
    store: Store, cpmon: Cpmon, words: tuple[object, ...], said: str
):
    assert said in cpmon("whatif", *words, "--store", store.root).err


def test_programs_get_the_lines_of_the_command(store: Store):
    with api.open(store.root) as opened:
        answer = opened.whatif(add=5, like="lnx1", thresholds={"total_util": 90})
        assert answer.rows(named=True) == told(store, Change.guests(5, "LNX1")).table.to_pylist()
        with pytest.raises(CpmonError, match="not one change"):
            opened.whatif(add=5)
