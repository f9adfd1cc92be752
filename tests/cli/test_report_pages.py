from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.reduce.page import chart, content
from cpmon.reduce.page.runtime import FILE as RUNTIME
from tests.cli.answer import Cpmon


@pytest.fixture
def few_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has the reports of the system, two charts and the tiles of one report only."""
    only = {name: one for name, one in content.reports().items() if one.group == "system"}
    monkeypatch.setattr(content, "reports", lambda: only)
    monkeypatch.setattr(content, "charts", lambda: chart.CHARTS[:2])
    monkeypatch.setattr(content, "TILES", content.TILES[:1])


@pytest.mark.usefixtures("few_reports")
def test_pages_of_a_run_are_written_with_their_index(cpmon: Cpmon, perf: Path, tmp_path: Path):
    answer = cpmon("report", "--html", "--store", perf, "--run", "2600NP", "-o", tmp_path / "p")
    assert answer.status == Status.DONE
    assert answer.out == b""
    written = [line.split(": ")[0] for line in answer.err.splitlines()]
    assert [Path(name).name for name in written] == [RUNTIME, "run-2600NP.html", "index.html"]
    assert all(Path(name).stat().st_size > 10_000 for name in written)


@pytest.mark.usefixtures("few_reports")
def test_a_single_file_has_the_runtime_inside(cpmon: Cpmon, perf: Path, tmp_path: Path):
    words = ("report", "--html", "--single-file", "--store", perf, "--run", "2600NP")
    assert cpmon(*words, "-o", tmp_path / "p").status == Status.DONE
    assert sorted(file.name for file in (tmp_path / "p").iterdir()) == [
        "index.html",
        "run-2600NP.html",
    ]
    assert "vegaEmbed" in (tmp_path / "p" / "run-2600NP.html").read_text(encoding="utf-8")


def test_pages_need_a_folder_and_have_all_reports(cpmon: Cpmon, perf: Path, tmp_path: Path):
    answer = cpmon("report", "--html", "--store", perf)
    assert answer.status == Status.USAGE
    assert "-o DIR" in answer.err
    answer = cpmon("report", "processors_by_time", "--html", "--store", perf, "-o", tmp_path)
    assert answer.status == Status.USAGE
    assert "a page has all reports" in answer.err


@pytest.mark.parametrize(("name", "begins"), [("a.svg", b"<svg "), ("a.PNG", b"\x89PNG")])
def test_a_report_is_plotted_into_a_file(
    cpmon: Cpmon, perf: Path, tmp_path: Path, name: str, begins: bytes
):
    report = ("report", "processors-by-time", "--store", perf, "--run", "2600NP")
    answer = cpmon(*report, "--columns", "total_util,spin_util", "--plot", tmp_path / name)
    assert answer.status == Status.DONE, answer.err
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_what_cannot_be_plotted_is_told_and_leaves_no_file(
    cpmon: Cpmon, perf: Path, tmp_path: Path
):
    report = ("report", "processors-by-time", "--store", perf, "--run", "2600NP")
    answer = cpmon(*report, "--plot", tmp_path / "a.gif")
    assert answer.status == Status.USAGE
    assert ".svg or .png" in answer.err
    assert list(tmp_path.iterdir()) == []
