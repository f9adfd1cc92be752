"""Outputs of days that have nothing for them, and of days that cannot be rendered yet."""

from __future__ import annotations

import re
import zipfile

import pytest

from cpmon.batch import run as batch_run
from cpmon.cli.main import Status, run
from cpmon.reduce.page import content
from cpmon.reduce.page.runtime import FILE as RUNTIME
from tests.batch.fleet import hourly
from tests.batch.site import Site

FIRST, SECOND = hourly("ALPHA", 0, 0), hourly("ALPHA", 0, 24)
"""The first hour after midnight of two days."""
SETTINGS = """
[batch]
exceptions = false
validate = false
[[output]]
"""
REPORT = 'report = "PROCESSORS_BY_TIME"\npath = "out/{date}.csv"\nshift = "own"\n'


@pytest.fixture(autouse=True)
def no_reduce(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report computes the reductions that it needs, in less time than a batch computes all."""
    monkeypatch.setattr(batch_run, "reduce", lambda *_: None)


def outputs_after_batch(site: Site, output: str, status: Status = Status.DONE) -> list[str]:
    """The files in the folder `out` after a batch."""
    site.configure(SETTINGS + output)
    assert site.batch() is status
    folder = site.folder / "out"
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*.*"))


def test_a_workbook_leaves_out_reports_of_what_was_not_measured(site: Site):
    site.put(FIRST.name, FIRST.data)
    output = 'report = ["EVENTS", "PROCESSORS_BY_TIME", "LPAR"]\npath = "out/{date}.xlsx"'
    (name,) = outputs_after_batch(site, output)
    with zipfile.ZipFile(site.folder / "out" / name) as book:
        sheets = re.findall('sheet name="([^"]+)"', book.read("xl/workbook.xml").decode())
    assert sheets == ["EVENTS", "PROCESSORS_BY_TIME"]


def test_a_day_outside_of_the_shift_has_no_file_and_no_trouble(site: Site):
    site.put(FIRST.name, FIRST.data)
    shift = '[shifts.own]\nfrom = "08:00"\nto = "18:00"\n'
    assert outputs_after_batch(site, REPORT + shift) == []
    assert site.history[0]["trouble"] == [] and site.state["open"] == {}


def test_a_day_whose_report_failed_is_written_when_the_settings_are_corrected(site: Site):
    site.put(FIRST.name, FIRST.data)
    (site.folder / "file").touch()
    report = 'report = "PROCESSORS_BY_TIME"\npath = "{}/%Y-%m-%d.csv"\n'
    assert outputs_after_batch(site, report.format("file"), Status.WARNINGS) == []
    assert outputs_after_batch(site, report.format("out")) == [f"{FIRST.begin.date()}.csv"]
    assert site.state["open"] == {}


def test_a_day_without_a_run_has_a_page_of_the_system(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(content, "reports", dict)
    monkeypatch.setattr(content, "charts", list)
    monkeypatch.setattr(content, "TILES", ())
    site.put(FIRST.name, FIRST.data)
    output = 'pages = true\npath = "out/%d"'
    assert outputs_after_batch(site, output) == [
        "18/index.html",
        "18/system-ALPHA.html",
        f"18/{RUNTIME}",
    ]
    window = ("--since", "2001-12-18T00:00", "--until", "2001-12-18T12:00")
    define = ("--define", "R1", "--system", "ALPHA", *window)
    assert run(["runs", "--store", str(site.store), *define]) is Status.DONE
    site.put(SECOND.name, SECOND.data)
    assert "19/system-ALPHA.html" in outputs_after_batch(site, output)
    assert len(outputs_after_batch(site, output)) == 4


def test_each_of_two_days_that_land_at_once_has_its_page(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    shown = {"PROCESSORS_BY_TIME": content.reports()["PROCESSORS_BY_TIME"]}
    monkeypatch.setattr(content, "reports", lambda *_: shown)
    monkeypatch.setattr(content, "charts", list)
    monkeypatch.setattr(content, "TILES", ())
    site.put(FIRST.name, FIRST.data)
    site.put(SECOND.name, SECOND.data)
    assert outputs_after_batch(site, 'pages = true\npath = "out/%d"') == [
        "18/index.html",
        "18/system-ALPHA.html",
        "19/index.html",
        "19/system-ALPHA.html",
    ]
