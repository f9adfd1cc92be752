"""Forecasts: a known trend is found again, bands and probabilities hold what they say."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow.compute as pc
import pytest

from cpmon.config import Settings
from cpmon.core.errors import CpmonError, NothingToReportError
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.forecast import Forecast, forecast
from cpmon.reduce.forecast.hours import find_metric, kept_hours
from cpmon.reduce.forecast.trend import MONDAY, WEEK_HOURS, Fit, Paths, fit_hours, simulate
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report_sql import Span
from cpmon.store import Store, connect
from cpmon.store.results.retention import plan, prune, retention
from tests.dumps import dump, fields, interval
from tests.months import BEGIN_S, GROWTH, PAGES, START, months, season, shares, store_of_months

MONDAY_2002 = (BEGIN_S // 3600 + MONDAY) // WEEK_HOURS * WEEK_HOURS - MONDAY
"""The hour since 1970 that a week begins with."""
SLOPE, HOURLY, WEEKLY = 0.002, 0.03, 0.01
"""What a week adds to the series below, and deviations of an hour and of a week."""


def series(weeks: int, seed: int, dependence: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Hours and values with a season; deviations of hours and weeks, which may be correlated."""
    rng, n = np.random.default_rng(seed), np.arange(weeks * WEEK_HOURS)
    hourly, weekly = rng.normal(0, HOURLY, len(n)), rng.normal(0, WEEKLY, weeks)
    for k in range(1, len(n)):
        hourly[k] += dependence * hourly[k - 1]
    for k in range(1, weeks):
        weekly[k] += 0.6 * dependence * weekly[k - 1]
    values = 0.4 + SLOPE * n / WEEK_HOURS + season(n % WEEK_HOURS)
    return MONDAY_2002 + n, values + hourly + np.repeat(weekly, WEEK_HOURS)


def fitted(hours: np.ndarray, values: np.ndarray) -> Fit:
    return fit_hours(hours, values, np.random.default_rng(0))


def future(fit: Fit, hours: np.ndarray, weeks: int) -> Paths:
    return simulate(fit, int(hours[-1] + 1) // 24, weeks * 7, np.random.default_rng(1))


def test_a_known_trend_and_season_are_found_again():
    hours, values = series(26, 1)
    fit = fitted(hours, values)
    assert fit.slope == pytest.approx(SLOPE, abs=3 * fit.slope_sd)
    assert fit.slope_sd < 0.0004
    expected = season(np.arange(WEEK_HOURS))
    assert np.abs(fit.season - (expected - expected.mean())).max() < 4 * HOURLY / np.sqrt(26)


@pytest.mark.parametrize("dependence", [0.0, 0.9])
def test_noise_is_no_season(dependence: float):
    """Also where successive hours have much in common; a real one of its size is one."""
    seen = []
    for seed in range(20):
        hours, values = series(12, seed, dependence)
        flat = values - season((hours + MONDAY) % WEEK_HOURS)
        seen.append(np.nanmax(np.abs(fitted(hours, flat).season)) > 0)
        assert np.nanmax(np.abs(fitted(hours, values).season)) > 0
    assert sum(seen) <= 1


def test_a_week_of_outage_moves_the_trend_little():
    hours, values = series(16, 1)
    values[2 * WEEK_HOURS : 3 * WEEK_HOURS] = 0.0
    assert fitted(hours, values).slope == pytest.approx(SLOPE, abs=0.001)
    assert np.polyfit(hours / WEEK_HOURS, values, 1)[0] > 2.5 * SLOPE  # least squares believe it


def test_weeks_that_depend_on_each_other_count_as_fewer():
    errors = {
        dependence: np.mean([fitted(*series(20, seed, dependence)).slope_sd for seed in range(10)])
        for dependence in (0.0, 0.95)
    }
    assert errors[0.95] > 1.4 * errors[0.0]


def tried(
    weeks: int, dependence: float
) -> tuple[list[float], list[float], list[tuple[float, bool]]]:
    """Shares of days whose mean and busiest hour lie in the band; probabilities of thresholds.

    Each probability stands with whether the threshold was met.
    """
    of_mean, of_peak, chances = [], [], []
    for seed in range(50):
        hours, values = series(weeks + 6, seed, dependence)
        known = weeks * WEEK_HOURS
        paths = future(fitted(hours[:known], values[:known]), hours[:known], 6)
        days = values[known:].reshape(-1, 24)
        bands = ((days.mean(axis=1), paths.mean, of_mean), (days.max(axis=1), paths.peak, of_peak))
        for actual, simulated, shares_inside in bands:
            low, high = np.quantile(simulated, [0.05, 0.95], axis=0)
            shares_inside.append(float(np.mean((actual >= low) & (actual <= high))))
        greatest = paths.peak.max(axis=1)
        for threshold in 0.64 + 0.03 * np.arange(6) + 0.002 * weeks:
            chances.append((float(np.mean(greatest >= threshold)), bool(days.max() >= threshold)))
    return of_mean, of_peak, chances


DATA = months(shares(8), missing=range(500, 504), ipl=1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weeks", "dependence"),
    [(6, 0.0), (12, 0.8), pytest.param(26, 0.0, marks=pytest.mark.long)],
)
def test_bands_and_probabilities_hold_what_they_say(weeks: int, dependence: float):
    """Nine of ten days lie in the band; thresholds are met as often as their probability says."""
    of_mean, of_peak, thresholds = tried(weeks, dependence)
    assert 0.83 < np.mean(of_mean) < 0.96
    assert 0.83 < np.mean(of_peak) < 0.96
    chances = np.array(thresholds, dtype=float)
    likely, met = chances[:, 0], chances[:, 1]
    assert np.mean(met) == pytest.approx(np.mean(likely), abs=0.06)
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.01)):
        some = (likely >= low) & (likely < high)
        assert some.sum() > 10
        assert np.mean(met[some]) == pytest.approx(np.mean(likely[some]), abs=0.18)


