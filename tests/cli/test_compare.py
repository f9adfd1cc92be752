"""`cpmon compare` without a table, and as a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from tests.cli.answer import Cpmon


def test_two_runs_are_compared_without_a_table(cpmon: Cpmon, perf: Path):
    answer = cpmon(
        *("compare", "--base", "2600NP", "--run", "3600P1", "--store", perf, "--format", "json")
    )
    found = json.loads(answer.text)
    (total,) = (m for m in found["metrics"] if m["measure"] == "total_util")
    assert (round(total["base_value"], 1), round(total["value"], 1)) == (47.8, 4.6)
    assert total["reason"].startswith("3 intervals of the steady state of 2600NP have a value")


@pytest.mark.slow
def test_a_part_of_each_run_is_compared_as_a_run_with_that_steady_state(cpmon: Cpmon, perf: Path):
    runs = ("compare", "--base", "2600NP", "--run", "3600P1", "--store", perf, "--format", "json")
    whole = cpmon(*runs)
    around = cpmon(*runs, "--since", "13:00", "--until", "15:00")
    assert around.text == whole.text
    assert [line.split(" on ")[1] for line in around.err.splitlines()] == [
        "2001-11-13 UTC",
        "2001-12-11 UTC",
    ]
    minute = json.loads(cpmon(*runs, "--since", "14:01", "--until", "14:02").text)["metrics"]
    (total,) = (metric for metric in minute if metric["measure"] == "total_util")
    for run, key in (("2600NP", "base_value"), ("3600P1", "value")):
        span = ("--run", run, "--since", "14:01", "--until", "14:02", "--format", "json")
        report = cpmon("report", "system_summary_by_time", *span, "--store", perf)
        (line,) = json.loads(report.text)
        assert total[key] == pytest.approx(line["total_util"] * 100)


def test_a_comparison_is_written_as_a_page(cpmon: Cpmon, perf: Path, tmp_path: Path):
    page = tmp_path / "page.html"
    answer = cpmon("compare", "timer_t1", "--store", perf, "--format", "html", "-o", page)
    assert (answer.status, answer.text) == (Status.DONE, "")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["timer_t1"], "timer_t1.html"),
        (["--base", "2600NP", "--run", "3600P1"], "3600P1-with-2600NP.html"),
    ],
)
def test_a_page_has_a_bar_for_each_run_that_is_there(
    cpmon: Cpmon, perf: Path, tmp_path: Path, words: list[str], name: str
):
    answer = cpmon("compare", *words, "--store", perf, "--html", "-o", tmp_path)
    assert answer.status is Status.DONE
    assert answer.err.startswith(str(tmp_path / name))
    text = (tmp_path / name).read_text(encoding="utf-8")
    drawing = text[text.index("<svg") : text.index("</svg>")]
    assert all(said in drawing for said in ("2600NP", "Master processor", "Average"))
    assert ("3600P1" in drawing) is ("3600P1" in words)
    assert 'svg [fill="#d9581f"]{fill:var(--c2)}' in text
    assert "src=" not in text and "href=" not in text


def test_a_comparison_and_the_index_beside_it_lead_to_each_other(
    cpmon: Cpmon, perf: Path, tmp_path: Path
):
    index = tmp_path / "index.html"
    index.write_text('<!DOCTYPE html><ul id="comparisons"></ul>', encoding="utf-8")
    cpmon("compare", "timer_t1", "--store", perf, "--html", "-o", tmp_path)
    assert '<li><a href="timer_t1.html">timer_t1</a></li>' in index.read_text(encoding="utf-8")
    assert '<p><a href="index.html">all pages</a></p>' in (tmp_path / "timer_t1.html").read_text()


def test_a_page_needs_a_folder(cpmon: Cpmon, perf: Path):
    answer = cpmon("compare", "timer_t1", "--store", perf, "--html")
    assert (answer.status, answer.text) == (Status.USAGE, "")
    assert "name its folder with -o" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "or runs with --base and --run"),
        (["--base", "2600NP"], "--base 2600NP needs --run"),
        (["timer_t1", "--run", "3600P1"], "a table names its runs"),
    ],
)
def test_a_table_and_runs_exclude_each_other(cpmon: Cpmon, perf: Path, words: list[str], said: str):
    answer = cpmon("compare", *words, "--store", perf)
    assert answer.status is Status.USAGE
    assert said in answer.err


def test_an_unknown_run_is_named(cpmon: Cpmon, perf: Path):
    answer = cpmon("compare", "--base", "2600NP", "--run", "3600P2", "--store", perf)
    assert "there is no run 3600P2" in answer.err
    assert "3600P1" in answer.err
