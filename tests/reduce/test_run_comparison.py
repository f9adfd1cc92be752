"""Runs compared without a spec: means of intervals, what counts as a change, and the rendering."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence

import duckdb
import numpy as np
import pytest
from scipy.stats import false_discovery_control

from cpmon.core.errors import CpmonError
from cpmon.reduce.compare.rendering import render_comparison, run_layout
from cpmon.reduce.compare.run_comparison import (
    MetricLine,
    RunComparison,
    Verdict,
    compare_runs,
    difference_of_runs,
)
from cpmon.reduce.metrics import compared_metrics
from cpmon.reduce.statistics import (
    Array,
    Estimate,
    MeanDifference,
    Uncertainty,
    adjusted,
    estimate,
    level,
    p_of_pairs,
    paired_difference,
    ratio_samples,
    welch_difference,
)
from tests.reduce.catalogue import TOD_SECOND, close, insert, lab, minute

NAN = np.nan


def known(values: Sequence[float]) -> Estimate:
    """The estimate of some samples."""
    found = estimate(np.array(values, dtype=float))
    assert found is not None
    return found


def test_samples_of_a_rate_have_the_rate_as_their_mean() -> None:
    # 10 in 2 s, nothing in 8 s: 1 per second, though the mean of the rates is 2.5.
    made = ratio_samples(np.array([10.0, 0.0]), np.array([2.0, 8.0]))
    assert made.tolist() == pytest.approx([1 + (10 - 2) / 5, 1 + (0 - 8) / 5])
    assert made.mean() == pytest.approx(1)


def test_an_interval_that_lacks_one_of_both_is_no_sample() -> None:
    made = ratio_samples(np.array([10.0, NAN, 20.0, 6.0]), np.array([5.0, 5.0, NAN, 3.0]))
    assert np.isnan(made).tolist() == [False, True, True, False]
    assert made[~np.isnan(made)].tolist() == pytest.approx([2.0, 2.0])


def test_a_rate_over_nothing_has_no_samples() -> None:
    assert np.isnan(ratio_samples(np.array([0.0, 0.0]), np.array([0.0, 0.0]))).all()
    assert estimate(np.array([NAN, NAN])) is None


def by_correlation(samples: Sequence[float]) -> Uncertainty:
    """The first uncertainty of the mean of some samples."""
    return known(samples).uncertainties[0]


def test_samples_that_alternate_count_in_full() -> None:
    # Squares sum to 12; 12 / 12 / (12 - 1).
    found = known([1, 3] * 6)
    assert found.mean == 2.0
    assert found.uncertainties[0] == Uncertainty(pytest.approx(1 / 11), 11)


def test_samples_that_resemble_the_one_before_count_for_less() -> None:
    # Deviations -1 -1 1 1 ...: 8 products of 15 are 1, 7 are -1, so r = 1/16. With its bias
    # (1 + 1/4) / 16 it is 9/64, with 1.28 standard errors sqrt((1 - 81/4096) / 16) 0.4574.
    found = by_correlation([1, 1, 3, 3] * 4)
    r = 9 / 64 + 1.28 * math.sqrt((1 - 81 / 4096) / 16)
    assert r == pytest.approx(0.4574, abs=5e-5)
    assert found.freedom + 1 == pytest.approx(16 * (1 - r) / (1 + r))
    assert found.variance == pytest.approx(1 / found.freedom)


def test_a_trend_counts_as_two_samples_at_least() -> None:
    assert by_correlation([1] * 8 + [3] * 8) == Uncertainty(pytest.approx(1.0), 1.0)


def test_a_gap_is_no_neighbour() -> None:
    # As above without the product across the gap, which was -1: 8 - 6 of 16.
    raw = 2 / 16
    r = raw + (1 + 4 * raw) / 16
    r += 1.28 * math.sqrt((1 - r * r) / 16)
    samples = [1, 1, 3, 3, 1, 1, 3, 3]
    found = by_correlation([*samples, NAN, *samples])
    assert found.freedom + 1 == pytest.approx(16 * (1 - r) / (1 + r))


def test_a_slow_wave_below_noise_is_seen_by_the_cosines() -> None:
    # Eight samples have two cosines. One of them alone, of size 1, has the weight sqrt(2) / 2: the
    # mean of its square and that of the other, 0, is 1/4.
    wave = np.cos(np.pi / 8 * (np.arange(8) + 0.5))
    assert known(list(wave)).uncertainties[1] == Uncertainty(pytest.approx(1 / 4), 2)


def test_the_test_agrees_with_the_table_of_student() -> None:
    # t is 2.145 for 14 degrees of freedom at 5 %, and 0.868 for 80 % of the errors.
    found = Uncertainty(4.0, 14)
    assert found.p(2 * 2.145) == pytest.approx(0.05, abs=5e-5)
    assert found.quantile(0.975) == pytest.approx(2 * 2.145, abs=1e-3)
    difference = MeanDifference(-1.0, 15, (found, Uncertainty(1.0, 14)))
    assert difference.p == found.p(1.0)
    assert difference.bound() == pytest.approx(1 + 2 * 2.145, abs=1e-3)
    assert difference.detectable(0.05) == pytest.approx(2 * (2.145 + 0.868), abs=1e-2)


def test_the_uncertainties_of_two_runs_add_up() -> None:
    these, those = (Estimate(m, (Uncertainty(v, 7),)) for m, v in ((5.0, 1.0), (7.0, 3.0)))
    # 4 squared over 1/7 and 9/7.
    assert welch_difference(these, those) == MeanDifference(2.0, 0, (Uncertainty(4.0, 11.2),))


def test_values_that_never_vary_are_the_same_or_are_not() -> None:
    seven = np.full(12, 7.0)
    for test in (paired_difference, lambda a, b: welch_difference(known(list(a)), known(list(b)))):
        assert test(seven, seven + 1e-12).p == 1
        assert test(seven, seven + 1).p == 0
        assert test(0 * seven, 0 * seven).p == 1


RAMP = np.arange(16.0, 28.0)
"""(12,) samples of a run whose load grows by three quarters."""
WOBBLE = np.array([1.01, 0.99] * 6)


def test_a_course_that_both_runs_have_is_no_noise() -> None:
    """The fault: a ramp counted as two samples, so that no change was large enough."""
    # 21.5 and 1.72 on average. Both do the same on the same course, the second 0.08 times as much.
    assert paired_difference(RAMP, 0.08 * RAMP) == MeanDifference(pytest.approx(-19.78), 12, ())
    # With 1 % up and down. Unpaired, the ramp counts as two samples: 19.8 / 3.5 = 5.7, but with one
    # degree of freedom t must be 12.7.
    base, run = RAMP * WOBBLE, 0.08 * RAMP / WOBBLE
    alone = welch_difference(known(list(base)), known(list(run)))
    assert alone.p > 0.05
    assert paired_difference(base, run).p < 1e-6


def test_deviations_of_pairs_are_those_of_the_relative_difference() -> None:
    # y - x is 2 and 0, 1 on average; x + y is 4 and 4 throughout, so s = 1 and each is divided by
    # 1 - 1/12: deviations of 12/11 up and down, whose variance is (12/11)^2 / 11.
    base, run = np.array([1.0, 2.0] * 6), np.array([3.0, 2.0] * 6)
    found = paired_difference(base, run)
    assert (found.gap, found.pairs) == (1.0, 12)
    assert found.uncertainties[0] == Uncertainty(pytest.approx(144 / 121 / 11), 11)


def test_runs_of_different_lengths_are_not_paired() -> None:
    noise = 1 + 0.01 * np.random.default_rng(3).normal(size=60)
    assert difference_of_runs(noise, noise[:58]).pairs == 58
    assert difference_of_runs(noise, noise[:30]).pairs == 0


def test_many_tests_ask_for_more() -> None:
    # 0.04 * 4/3 is less than 0.03 * 4/2, and a smaller p never gets a greater one.
    assert adjusted([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 4 / 75, 4 / 75, 0.5])
    assert adjusted([0.9, 0.8]) == pytest.approx([0.9, 0.9])
    assert adjusted([]) == []


def test_the_adjustment_is_that_of_scipy_which_takes_long_to_import() -> None:
    chances = np.random.default_rng(8).random(100) ** 3
    assert adjusted(list(chances)) == pytest.approx(list(false_discovery_control(chances)))


def test_many_differences_are_tested_as_each_alone() -> None:
    rng = np.random.default_rng(9)
    base, run = rng.normal(5, 1, (20, 50)), rng.normal(5.5, 1, (20, 50))
    base[3, 7] = run[4, :5] = NAN
    alone = [paired_difference(*pair).p for pair in zip(base, run, strict=True)]
    assert p_of_pairs(base, run) == pytest.approx(alone)
    assert np.isnan(p_of_pairs(base[:, :11], run[:, :11])).all()


@pytest.mark.parametrize(("p", "said"), [(0.0, 99), (0.013, 98), (0.05, 95), (0.0501, None)])
def test_a_level_is_cut_to_whole_percent(p: float, said: int | None) -> None:
    assert level(p) == said


def noise(rng: np.random.Generator, correlation: float, count: int) -> list[float]:
    """Samples of which each resembles the one before it, mean 0."""
    made = [rng.normal() / (1 - correlation**2) ** 0.5]
    for step in rng.normal(size=count - 1):
        made.append(correlation * made[-1] + step)
    return made


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("course", [1.0, np.linspace(0.5, 1.5, 30)])
def test_correlated_noise_is_hardly_ever_called_a_change(correlation: float, course: Array) -> None:
    rng = np.random.default_rng(5)
    pairs = [
        [course * (1 + 0.05 * np.array(noise(rng, correlation, 30))) for _ in range(2)]
        for _ in range(400)
    ]
    called = sum(difference_of_runs(*pair).p <= 0.05 for pair in pairs)
    assert called <= 0.06 * len(pairs)


def test_a_difference_of_one_deviation_is_found() -> None:
    rng = np.random.default_rng(6)
    pairs = [(9 + rng.normal(size=60), 10 + rng.normal(size=60)) for _ in range(200)]
    assert sum(difference_of_runs(*pair).p <= 0.05 for pair in pairs) > 180


def test_an_interval_of_a_run_has_the_sums_behind_its_summary(
    laboratory: duckdb.DuckDBPyConnection,
) -> None:
    found = laboratory.sql("FROM _run_interval ORDER BY interval_end LIMIT 1")
    (row,) = found.fetchall()
    want = {
        **{"run_id": "R1", "system": "LAB", "interval_end": minute(1), "is_steady": True},
        **{"seconds": 60, "processors": 2, "processor_seconds": 120},
        # User and system time of both processors: 30 + 6 + 48 + 6 s, of which 12 + 30 under SIE.
        **{"busy_tod": 90 * TOD_SECOND, "emulation_tod": 42 * TOD_SECOND},
        **{"cp_tod": 48 * TOD_SECOND, "master_seconds": 60},
        # Processor 1 is the master.
        **{"master_busy_tod": 54 * TOD_SECOND, "master_emulation_tod": 30 * TOD_SECOND},
        **{"master_cp_tod": 24 * TOD_SECOND, "spins": 90_000, "spin_tod": 1.8 * TOD_SECOND},
        # Twice 600 + 60 + 540 and 21; twice 300 + 60, 6 + 3, 240 + 60; twice 33 and 66.
        **{"xstor_pages": 2400, "xstor_migrations": 42, "xstor_seconds": 60},
        **{"dasd_pages": 720, "dasd_reads": 600, "dasd_writes": 120, "spool_pages": 18},
        **{"starts": 600, "paging_seconds": 60, "moves_2g": 66, "steals": 132},
        **{"storage_seconds": 60, "diagnoses_44": 900, "diagnose_seconds": 60},
        # ANNA has 110, 40 and 200 pages, BERT 300, 60 and 100.
        **{"users": 2, "resident_pages": 410, "user_xstor_pages": 100, "user_dasd_pages": 300},
        # 1000 frames above 2 GB less 310 available, 20 locked, 70 cache, 7 and 3 of CP.
        **{"user_pages": 810, "resident_above_2g": 590, "users_logged_on": 11, "users_active": 7},
        # Five classes of 6 transactions and 3 s; volumes busy 0.5 and 0.2 of the time.
        **{"transactions": 30, "response_tod": 15 * TOD_SECOND, "transaction_seconds": 60},
        **{"page_volume_busy": pytest.approx(0.35, rel=1e-5), "load_transactions": 600},
        # 75 s of 90 s: both summaries say so.
        "doubts": ", ".join(2 * ["SYTCUP contradicts SYTPRP"]),
    }
    close(dict(zip(found.columns, row, strict=True)), want)


def test_the_intervals_of_every_metric_have_the_value_of_the_run_as_their_mean() -> None:
    con = lab()
    insert(con, "meta.run", {"run_id": "AGAIN", "system": "LAB", **WINDOW})
    lines = compare_runs(con, ["R1"], "AGAIN").lines
    assert {line.metric for line in lines} == set(compared_metrics())
    for line in lines:
        if line.metric.name in ("tx_rate", *PER_TRANSACTION):
            assert line.values[0] is None  # AGAIN has no companion
        assert np.nanmean(line.samples[1]) == pytest.approx(line.values[1], rel=1e-5)


WINDOW = {"since": minute(0), "until": minute(2)}
PER_TRANSACTION = ("cpu_per_tx_ms", "cp_per_tx_ms", "emul_per_tx_ms", "dasd_pages_per_tx")


def transactions(lines: Sequence[tuple[float, float, int]]) -> list[float | None]:
    """What the two intervals of R1 have of lines of a load generator: (end, seconds, count)."""
    con = lab()
    con.execute("DELETE FROM meta.throughput")
    for end, seconds, count in lines:
        row = {"run_id": "R1", "interval_end": minute(end), "seconds": seconds}
        insert(con, "meta.throughput", {**row, "transactions": count})
    sql = "SELECT load_transactions FROM _run_interval ORDER BY interval_end"
    return [value for (value,) in con.execute(sql).fetchall()]


def test_short_lines_of_a_load_generator_add_up_to_an_interval() -> None:
    # The second interval is the 30 s before minute 2.
    assert transactions([(0.5, 30, 100), (1, 30, 200), (1.75, 15, 7), (2, 15, 5)]) == [300, 12]


def test_a_line_over_the_end_of_an_interval_is_shared_out() -> None:
    # 45 s to 0:45, and 45 s to 1:30 of which the first third counts.
    assert transactions([(0.75, 45, 90), (1.5, 45, 30)])[0] == pytest.approx(90 + 10)


def test_an_interval_that_is_not_covered_has_no_transactions() -> None:
    assert transactions([(0.5, 30, 100), (2, 30, 5)]) == [None, 5]


def test_a_line_that_is_longer_than_intervals_tells_nothing_of_one() -> None:
    assert transactions([(2, 120, 1000)]) == [None, None]


def add_run(
    con: duckdb.DuckDBPyConnection,
    run: str,
    system: str,
    *,
    busy: float,
    emulation: float,
    n: int,
    first: int = 1,
) -> None:
    """A run of n minutes on one processor that runs `busy` more or less 3 s of each.

    Of this `emulation` more or less 1 s are under SIE, and 600 spins take 0.6 s. `first` is 1 if
    the first minute has more, else -1.
    """
    for k in range(n + 1):
        end, before = minute(k), minute(k - 1) if k else None
        seconds = 60.0 if k else None
        closed = {"system": system, "dump": "a", "interval_end": end, "previous_end": before}
        insert(con, "meta.interval", {**closed, "seconds": seconds})
        sign = first if k % 2 else -first
        times = {"pfxutime": busy + 3 * sign, "pfxtmsys": 0, "pfxprbtm": emulation + sign}
        times |= {"pfxtotwt": 0, "pfxspint": 0.6}
        units = {name: round(s * TOD_SECOND) if k else None for name, s in times.items()}
        key = {"system": system, "interval_end": end, "pfxcpuad": 0, "seconds": seconds}
        insert(con, "interval.sytprp", {**key, **units, "pfxspinc": 600 if k else None})
    about = {"run_id": run, "system": system, "base_run_id": "A", "since": minute(0)}
    insert(con, "meta.run", {**about, "until": minute(n), "cp_level": "4.3.0", "users": 5})


@pytest.fixture
def con(empty: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Runs A and B of twelve intervals, B 6 s busier and as much under SIE; C of five."""
    add_run(empty, "A", "SA", busy=33, emulation=21, n=12)
    add_run(empty, "B", "SB", busy=39, emulation=21.2, n=12, first=-1)
    add_run(empty, "C", "SC", busy=39, emulation=21.2, n=5, first=-1)
    return empty