def test_a_store_whose_hours_are_all_parts_is_refused(tmp_path: Path):
    """A dump of three minutes has an hour, of which nearly nothing was measured."""
    processors = [fields("sytprp", 60 * n, pfxcpuad=0, pfxutime=n << 32) for n in range(4)]
    settings = [fields("mtrsys", 0, systmid="VMTEST"), fields("mtrspr", 0, interval=60)]
    minutes = [interval(60 * n, *settings * (n == 0), p) for n, p in enumerate(processors)]
    store = store_of_months(tmp_path, dump(*minutes))
    with (
        connect(store, reductions()) as con,
        pytest.raises(NothingToReportError, match="can be used") as error,
    ):
        forecast(con, "total_util")
    assert (
        error.value.found == "1 hour less than three quarters measured, as around restarts and gaps"
    )


def test_fewer_than_six_weeks_are_refused():
    with pytest.raises(NothingToReportError, match="too few weeks") as error:
        fitted(*series(5, 1))
    assert (error.value.code, error.value.found) == ("forecast-weeks-too-few", "5 weeks, 840 hours")
    fitted(*series(6, 1))


def test_weeks_that_are_mostly_unknown_are_no_weeks():
    hours, values = series(8, 1)
    known = (np.arange(len(hours)) // WEEK_HOURS % 3 != 1) | (np.arange(len(hours)) % 24 == 0)
    with pytest.raises(NothingToReportError):
        fitted(hours[known], values[known])


def test_a_steady_value_is_forecast_as_it_is():
    hours, _ = series(8, 1)
    paths = future(fitted(hours, np.full(len(hours), 0.5)), hours, 2)
    assert np.allclose(paths.mean, 0.5)
    assert np.allclose(paths.peak, 0.5)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """8 weeks with a gap of four hours and an IPL."""
    return store_of_months(tmp_path_factory.mktemp("months"), DATA)


def told(store: Store, metric: str = "total_util", **options: object) -> Forecast:
    with connect(store, reductions()) as connection:
        return forecast(connection, metric, **options)  # type: ignore[arg-type]


def notes(found: Forecast, word: str) -> str:
    return " ".join(note for note in found.result.notes if word in note)


def test_kept_hours_are_forecast_from_a_dump_on(store: Store):
    found = told(store, horizon=timedelta(days=28), by=timedelta(days=7))
    assert (found.result.report.reduction, found.result.system) == (
        "system_summary_by_time",
        "VMTEST",
    )
    assert found.result.ends == datetime(2002, 2, 12, 10)  # noqa: DTZ001 - as in the store
    ends = found.result.table["interval_end"].to_pylist()
    assert [end.date() for end in ends[:2]] == [date(2002, 2, 18), date(2002, 2, 25)]
    week = found.result.table.slice(1, 1).to_pylist()[0]
    middle = (datetime(2002, 2, 21, 12, tzinfo=UTC).timestamp() - BEGIN_S) / (7 * 86400)
    mean = START + GROWTH * middle + season(np.arange(WEEK_HOURS)).mean()
    assert week["mean"] == pytest.approx(mean, abs=0.01)
    assert week["mean_low"] < week["mean"] < week["mean_high"]
    assert week["peak"] == pytest.approx(START + GROWTH * middle + 0.2 + 0.07, abs=0.03)
    assert "Trend: +1.2" in notes(found, "Trend")
    assert "highest in the hour from" in notes(found, "season")
    doubtful = "1 hour with values that are unknown or lower bounds"
    assert f"Left out: {doubtful}; 5 hours not measured at all." in found.result.notes


def test_hours_are_all_that_is_needed(store: Store, tmp_path: Path):
    before = told(store, threshold=90.0)
    other = store_of_months(tmp_path, DATA)
    kept = retention({"interval": "1d"}, str)
    prune(other, plan(other, reductions(), kept, date(2010, 1, 1)))
    after = told(other, threshold=90.0)
    assert after.result.table.equals(before.result.table)
    assert after.result.notes == before.result.notes


def test_a_threshold_is_that_of_a_rule_unless_one_is_given(store: Store):
    ruled = told(store, report="processors_by_time", objects={"cpu": 0})
    assert ruled.threshold is not None
    assert ruled.threshold.name == "rule processor-busy"
    assert "Threshold 90.0 % (rule processor-busy)" in notes(ruled, "Threshold")
    assert told(store).threshold is None
    assert "met_by" not in told(store).result.table.column_names
    given = told(store, threshold=90.0, horizon=timedelta(days=365))
    assert "90 % by 2002-" in notes(given, "Threshold")
    chances = given.result.table["met_by"].to_pylist()
    assert chances == sorted(chances)
    assert (chances[0], chances[-1]) == (0.0, 1.0)


def test_values_do_not_exceed_what_a_metric_can_be(store: Store):
    found = told(store, horizon=timedelta(days=400))
    assert pc.max(found.result.table["peak_high"]).as_py() == 1.0
    assert "more likely than not at the greatest possible value, 100.0 %" in notes(found, "demand")
    assert "farther ahead (400 days) than back (56 days)" in notes(found, "ahead")


@pytest.mark.long
def test_a_class_is_forecast_as_its_users_are(tmp_path: Path):
    of_two = store_of_months(tmp_path, months(shares(8), users=2))
    reduce(of_two, ["user_classes_by_time", "users_by_time"], Settings())
    both = told(of_two, "cpu_util", report="uclass_resource_util", objects={"class": "OTHER"})
    one = told(of_two, "cpu_util", report="user_resource_util", objects={"user": "U0"})
    assert both.result.table["mean"].to_pylist() == pytest.approx(
        [2 * mean for mean in one.result.table["mean"].to_pylist()], rel=1e-6
    )


def test_a_level_is_summed_over_objects_and_not_over_time(tmp_path: Path):
    of_two = store_of_months(tmp_path, months(shares(6), users=2))
    reduce(of_two, ["users_by_time"], Settings())
    found = told(of_two, "resident_pages", report="user_resource_util", horizon=timedelta(days=14))
    assert found.result.table["mean"].to_pylist() == pytest.approx([2 * PAGES] * 14)


@pytest.mark.slow
def test_hours_that_are_never_measured_are_not_forecast(tmp_path: Path):
    at_night = {n for n in range(12 * WEEK_HOURS) if (n + 10) % 24 < 6}
    found = told(store_of_months(tmp_path, months(shares(12), missing=at_night)))
    assert "of the week not forecast" in notes(found, "not forecast")
    assert pc.min(found.result.table["mean"]).as_py() > 0.4


def test_days_that_were_not_reduced_are_counted(store: Store):
    with connect(store, reductions()) as connection, pytest.raises(CpmonError) as error:
        forecast(connection, "ssch_rate", report="dasd_by_activity")
    assert error.value.code == "forecast-hours-missing"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"metric": "total_utl"}, "there is no metric total_utl"),
        ({"until": datetime(2002, 1, 1, tzinfo=UTC)}, "the forecast has no day"),
        ({"horizon": timedelta(days=5000)}, "the forecast is too long"),
        ({"objects": {"cpu": 7}, "report": "processors_by_time"}, "no hour of cpu 7 is kept"),
    ],
)
def test_what_cannot_be_forecast_is_refused(store: Store, options: dict[str, object], problem: str):
    with pytest.raises(CpmonError, match=problem):
        told(store, **options)


