"""Runs compared without a spec: means of intervals, what counts as a change, and the rendering."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence

import duckdb
import numpy as np
import pytest

from cpmon.reduce.compare.estimate import (
    Estimate,
    adjusted,
    difference_p,
    estimate,
    level,
    ratio_samples,
)
from cpmon.reduce.compare.rendering import render_comparison
from cpmon.reduce.compare.run_comparison import MetricLine, RunComparison, Verdict, compare_runs
from cpmon.reduce.metrics import compared_metrics
from cpmon.schemas import CpmonError
from tests.reduce.catalogue import TOD_SECOND, close, empty_catalogue, insert, lab, minute

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


def test_samples_that_alternate_count_in_full() -> None:
    # Squares sum to 8; 8 / 8 / (8 - 1).
    assert known([1, 3] * 4) == Estimate(2.0, pytest.approx(1 / 7), 8, 8.0)


def test_samples_that_resemble_the_one_before_count_for_less() -> None:
    # Deviations -1 -1 1 1 -1 -1 1 1: products sum to 1, r = 1/8, corrected 1/8 + 1.5/8 = 5/16.
    found = known([1, 1, 3, 3, 1, 1, 3, 3])
    assert found.effective == pytest.approx(8 * (11 / 16) / (21 / 16))
    assert found.variance == pytest.approx(1 / (found.effective - 1))


def test_a_trend_counts_as_two_samples_at_least() -> None:
    assert known([1, 1, 1, 1, 3, 3, 3, 3]) == Estimate(2.0, pytest.approx(1.0), 8, 2.0)


def test_a_gap_is_no_neighbour() -> None:
    # As above without the products across the gap: 1 - 1 + 1 + 1 - 1 + 1 of 8 known samples.
    found = known([1, 1, 3, 3, NAN, 1, 1, 3, 3])
    raw = 2 / 8
    assert found.samples == 8
    corrected = raw + (1 + 4 * raw) / 8
    assert found.effective == pytest.approx(8 * (1 - corrected) / (1 + corrected))


def test_the_test_agrees_with_the_table_of_student() -> None:
    # Both means vary by 1/7, so 8 + 8 samples have 14 degrees of freedom: t = 2.145 at 5 %.
    gap = 2.145 * (2 / 7) ** 0.5
    these, those = known([1, 3] * 4), known([1 + gap, 3 + gap] * 4)
    assert difference_p(these, those) == pytest.approx(0.05, abs=5e-5)
    assert difference_p(those, these) == difference_p(these, those)


def test_values_that_never_vary_are_the_same_or_are_not() -> None:
    assert difference_p(known([7.0] * 9), known([7.0 + 1e-12] * 9)) == 1
    assert difference_p(known([7.0] * 9), known([8.0] * 9)) == 0
    assert difference_p(known([0.0] * 9), known([0.0] * 9)) == 1


def test_many_tests_ask_for_more() -> None:
    # 0.04 * 4/3 is less than 0.03 * 4/2, and a smaller p never gets a greater one.
    assert adjusted([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 4 / 75, 4 / 75, 0.5])
    assert adjusted([0.9, 0.8]) == pytest.approx([0.9, 0.9])
    assert adjusted([]) == []


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
def test_correlated_noise_is_hardly_ever_called_a_change(correlation: float) -> None:
    rng = np.random.default_rng(5)
    pairs = [[noise(rng, correlation, 30) for _ in range(2)] for _ in range(600)]
    called = sum(difference_p(known(a), known(b)) <= 0.05 for a, b in pairs)
    assert called <= 0.075 * len(pairs)


def test_a_difference_of_one_deviation_is_found() -> None:
    rng = np.random.default_rng(6)
    pairs = [(rng.normal(size=30), 1 + rng.normal(size=30)) for _ in range(200)]
    assert sum(difference_p(known(a), known(b)) <= 0.05 for a, b in pairs) > 180


def test_an_interval_of_a_run_has_the_sums_behind_its_summary() -> None:
    found = lab().sql("FROM _run_interval ORDER BY interval_end LIMIT 1")
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
    }
    close(dict(zip(found.columns, row, strict=True)), want)


def test_the_intervals_of_every_metric_have_the_value_of_the_run_as_their_mean() -> None:
    con = lab()
    insert(con, "meta.run", {"run_id": "AGAIN", "system": "LAB", **WINDOW})
    lines = compare_runs(con, ["R1"], "AGAIN").lines
    assert {line.metric for line in lines} == set(compared_metrics())
    for line in lines:
        _, mine = line.estimates
        if line.metric.name in ("tx_rate", *PER_TRANSACTION):
            assert line.values[0] is None  # AGAIN has no companion
        assert mine is not None, line.metric
        assert mine.mean * line.metric.scale == pytest.approx(line.values[1], rel=1e-5)


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
    con: duckdb.DuckDBPyConnection, run: str, system: str, *, busy: float, emulation: float, n: int
) -> None:
    """A run of n minutes on one processor that runs `busy` less or more 3 s of each.

    Of this `emulation` less or more 1 s are under SIE, and 600 spins take 0.6 s.
    """
    for k in range(n + 1):
        end, before = minute(k), minute(k - 1) if k else None
        seconds = 60.0 if k else None
        closed = {"system": system, "dump": "a", "interval_end": end, "previous_end": before}
        insert(con, "meta.interval", {**closed, "seconds": seconds})
        sign = 1 if k % 2 else -1
        times = {"pfxutime": busy + 3 * sign, "pfxtmsys": 0, "pfxprbtm": emulation + sign}
        times |= {"pfxtotwt": 0, "pfxspint": 0.6}
        units = {name: round(s * TOD_SECOND) if k else None for name, s in times.items()}
        key = {"system": system, "interval_end": end, "pfxcpuad": 0, "seconds": seconds}
        insert(con, "interval.sytprp", {**key, **units, "pfxspinc": 600 if k else None})
    about = {"run_id": run, "system": system, "base_run_id": "A", "since": minute(0)}
    insert(con, "meta.run", {**about, "until": minute(n), "cp_level": "4.3.0", "users": 5})


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Runs A and B of ten intervals, B 6 s busier and as much under SIE; C of five."""
    with empty_catalogue() as made:
        add_run(made, "A", "SA", busy=33, emulation=21, n=10)
        add_run(made, "B", "SB", busy=39, emulation=21.2, n=10)
        add_run(made, "C", "SC", busy=39, emulation=21.2, n=5)
        yield made