@pytest.fixture(scope="module")
def made() -> list[RunComparison]:
    """What `compared` found, if a test has asked for it."""
    return []


@pytest.fixture
def compared(con: duckdb.DuckDBPyConnection, made: list[RunComparison]) -> RunComparison:
    """B with A, as they are."""
    if not made:
        made.append(compare_runs(con, ["B"], "A"))
    return made[0]


def by_label(found: RunComparison, run: str) -> dict[str, MetricLine]:
    return {line.metric.title: line for line in found.of(run)}


def test_what_changed_comes_first_the_greatest_change_before_the_others(
    compared: RunComparison,
) -> None:
    said = [
        (line.metric.title, *(p.text for p in line.printed), line.change.text, line.confidence)
        for line in compared.lines
        if line.verdict
    ]
    # CP has 33 - 21 = 12 and 39 - 21.2 = 17.8 of 60 s.
    assert said == [
        ("CP Util/Proc", "20.00", "29.67", "48", "cl 98%"),
        ("Total Util/Proc", "55.0", "65.0", "18", "cl 97%"),
        ("T/V Ratio", "1.571", "1.840", "17", "cl 98%"),
        ("Emul Util/Proc", "35.00", "35.33", "0.9", "within 7.9%"),
        ("Processors", "1", "1", "0.0", "same"),
        ("Spin Lock Rate", "10.0", "10.0", "0.0", "same"),
        ("Spin Time/Request", "1000.000", "1000.000", "0.0", "same"),
        ("Pct Spin Time", "1.0", "1.0", "0.0", "same"),
    ]
    assert {line.verdict for line in compared.lines[8:]} == {Verdict.NONE}