def test_only_hours_of_figures_that_rest_on_a_doubted_record_are_left_out(tmp_path: Path):
    """A count of SYTUSR falls in one hour: of processors all hours are known."""
    clock = 3600 * 4_096_000_000 // 2
    parts = [
        interval(
            n * 3600,
            *([fields("mtrsys", 0, systmid="VMTEST")] if n == 0 else []),
            fields("sytprp", n * 3600, pfxcpuad=0, pfxutime=n * clock),
            fields(
                "sytusr",
                n * 3600,
                sysusrs=3,
                caluptct=100 * n - 990 * (n >= 10),
                calupnct=10 * n,
                caluptrv=n * clock,
                calupntr=n * clock,
            ),
        )
        for n in range(20)
    ]
    (tmp_path / "x.mon").write_bytes(dump(*parts))
    store = Store(tmp_path / "perf", create=True)
    ingest(tmp_path / "x.mon", store)
    reduce(store, ["system_summary_by_time"], Settings())
    used = {}
    with connect(store, reductions()) as con:
        for metric in ("total_util", "response_s"):
            definition, column = find_metric(metric, None, {})
            found = kept_hours(
                con, definition, column, Span("VMTEST"), ZoneInfo("UTC"), is_total=False
            )
            used[metric] = len(found.hours)
    assert used["response_s"] == used["total_util"] - 1
