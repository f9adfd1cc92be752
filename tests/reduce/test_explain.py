"""What was different at a time: the statistics, and causes named from generated dumps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from cpmon.core.errors import CpmonError
from cpmon.generate import load_scenario, parse_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.compare.run_comparison import Verdict, compare_runs, difference_of_runs
from cpmon.reduce.explain import Explanation, explain, render_explanation
from cpmon.reduce.explain.departure import Departures, departures
from cpmon.reduce.explain.series import subjects
from cpmon.reduce.reductions.reductions import reduction, reductions, tables_of
from cpmon.reduce.rules.exceptions import exceptions
from cpmon.store import Store, connect
from cpmon.store.connection import Connection
from cpmon.store.measured.runs import Run, save_run
from tests.dumps import dump, fields, interval
from tests.scenarios import CONFIG

ROOT = Path(__file__).parents[2]
NAN = np.nan
TOD = 4_096_000_000
"""Units of the TOD clock in a second."""


def judged(base: list[float], span: list[float], *, trend: bool = False) -> Departures:
    """The departure of one series of minutes; the span follows the baseline."""
    before, after = np.array([base], dtype=float), np.array([span], dtype=float)
    times = np.arange(len(base) + len(span)) * 60.0
    return departures(before, after, (times[: len(base)], times[len(base) :]), trend=trend)


def test_few_intervals_prove_nothing() -> None:
    # As in the comparison of runs: a statement needs 12 intervals.
    found = judged([1, 2, 3], [-9, -8, -7])
    assert np.isnan(found.p[0])
    assert (found.usual[0], found.low[0], found.high[0], found.value[0]) == (2, 1, 3, -8)
    assert found.outside[0]


def test_a_few_values_are_no_series() -> None:
    rare = judged([4.0, 5.0, *[NAN] * 38], [50.0])
    assert np.isnan(rare.p[0])
    assert rare.value[0] == 50


def test_a_week_is_paired_with_the_week_before() -> None:
    """A course that both have is no noise: the test is that of the comparison of runs."""
    rng = np.random.default_rng(7)
    course = 50 + 40 * np.sin(np.linspace(0, 14 * np.pi, 336))
    base, span = (factor * course * (1 + 0.02 * rng.normal(size=336)) for factor in (1.0, 1.08))
    times = np.arange(336) * 1800.0
    found = departures(base[None], span[None], (times, times + 604800), shift=604800.0)
    assert found.p[0] == pytest.approx(difference_of_runs(base, span).p)
    assert found.p[0] < 0.001
    assert departures(base[None], span[None], (times, times + 604800)).p[0] > 0.05


def test_many_intervals_are_judged_by_their_median_and_spread() -> None:
    # Alternating -1 and 1: median 0, deviation 1.4826 * 1, no correlation; n = 20.
    found = judged([-1.0, 1.0] * 10, [10.0])
    expected = 10 / (1.4826 * np.sqrt(1 + np.pi / 2 / 20))
    assert found.score[0] == pytest.approx(expected)
    assert found.p[0] < 1e-4 and found.outside[0]


def test_one_wild_interval_of_the_baseline_hides_nothing() -> None:
    calm, wild = [-1.0, 1.0] * 15, [-1.0, 1.0] * 14 + [1.0, 5.0]
    assert judged(wild, [10.0]).score[0] > 0.8 * judged(calm, [10.0]).score[0]


def test_a_value_within_the_range_is_no_departure() -> None:
    found = judged([0.0, 0.1] * 20 + [9.0], [8.0])
    assert not found.outside[0]


def test_what_never_varied_is_not_certain_to_stay() -> None:
    assert judged([0.0] * 19, [5.0]).p[0] == pytest.approx(1 / 20)
    assert judged([0.0] * 19, [5.0, 5.0]).p[0] == pytest.approx(1 / 400)
    assert judged([3.0] * 19, [3.0]).p[0] == 1


def test_a_course_of_the_day_goes_on() -> None:
    course = [100.0 + n + (n % 2) for n in range(60)]
    on = [160.0 + (n % 2) for n in range(1)]
    assert judged(course, on, trend=True).p[0] > 0.3
    assert judged(course, on).p[0] < judged(course, on, trend=True).p[0]


def test_a_course_that_bends_is_no_departure() -> None:
    hours = np.linspace(-1, 1, 121)
    values = 50 + 40 * np.cos(1.5 * hours) + np.tile([0.0, 0.2], 61)[:121]
    found = judged(list(values[:90]), list(values[119:120]), trend=True)
    assert not found.outside[0]


def test_missing_values_are_no_zeros() -> None:
    found = judged([NAN, *[4.0, 6.0] * 10, NAN], [NAN, 5.0])
    assert (found.value[0], found.intervals[0]) == (5, 20)
    nothing = judged([NAN] * 20, [5.0])
    assert np.isnan(nothing.p[0]) and np.isnan(nothing.usual[0])
    assert np.isnan(judged([1.0, 2.0] * 10, [NAN]).p[0])


@pytest.mark.parametrize("phi", [0.0, 0.6])
@pytest.mark.parametrize("length", [1, 10])
def test_noise_is_no_departure_more_often_than_said(phi: float, length: int) -> None:
    # 4,000 series of noise with a correlation: about 5 % of p values may be below 5 %.
    random = np.random.default_rng(17)
    noise = random.normal(size=(4000, 180 + 60 + length))
    for n in range(1, noise.shape[1]):
        noise[:, n] = phi * noise[:, n - 1] + np.sqrt(1 - phi**2) * noise[:, n]
    series = np.exp(0.3 * noise)
    times = np.arange(series.shape[1]) * 60.0
    span = slice(240, None)
    found = departures(series[:, :180], series[:, span], (times[:180], times[span]), trend=True)
    for level in (0.05, 0.001):
        assert np.mean(found.p <= level) <= level * 1.3 + 0.0005


def landed(place: Path, *dumps: Path) -> Store:
    """A store with some dumps."""
    store = Store(place / "store", create=True)
    for file in dumps:
        ingest(file, store, accept_damage=True)
    return store


def sample(folder: str, *runs: str) -> list[Path]:
    """Sample dumps."""
    return [next((ROOT / "sample-data" / folder).glob(f"{run}.mon.*")) for run in runs]


def names(explanation: Explanation, most: int = 10) -> list[tuple[str, str]]:
    """Object and name of the heaviest lines."""
    return [(line.object, line.name) for line in explanation.lines[:most]]


def test_subjects_name_metrics_and_contributions_that_there_are() -> None:
    of_system = {m.name for s in subjects() if not s.noun for m in s.metrics}
    for subject in subjects():
        assert bool(subject.noun) is bool(subject.object)
        assert set(subject.explains) <= of_system
        parts = {name.lstrip("-") for name in subject.explains.values()}
        assert parts <= {m.name for m in subject.metrics}
        assert {m.name for m in subject.judged} <= set(subject.resources)


@pytest.fixture(scope="module")
def regress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """The runs of the published CP regression measurement that are samples."""
    dumps = sample("cp-regression", "APS9220", "APT9280", "VSE510", "VSE520")
    with connect(landed(tmp_path_factory.mktemp("regress"), *dumps), reductions()) as con:
        yield con


@pytest.mark.slow
def test_the_regression_pair_names_moves_below_2g_and_diagnose_44(regress: Connection) -> None:
    # Published: z/VM 5.2.0 no longer moves pages below 2 GB; DIAGNOSE X'44' by the normal path
    # decreased by 85 %.
    found = explain(regress, run="APT9280")
    assert found.baseline and found.baseline.text == "run APS9220"
    lines = {(line.object, line.name): line for line in found.lines[:10]}
    moves, diagnoses = lines["system", "move_2g_rate"], lines["DIAGNOSE 44", "diagnose_rate"]
    assert moves.value == 0 and moves.usual and moves.usual > 9
    assert diagnoses.change_percent == pytest.approx(-85.7, abs=0.2)
    # What the normal path lost, the fast path got.
    assert lines["DIAGNOSE 44 fast", "diagnose_rate"].presence == "new"
    assert not moves.proven  # three intervals


@pytest.mark.long
def test_the_base_run_can_be_named(regress: Connection) -> None:
    found = explain(regress, run="VSE520", base="VSE510")
    assert ("system", "move_2g_rate") in names(found)
    with pytest.raises(CpmonError, match="there is no run"):
        explain(regress, run="VSE520", base="VSE511")


@pytest.mark.slow
def test_json_has_what_the_text_has_and_says_what_is_missing(regress: Connection) -> None:
    found = explain(regress, run="APT9280")
    document = json.loads(render_explanation(found, "json"))
    assert list(document) == [
        *("schema_version", "title", "system", "run_id", "since", "until", "intervals"),
        *("baseline", "series", "worst", "lines", "notes"),
    ]
    assert len(document["lines"]) <= 10
    assert list(document["lines"][0]) == [
        *("kind", "weight", "object", "what", "name", "unit", "value", "usual", "low", "high"),
        *("change_percent", "score", "p_adjusted", "proven", "presence", "first", "last"),
        *("contributors", "also"),
    ]
    weights = [line["weight"] for line in document["lines"]]
    assert weights == sorted(weights, reverse=True)
    assert any(note.startswith("Not looked at") for note in document["notes"])
    text = render_explanation(found, "text").decode()
    assert "2G Page Move Rate" in text and "DIAGNOSE 44" in text
    assert b"<!DOCTYPE html>" in render_explanation(found, "html")


@pytest.mark.long
def test_the_cache_pair_names_what_enters_the_minidisk_cache(tmp_path: Path) -> None:
    # Published: a read costs CP more with the minidisk cache on, for what it inserts there.
    scenario = load_scenario("linux-dasd-mdc")
    dumps = [write_run(scenario, run, tmp_path, intervals=10).dump for run in ("M01", "M11")]
    with connect(landed(tmp_path, *dumps), reductions()) as con:
        found = explain(con, run="M11", base="M01")
    lines = {line.name: line for line in found.lines[:5] if line.object == "system"}
    assert lines["insert_rate"].usual == 0
    # A track of 12 pages for each of the 37.3 reads a second that the cache does not have.
    assert lines["insert_rate"].value == pytest.approx(37.3 * 12, rel=0.05)


@pytest.mark.slow
def test_the_timer_pair_names_the_master_processor(tmp_path: Path) -> None:
    # Published: timer management moved away from the master processor.
    scenario = load_scenario("timer")
    dumps = [write_run(scenario, run, tmp_path, intervals=10).dump for run in ("2600NP", "2600P")]
    with connect(landed(tmp_path, *dumps), reductions()) as con:
        found = explain(con, run="2600P", base="2600NP")
    top = [name for _, name in names(found)]
    assert any(name.startswith("master_") for name in top), top


def test_what_a_metric_rests_on_is_a_record_of_its_reduction() -> None:
    for subject in (each for each in subjects() if each.rests):
        assert subject.rests.keys() <= {column.name for column in reduction(subject.name).columns}
        assert {record.lower() for record in subject.rests.values()} <= tables_of(subject.name)


@pytest.mark.slow
def test_an_object_with_an_unknown_value_contributes_nothing(tmp_path: Path) -> None:
    """In the last minute STOPPED uses nothing, ABSENT has no record, and what FELL counts fell."""
    users, last = ("STOPPED", "ABSENT", "FELL"), 41
    total, sets = 0.0, []
    for minute in range(last + 1):
        at, used = 60 * minute, 15 * minute + (minute % 2) / 10
        total += (15 if minute == last else 45) + (minute % 3) / 10
        spent = dict.fromkeys(users, used)
        if minute == last:
            spent = {"STOPPED": 15 * (minute - 1), "FELL": 1}
        rows = [fields("useact", at, vmduser=u, vmdttime=round(s * TOD)) for u, s in spent.items()]
        busy = fields("sytprp", at, pfxcpuad=0, pfxutime=round(total * TOD))
        sets.append(interval(at, *([] if minute else [CONFIG]), busy, *rows))
    (tmp_path / "a.mon").write_bytes(dump(*sets))
    with connect(landed(tmp_path, tmp_path / "a.mon"), reductions()) as con:
        found = explain(con, moment=datetime(2001, 12, 18, 10, last, tzinfo=UTC))
    (line,) = (line for line in found.lines if line.name == "total_util")
    assert {each.object for each in line.contributors} == {"STOPPED"}


TWO_WEEKS = """
name = "weeks"
title = "Two weeks, a guest more in the second"
system = "WEEKS"
seed = 5
intervals = 336
[monitor]
interval_s = 3600
high_frequency_s = 60
[machine]
type = "2094"
model = "702"
processors = 2
[storage]
central_mib = 1024
[[users]]
name = "staff"
prefix = "CMS"
count = 5
cpu_percent = 4
workload = "day"
[[users]]
name = "linux"
prefix = "LINUX"
count = 2
guest = "linux"
cpu_percent = 20
[[workloads]]
name = "day"
kind = "daily"
level = 0.2
peak = 2
[[volumes]]
prefix = "PAG"
kind = "page"
count = 1
first_device = "0A00"
[run.A]
cp_level = "5.4.0"
start = 2006-10-02T00:00:00Z
[[events]]
kind = "logon"
at_s = 604810
users = "LINUX002"
"""


@pytest.mark.slow
def test_a_week_is_compared_with_the_week_before_as_runs_are(tmp_path: Path) -> None:
    scenario = parse_scenario(TWO_WEEKS, "weeks.toml")
    store = landed(tmp_path, write_run(scenario, "A", tmp_path).dump)
    begin, week = datetime(2006, 10, 2, tzinfo=UTC), timedelta(days=7)
    for name, number in (("one", 0), ("two", 1)):
        save_run(store, Run(name, "WEEKS", begin + number * week, begin + (number + 1) * week))
    with connect(store, reductions()) as con:
        by_time = explain(con, since=begin + week, until=begin + 2 * week)
        by_runs = explain(con, run="two", base="one")
        compared = {line.metric.name: line for line in compare_runs(con, ["two"], "one").lines}
    assert by_time.baseline and by_time.baseline.text == "the same time a week before"
    for found in (by_time, by_runs):
        (guest,) = (line for line in found.lines if line.object == "user LINUX002")
        assert (guest.presence, guest.usual) == ("new", 0)
        judged = [line for line in found.lines if line.kind == "metric" and line.name in compared]
        assert "total_util" in {line.name for line in judged}
        for line in judged:
            assert line.proven is (compared[line.name].verdict is Verdict.CHANGE)


@pytest.mark.slow
def test_hours_of_other_days_are_those_of_the_zone(tmp_path: Path) -> None:
    """Each day is busy from 9 to 10 in Berlin, where summer time begins on the last one."""
    berlin, quarter = ZoneInfo("Europe/Berlin"), 900
    first = (datetime(2002, 3, 25, tzinfo=UTC) - datetime(2001, 12, 18, 10, tzinfo=UTC)).days
    sets, used = [], 0.0
    for number in range(7 * 96):
        at = (first + 1) * 86400 - 10 * 3600 + number * quarter
        begin = datetime(2001, 12, 18, 10, tzinfo=UTC) + timedelta(seconds=at - quarter)
        is_busy = begin.astimezone(berlin).hour == 9
        used += quarter * (0.9 if is_busy else 0.1) + number * 7 % 5
        busy = fields("sytprp", at, pfxcpuad=0, pfxutime=round(used * TOD))
        sets.append(interval(at, *([] if number else [CONFIG]), busy))
    (tmp_path / "a.mon").write_bytes(dump(*sets))
    until = datetime(2002, 3, 31, 10, tzinfo=berlin)
    span = {"since": until - timedelta(hours=1), "until": until + timedelta(seconds=1)}
    with connect(landed(tmp_path, tmp_path / "a.mon"), reductions()) as con:
        same = explain(con, **span, against="days", zone=berlin)
        shifted = explain(con, **span, against="days")
    assert same.baseline and same.baseline.text == "the same hours of 6 days before"
    assert same.intervals == (4, 24)
    assert not any(line.name == "total_util" for line in same.lines)
    (line,) = (line for line in shifted.lines if line.name == "total_util")
    assert line.value > 80 and line.usual < 20


@pytest.mark.slow
def test_a_damaged_dump_gives_no_metric_and_names_the_loss(tmp_path: Path) -> None:
    with connect(landed(tmp_path, *sample("bad-day", "BADDAY")), reductions()) as con:
        found = explain(con, run="BADDAY")
    assert {line.kind for line in found.lines} <= {"exception", "event"}
    assert ("exception", "monitor-data-lost") in {(line.kind, line.name) for line in found.lines}
    assert found.notes


def test_a_time_without_interval_is_refused(regress: Connection) -> None:
    with pytest.raises(CpmonError, match="no interval is at that time") as raised:
        explain(regress, moment=datetime(2030, 1, 1, tzinfo=UTC), system="REGRESS")
    assert raised.value.expected and "2005-09-22" in raised.value.expected


@pytest.mark.long
def test_a_quiet_system_gives_an_alarm_as_seldom_as_said(tmp_path: Path) -> None:
    """Of 24 explanations of 4 seeds at most 3 may have a line of a metric (5 %: p < 0.03)."""
    alarms = 0
    for seed in range(1, 5):
        place = tmp_path / str(seed)
        dump = write_run(load_scenario("small-lab"), "LAB", place, intervals=300, seed=seed).dump
        with connect(landed(place, dump), reductions()) as con:
            for minutes in (250, 275, 295):
                for length in (1, 10):
                    until = datetime(2003, 5, 6, 8, tzinfo=UTC) + timedelta(
                        minutes=minutes, seconds=5
                    )
                    since = until - timedelta(minutes=length)
                    found = explain(con, since=since, until=until, against="before")
                    alarms += any(line.kind in ("metric", "object") for line in found.lines)
    assert alarms <= 3


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """bank-day until a quarter past two in the afternoon."""
    place = tmp_path_factory.mktemp("bank")
    dump = write_run(load_scenario("bank-day"), "BANKDAY", place, intervals=855).dump
    store = landed(place, dump)
    dump.unlink()
    with connect(store, reductions()) as con:
        yield con


@pytest.mark.long
def test_bank_day_names_the_looping_guest(bank: Connection) -> None:
    found = explain(bank, moment=datetime(2006, 10, 16, 13, 30, tzinfo=UTC))
    named = [
        each
        for line in found.lines[:3]
        for each in (line.object, *(f"{who.noun} {who.object}" for who in line.contributors))
    ]
    assert "user LXMW0117" in named


@pytest.mark.long
def test_bank_day_names_ipl_and_looping_guest_by_itself(bank: Connection) -> None:
    found = explain(bank, run="BANKDAY")
    assert ("BANKVM1", "IPL") in names(found, 1)
    assert ("LXMW0117 virtual processor 0", "user-looping") in names(found, 5)
    near = explain(bank, moment=datetime(2006, 10, 16, 4, 37, tzinfo=UTC))
    assert names(near, 1) == [("BANKVM1", "IPL")]


@pytest.mark.long
def test_exceptions_of_an_explanation_are_those_of_exceptions(bank: Connection) -> None:
    moment = datetime(2006, 10, 16, 14, 10, tzinfo=UTC)
    found = explain(bank, moment=moment)
    listed = exceptions(bank, since=moment - timedelta(minutes=1), until=moment)
    told = [line.what for line in found.lines if line.kind == "exception"]
    told += [text for line in found.lines for text in line.also]
    old = [note for note in found.notes if note.startswith("Exceptions that began before")]
    for title in listed.table.column("title").to_pylist():
        assert title in told or any(title in note for note in old)