def by_label(found: RunComparison, run: str) -> dict[str, MetricLine]:
    return {line.metric.title: line for line in found.of(run)}


def test_what_changed_comes_first_the_greatest_change_before_the_others(
    con: duckdb.DuckDBPyConnection,
) -> None:
    found = compare_runs(con, ["B"], "A")
    said = [
        (line.metric.title, *(p.text for p in line.printed), line.change.text, line.confidence)
        for line in found.lines
        if line.verdict
    ]
    # CP has 33 - 21 = 12 and 39 - 21.2 = 17.8 of 60 s.
    assert said == [
        ("CP Util/Proc", "20.00", "29.67", "48", "cl 99%"),
        ("Total Util/Proc", "55.0", "65.0", "18", "cl 99%"),
        ("T/V Ratio", "1.571", "1.840", "17", "cl 99%"),
        ("Emul Util/Proc", "35.00", "35.33", "0.9", "noise"),
        ("Processors", "1", "1", "0.0", "same"),
        ("Spin Lock Rate", "10.0", "10.0", "0.0", "same"),
        ("Spin Time/Request", "1000.000", "1000.000", "0.0", "same"),
        ("Pct Spin Time", "1.0", "1.0", "0.0", "same"),
    ]
    assert {line.verdict for line in found.lines[8:]} == {Verdict.NONE}


def test_the_level_allows_for_how_many_metrics_are_compared(con: duckdb.DuckDBPyConnection) -> None:
    found = compare_runs(con, ["B"], "A")
    total = by_label(found, "B")["Total Util/Proc"]
    # Samples 0.5 and 0.6 against 0.6 and 0.7: variances 0.05^2 / 9, t = 0.1 / 0.02357 = 4.243
    # with 18 degrees of freedom, for which tables give 0.0005.
    assert total.p == pytest.approx(0.0005, abs=5e-5)
    ranks = sorted(line.p for line in found.lines if line.p is not None)
    assert (len(ranks), ranks.index(total.p)) == (8, 2)
    assert total.p_adjusted == pytest.approx(total.p * 8 / 3)


def test_a_metric_without_records_is_blank_with_a_reason(con: duckdb.DuckDBPyConnection) -> None:
    line = by_label(compare_runs(con, ["B"], "A"), "B")["DASD Page Rate"]
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
    # 42, 36, 42, 36, 42 of 60 s.
    assert [p.text for p in line.printed] == ["55.0", "66.0"]
    assert line.reason == "5 intervals of the steady state of C have a value; a statement needs 8"
    assert "The steady states differ in length: A 600 s, B 600 s, C 300 s." in found.notes()
    assert [line.run_id for line in found.lines] == ["B"] * 37 + ["C"] * 37