def test_the_level_allows_for_how_many_metrics_are_compared(compared: RunComparison) -> None:
    total = by_label(compared, "B")["Total Util/Proc"]
    # 60 and 50 against 60 and 70 %: differences of 0 and 20, whose deviations of 10 are divided by
    # 1 - 1/12. 10 / (10 * 12/11 / sqrt(11)) = 3.040, for which p is 0.0112 at 11 degrees.
    assert total.test is not None
    assert total.test.p == pytest.approx(0.0112, abs=5e-5)
    assert total.test.pairs == 12 and total.test.freedom == 11
    ranks = sorted(line.test.p for line in compared.lines if line.test is not None)
    assert (len(ranks), ranks.index(total.test.p)) == (8, 2)
    assert total.p_adjusted == pytest.approx(total.test.p * 8 / 3)


def test_what_is_not_proven_has_a_bound_and_what_could_have_been_seen(
    compared: RunComparison,
) -> None:
    line = by_label(compared, "B")["Emul Util/Proc"]
    # 36.67 and 33.33 against 33.67 and 37 %: 1/3 more, deviations of 10/3. An error is
    # 10/3 * 12/11 / sqrt(11) = 1.0964; t of 11 degrees is 2.201 at 5 % and 0.876 for 80 %.
    assert line.verdict is Verdict.WITHIN
    assert line.bound == pytest.approx((1 / 3 + 2.201 * 1.0964) / 35 * 100, abs=0.01)
    assert line.confidence == "within 7.9%"
    # Four of the eight p would have to be at most 4/8 of 5 %, for which t is 2.593.
    assert line.detectable == pytest.approx((2.593 + 0.876) * 1.0964 / 35 * 100, abs=0.01)