def test_only_the_steady_state_counts(con: duckdb.DuckDBPyConnection) -> None:
    sql = "UPDATE meta.run SET steady_since = ? WHERE run_id = 'B'"
    con.execute(sql, [minute(2)])
    line = by_label(compare_runs(con, ["B"], "A"), "B")["Total Util/Proc"]
    assert line.estimates[1] is not None and line.estimates[1].samples == 8


def load(con: duckdb.DuckDBPyConnection, run: str, counts: Sequence[int]) -> None:
    """A line a minute of the load generator of a run."""
    for k, count in enumerate(counts, start=1):
        row = {"run_id": run, "interval_end": minute(k), "seconds": 60.0}
        insert(con, "meta.throughput", {**row, "transactions": count})


def test_a_whole_run_that_differs_the_other_way_is_no_change(
    con: duckdb.DuckDBPyConnection,
) -> None:
    load(con, "A", [100] * 10)
    # Over the run 390 s for 1890 transactions, in the steady state 312 s for 640.
    load(con, "B", [625, 625, *[80] * 8])
    con.execute("UPDATE meta.run SET steady_since = ? WHERE run_id = 'B'", [minute(2)])
    line = by_label(compare_runs(con, ["B"], "A"), "B")["Total CPU/Tx"]
    assert [p.text for p in line.printed] == ["330.000", "206.349"]
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


def test_text_has_the_runs_the_lines_and_the_notes(con: duckdb.DuckDBPyConnection) -> None:
    text = render_comparison(compare_runs(con, ["B"], "A")).decode()
    lines = text.splitlines()
    assert lines[0] == "B compared with A"
    assert "CP level                           4.3.0                 4.3.0" in lines
    assert lines.index("Changes") < lines.index("No change, as far as the intervals can tell")
    start = lines.index("Changes") + 1
    assert " ".join(lines[start].split()) == "CP Util/Proc % 20.00 29.67 9.67 48 cl 99%"
    assert "(1) not known of A and B without SYTPRP deltas or while MTRPRP records" in text
    assert "adjusted for the 8" in " ".join(text.split())


def test_csv_is_unrounded_and_has_what_the_test_rests_on(con: duckdb.DuckDBPyConnection) -> None:
    text = render_comparison(compare_runs(con, ["B"], "A"), "csv").decode()
    rows = {row["measure"]: row for row in csv.DictReader(io.StringIO(text))}
    row = rows["cp_util"]
    assert (row["base_run_id"], row["run_id"], row["metric"]) == ("A", "B", "CP Util/Proc")
    assert (row["unit"], row["confidence"], row["reason"]) == ("%", "cl 99%", "")
    assert float(row["value"]) == pytest.approx(1780 / 60)
    assert float(row["difference"]) == pytest.approx(580 / 60)
    assert float(row["change_percent"]) == pytest.approx(580 / 12)
    assert (row["base_intervals"], row["intervals"]) == ("10", "10")
    assert (float(row["base_effective"]), float(row["effective"])) == (10, 10)
    assert rows["dasd_page_rate"]["value"] == ""
    assert rows["pct_spin"]["change_percent"] == "0.0"


def test_json_has_the_runs_the_metrics_and_the_notes(con: duckdb.DuckDBPyConnection) -> None:
    found = json.loads(render_comparison(compare_runs(con, ["B"], "A"), "json"))
    assert [run["run_id"] for run in found["runs"]] == ["A", "B"]
    assert found["runs"][0]["steady_since"] == "2001-11-13T10:00:00Z"
    assert found["metrics"][0]["measure"] == "cp_util"
    assert found["metrics"][0]["p_adjusted"] < 0.05
    assert found["notes"]


def test_markdown_has_a_table_for_each_part(con: duckdb.DuckDBPyConnection) -> None:
    text = render_comparison(compare_runs(con, ["B"], "A"), "markdown").decode()
    assert (
        "### B: Changes\n\n| Metric | Unit | A | B | Difference | Change % | Confidence |" in text
    )
    assert "| Total Util/Proc | % | 55.0 | 65.0 | 10.0 | 18 | cl 99% |" in text


def test_a_format_that_there_is_not_is_an_error(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(CpmonError, match="cannot be printed"):
        render_comparison(compare_runs(con, ["B"], "A"), "xml")