def test_a_large_difference_that_is_not_proven_is_no_agreement(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """Eight times as much in every sixth minute of D: 10 % and more, but in two of twelve."""
    add_run(con, "D", "SD", busy=33, emulation=21, n=12)
    con.execute(
        "UPDATE interval.sytprp SET pfxspinc = 8 * pfxspinc WHERE system = 'SD' AND"
        " minute(interval_end) % 6 = 0"
    )
    found = compare_runs(con, ["D"], "A")
    line = by_label(found, "D")["Spin Lock Rate"]
    assert (line.change.text, line.verdict) == ("117", Verdict.UNPROVEN)
    text = render_comparison(found).decode()
    assert "Large, but not proven" in text and "not proven: 10 % or more" in text


def test_a_small_difference_that_could_hide_a_large_one_is_no_agreement(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """300 and 900 spins a minute by turns against 600: the same in all, within a third or so."""
    add_run(con, "D", "SD", busy=33, emulation=21, n=12)
    con.execute(
        "UPDATE interval.sytprp SET pfxspinc = 300 + 600 * (minute(interval_end) % 2)"
        " WHERE system = 'SD' AND pfxspinc IS NOT NULL"
    )
    found = compare_runs(con, ["D"], "A")
    line = by_label(found, "D")["Spin Lock Rate"]
    # Deviations of half of the base: 50 % * 12/11 / sqrt(11), and 2.201 of these.
    assert (line.verdict, line.confidence) == (Verdict.UNKNOWN, "within 37%")
    text = render_comparison(found).decode()
    assert text.index("Cannot tell\n") < text.index("Spin Lock Rate") < text.index("No change\n")


def test_a_metric_without_records_is_blank_with_a_reason(compared: RunComparison) -> None:
    line = by_label(compared, "B")["DASD Page Rate"]
    assert [p.text for p in (*line.printed, line.difference, line.change)] == [""] * 4
    assert line.values == (None, None)
    assert line.reason == "not known of A and B without SYTSYP deltas"


def test_what_only_one_run_has_is_shown_without_a_verdict(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("DELETE FROM interval.sytprp WHERE system = 'SA' AND interval_end > ?", [minute(0)])
    line = by_label(compare_runs(con, ["B"], "A"), "B")["Total Util/Proc"]
    assert (line.printed[0].text, line.printed[1].text, line.change.text) == ("", "65.0", "")
    assert (line.verdict, line.reason) == (Verdict.NONE, "not known of A without SYTPRP deltas")


def test_a_run_of_few_intervals_is_shown_without_a_verdict(con: duckdb.DuckDBPyConnection) -> None:
    found = compare_runs(con, ["B", "C"], "A")
    line = by_label(found, "C")["Total Util/Proc"]
    # 36, 42, 36, 42, 36 of 60 s.
    assert [p.text for p in line.printed] == ["55.0", "64.0"]
    assert line.reason == "5 intervals of the steady state of C have a value; a statement needs 12"
    assert (
        "The steady states differ in length: A 720 s, B 720 s, C 300 s." in run_layout(found).notes
    )
    assert [line.run_id for line in found.lines] == ["B"] * 37 + ["C"] * 37


def test_only_the_steady_state_counts(con: duckdb.DuckDBPyConnection) -> None:
    sql = "UPDATE meta.run SET steady_since = ? WHERE run_id = 'B'"
    con.execute(sql, [minute(2)])
    line = by_label(compare_runs(con, ["B"], "A"), "B")["Total Util/Proc"]
    assert line.intervals == (12, 10)


def load(con: duckdb.DuckDBPyConnection, run: str, counts: Sequence[int]) -> None:
    """A line a minute of the load generator of a run."""
    for k, count in enumerate(counts, start=1):
        row = {"run_id": run, "interval_end": minute(k), "seconds": 60.0}
        insert(con, "meta.throughput", {**row, "transactions": count})


def test_a_whole_run_that_differs_the_other_way_is_no_change(
    empty: duckdb.DuckDBPyConnection,
) -> None:
    for run, busy in (("A", 33), ("B", 39)):
        add_run(empty, run, f"S{run}", busy=busy, emulation=21, n=14)
    load(empty, "A", [100] * 14)
    # Over the run 546 s for 2210 transactions, in the steady state 468 s for 960.
    load(empty, "B", [625, 625, *[80] * 12])
    empty.execute("UPDATE meta.run SET steady_since = ? WHERE run_id = 'B'", [minute(2)])
    line = by_label(compare_runs(empty, ["B"], "A"), "B")["Total CPU/Tx"]
    assert [p.text for p in line.printed] == ["330.000", "247.059"]
    assert line.reason == "in the steady state alone the runs differ the other way"


def test_a_load_generator_with_one_line_says_nothing_of_intervals(
    con: duckdb.DuckDBPyConnection,
) -> None:
    for run in ("A", "B"):
        row = {"run_id": run, "interval_end": minute(10), "seconds": 600.0, "transactions": 1000}
        insert(con, "meta.throughput", row)
    line = by_label(compare_runs(con, ["B"], "A"), "B")["Tx Rate"]
    assert [p.text for p in line.printed] == ["1.667", "1.667"]
    assert line.reason == "no single interval of the steady state of A has a value"


def test_the_base_is_by_default_the_one_that_the_runs_name(con: duckdb.DuckDBPyConnection) -> None:
    assert compare_runs(con, ["B", "C"]).base.run_id == "A"


@pytest.mark.parametrize(
    ("runs", "base", "problem"),
    [
        ([], None, "no run is named to compare"),
        (["X"], "A", "there is no run X"),
        (["B"], "X", "there is no run X"),
        (["A"], None, "a run would be compared with itself"),
        (["B", "B"], "A", "a run would be compared with itself"),
        (["B", "D"], None, "the runs do not name one base run"),
        (["E"], None, "the runs do not name one base run"),
        (["D"], None, "there is no base run GONE"),
    ],
)
def test_runs_that_cannot_be_compared_are_an_error(
    con: duckdb.DuckDBPyConnection, runs: list[str], base: str | None, problem: str
) -> None:
    for name, named in (("D", "GONE"), ("E", None)):
        row = {"run_id": name, "system": "SB", "base_run_id": named}
        insert(con, "meta.run", {**row, **WINDOW})
    with pytest.raises(CpmonError) as caught:
        compare_runs(con, runs, base)
    assert caught.value.problem == problem


def test_text_has_the_runs_the_lines_and_the_notes(compared: RunComparison) -> None:
    text = render_comparison(compared).decode()
    lines = text.splitlines()
    assert lines[0] == "B compared with A"
    assert "CP level                           4.3.0                 4.3.0" in lines
    assert lines.index("Changes") < lines.index("No change")
    start = lines.index("Changes") + 1
    assert " ".join(lines[start].split()) == "CP Util/Proc % 20.00 29.67 9.67 48 cl 98% 39"
    assert "(1) not known of A and B without SYTPRP deltas or while MTRPRP records" in text
    assert "adjusted for the 8" in " ".join(text.split())


def test_csv_is_unrounded_and_has_what_the_test_rests_on(compared: RunComparison) -> None:
    text = render_comparison(compared, "csv").decode()
    rows = {row["measure"]: row for row in csv.DictReader(io.StringIO(text))}
    row = rows["cp_util"]
    assert (row["base_run_id"], row["run_id"], row["metric"]) == ("A", "B", "CP Util/Proc")
    assert (row["unit"], row["confidence"], row["reason"]) == ("%", "cl 98%", "")
    assert float(row["value"]) == pytest.approx(1780 / 60)
    assert float(row["difference"]) == pytest.approx(580 / 60)
    assert float(row["change_percent"]) == pytest.approx(580 / 12)
    assert (row["base_intervals"], row["intervals"]) == ("12", "12")
    assert (row["pairs"], row["degrees_of_freedom"], row["verdict"]) == ("12", "2.0", "change")
    assert rows["dasd_page_rate"]["value"] == ""
    assert rows["pct_spin"]["change_percent"] == "0.0"


def test_json_has_the_runs_the_metrics_and_the_notes(compared: RunComparison) -> None:
    found = json.loads(render_comparison(compared, "json"))
    assert [run["run_id"] for run in found["runs"]] == ["A", "B"]
    assert found["runs"][0]["steady_since"] == "2001-11-13T10:00:00Z"
    assert found["metrics"][0]["measure"] == "cp_util"
    assert found["metrics"][0]["p_adjusted"] < 0.05
    assert found["notes"]


def test_markdown_has_a_table_for_each_part(compared: RunComparison) -> None:
    text = render_comparison(compared, "markdown").decode()
    assert (
        "### B: Changes\n\n| Metric | Unit | A | B | Difference | Change % | Confidence |" in text
    )
    assert "| Total Util/Proc | % | 55.0 | 65.0 | 10.0 | 18 | cl 97% |" in text


def test_a_format_that_there_is_not_is_an_error(compared: RunComparison) -> None:
    with pytest.raises(CpmonError, match="cannot be printed"):
        render_comparison(compared, "xml")
